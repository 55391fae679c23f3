"""The question: from when on, until when, and under which other policies the recorded commands are run again.

A policy is changed for all messages or for one name. `ttl` is no policy: it is the time to live that a message asks for
itself, which a policy cannot change (`time_to_live` is for messages that ask for none).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conjoin.errors import InputError
from conjoin.kernel.policies import PROFILES, Policies, Policy, read_policies
from conjoin.times.durations import read_duration_ms

TTL = "ttl"
ALL_NAMES = "*"
_CHANGE = re.compile(r"(?:(?P<name>.+):)?(?P<question>[a-z_]+)=(?P<answer>.*)", re.DOTALL)
_FIXED = {
    "match": "what a subscription listened to was settled when it opened",
    "grace": "it is about the attempts of an inbox, which are not replayed",
    "constraint": "it is no text",
}

Answers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """Instants are microseconds. `one_key`: believe that an instance waits under one correlation key at all times."""

    since: int
    until: int
    changes: Mapping[str, Answers] = field(default_factory=dict)
    profile: str | None = None
    one_key: bool = False

    def ttl_ms(self, name: str, asked: int | None) -> int | None:
        """The time to live that a message would have asked for."""
        for changed in (name, ALL_NAMES):
            if TTL in self.changes.get(changed, {}):
                return int(self.changes[changed][TTL])
        return asked

    def policies(self, recorded: Policies) -> Policies:
        """Those that would have been in force in place of recorded ones."""
        default = self._changed(recorded.default, ALL_NAMES)
        names = dict.fromkeys((*recorded.by_name, *(name for name in self.changes if name != ALL_NAMES)))
        return Policies(default, {name: self._changed(recorded.of(name), ALL_NAMES, name) for name in names})

    def _changed(self, policy: Policy, *names: str) -> Policy:
        if self.profile is not None:
            policy = replace(PROFILES[self.profile], match=policy.match, grace=policy.grace)
        for name in names:
            policy = replace(policy, **_policy_answers(self.changes.get(name, {})))
        return policy


def read_changes(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`ttl=10m`, `paid:dedup=1h`, each checked; all problems are reported at once."""
    changes: dict[str, dict[str, Any]] = {}
    problems = []
    for text in texts:
        found = _CHANGE.fullmatch(text)
        if found is None:
            problems.append(f"--policy: {text!r} is not like ttl=10m or paid:dedup=1h")
            continue
        answer = _read(found["question"], found["answer"])
        if isinstance(answer, InputError):
            problems += [f"--policy {text}: {problem}" for problem in answer.problems]
        else:
            changes.setdefault(found["name"] or ALL_NAMES, {})[found["question"]] = answer
    # Of the changes among themselves; what they make of recorded policies is for the rules to carry out.
    policies = {name: {q: a for q, a in answers.items() if q != TTL} for name, answers in changes.items()}
    problems += [f"--policy: {problem}" for problem in read_policies("zeebe", policies)[1]]
    if problems:
        raise InputError(problems)
    return changes


def _read(question: str, answer: str) -> Any:
    if question in _FIXED:
        return InputError([f"{question} cannot be asked about: {_FIXED[question]}"])
    if question == TTL:
        ttl_ms = read_duration_ms(answer)
        return InputError([f"{answer!r} is no duration such as 30s, 10m or 1h"]) if ttl_ms is None else ttl_ms
    value: Any = int(answer) if question == "expected" and answer.isdecimal() else answer
    problems = read_policies("zeebe", {ALL_NAMES: {question: value}})[1]
    own = [it.partition(f"{question}: ")[2] for it in problems if f"{question}: " in it]
    return InputError(own) if own else value


def _policy_answers(answers: Answers) -> dict[str, Any]:
    """As a `Policy` holds them: durations read, `off` as nothing."""
    changed = {question: answer for question, answer in answers.items() if question != TTL}
    if not changed:
        return {}
    read = read_policies("zeebe", {ALL_NAMES: changed})[0].default
    return {question: getattr(read, question) for question in changed}
