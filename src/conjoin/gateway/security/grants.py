"""Grants: what a role allows, on which messages, processes, job types and tenants. A grant forbids nothing.

A caller may do what one of its grants allows. In a pattern * stands for any characters; everything else for itself.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

ACTIONS = ("publish", "correlate", "signal", "deploy", "create", "work", "operate", "configure", "read")
"""publish, correlate, signal: messages and signals by name; deploy, create: processes; work: jobs by type; operate:
cancel, set variables, resolve, the inbox, payloads; configure: policies; read: everything that only reads."""


@dataclass(frozen=True)
class Patterns:
    texts: tuple[str, ...] = ("*",)

    @property
    def is_all(self) -> bool:
        return "*" in self.texts

    @property
    def exact(self) -> tuple[str, ...] | None:
        """The texts, if no pattern has an asterisk."""
        return None if any("*" in text for text in self.texts) else self.texts

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_expression, self.texts)), re.DOTALL)

    def meets(self, text: str) -> bool:
        return self.is_all or self._expression.fullmatch(text) is not None


def _expression(text: str) -> str:
    """The text between two asterisks is searched once, from the left, without backtracking: so no name takes long."""
    first, *others = map(re.escape, text.split("*"))
    between = "".join(f"(?>.*?{part})" for part in others[:-1])
    return f"{first}{between}.*{others[-1]}" if others else first


ALL = Patterns()


@dataclass(frozen=True)
class Grant:
    actions: frozenset[str]
    messages: Patterns = ALL
    processes: Patterns = ALL
    jobs: Patterns = ALL
    tenants: Patterns = ALL

    @property
    def is_total(self) -> bool:
        """It covers everything in the store."""
        return all(it.is_all for it in (self.messages, self.processes, self.jobs, self.tenants))

    def covers(self, thing: "Thing") -> bool:
        return (
            self.tenants.meets(thing.tenant_id)
            and (thing.message is None or self.messages.meets(thing.message))
            and (thing.process is None or self.processes.meets(thing.process))
            and (thing.job is None or self.jobs.meets(thing.job))
        )


class Thing(NamedTuple):
    """What a caller wants to change or see. None: it has no such property, or that does not matter here."""

    tenant_id: str
    message: str | None = None
    process: str | None = None
    job: str | None = None

    @property
    def called(self) -> str:
        named = {"message": self.message, "process": self.process, "jobs of type": self.job}
        words = [f"{word} {name!r:.80}" for word, name in named.items() if name is not None]
        return f"{' and '.join(words)} in tenant {self.tenant_id!r:.40}".strip()


class Caller(NamedTuple):
    name: str
    grants: tuple[Grant, ...]


EVERYTHING = Grant(frozenset(ACTIONS))


def allowing(grants: Iterable[Grant], *actions: str) -> tuple[Grant, ...]:
    """Those that allow one of the actions."""
    return tuple(grant for grant in grants if not grant.actions.isdisjoint(actions))
