"""Doubts: from where on something would not have happened as it did, so that what depends on it is not known.

An instance is in doubt once it would have been given another message, or none. Message names are in doubt from then on,
as the instance may wait for them, or no longer. Within a shard commands are told apart by their number; between shards
only time tells, and what happened in the same instant counts as later.

On one correlation key a name is in doubt from the moment at which it is not known whether somebody waits for it. A
message that may meet such a subscription is unknown from then on; so is the way of every instance that the message may
reach, which is passed on to all other keys (`new_doubts`).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from conjoin.kernel.correlation import KeySpace, Message, Subscription
from conjoin.kernel.correlation.messages import is_kept
from conjoin.kernel.instants import NEVER
from conjoin.pipeline.what_if.rules import ANY_NAME, NEW, WhatIfRules
from conjoin.times.iso8601 import instant_text


class Doubt(NamedTuple):
    """After this command of this shard; `cause` is a text for people."""

    at: int
    shard: int
    number: int
    cause: str

    def is_before(self, at: int, shard: int, number: int) -> bool:
        return number > self.number if shard == self.shard else at >= self.at


class Doubted(NamedTuple):
    """A doubt and what it is about: an instance with all that it calls (`root`), or a name under one key or all."""

    tenant_id: str
    doubt: Doubt
    root: int = 0
    is_void: bool = False
    """The instance would not have been started: all that it did is known not to have happened."""
    name: str = ""
    key: str | None = None


class Doubts:
    """All that is known so far. It only grows, and of each thing the earliest of each shard counts."""

    def __init__(self) -> None:
        self.roots: dict[int, dict[int, Doubt]] = {}
        self.voids: dict[int, Doubt] = {}
        self.names: dict[tuple[str, str, str | None], dict[int, Doubt]] = {}

    def add(self, found: Iterable[Doubted]) -> bool:
        """Whether anything of it was new."""
        return bool([it for it in found if self._add(it)])

    def _add(self, it: Doubted) -> bool:
        if it.is_void:
            is_new = it.root not in self.voids
            self.voids.setdefault(it.root, it.doubt)
            return is_new
        name = (it.tenant_id, it.name, it.key)
        known = self.roots.setdefault(it.root, {}) if it.root else self.names.setdefault(name, {})
        before = known.get(it.doubt.shard)
        if before is not None and before.number <= it.doubt.number:
            return False
        known[it.doubt.shard] = it.doubt
        return True

    def of_root(self, root: int) -> Iterable[Doubt]:
        return self.roots.get(root, {}).values()

    def is_void(self, root: int) -> bool:
        """What is in doubt for another reason, too, may have been started after all."""
        return root in self.voids and root not in self.roots

    def of_name(self, tenant_id: str, name: str, key: str) -> Iterator[Doubt]:
        for under in (None, key):
            for its in (name, ANY_NAME):
                yield from self.names.get((tenant_id, its, under), {}).values()


class Waiter(NamedTuple):
    """Who is behind a subscription: an instance, or the one that called it first."""

    root: Any
    process_id: str
    is_called: bool
    is_elsewhere: bool
    """It lives on another shard, so its answer takes a while that is not known."""
    is_brief: bool
    """It no longer waited when a message could have reached it."""


class Pair:
    """A message twice: as it was, and as it would have been. `unknown` says why that is not known."""

    __slots__ = ("others_unknown", "unknown", "was", "would")

    def __init__(self, was: Message, would: Message) -> None:
        self.was = was
        self.would = would
        self.unknown = ""
        self.others_unknown = False
        """Somebody has it for sure, and whether others have it, too, is not known."""

    def doubt(self, cause: str) -> None:
        would = self.would
        is_sure = bool(would.targets) and would.policy.expected is None and not is_under_way(would)
        if is_sure:
            self.others_unknown = True
        elif not self.unknown:
            self.unknown = cause


def is_under_way(message: Message) -> bool:
    """Whoever was given it may still give it back."""
    return any(it.waiter and it.waiter.busy_with is message for it in message.targets)


class KeyDoubts:
    def __init__(self, rules: WhatIfRules, doubts: Doubts, would: KeySpace) -> None:
        self.new_doubts: list[Doubted] = []
        self.in_doubt: dict[str, str] = {}
        """Names, each with the cause."""
        self.pairs: dict[str, dict[int, Pair]] = {}
        """Messages by name and key."""
        self.point = (0, 0, 0)
        """How far the replay is: an instant, a shard and a number."""
        self._rules = rules
        self._doubts = doubts
        self._would = would
        self._live_until: dict[str, int] = {}
        self._loose: dict[Any, str] = {}
        self._void: set[Any] = set()
        self._any_name = ""
        self._waiting: dict[Any, list[Subscription]] = {}
        self._done: set[tuple[str, Any, int]] = set()
        """What was already spread, once for each shard: between shards it is not known which came first."""
        self._pending: list[tuple[Doubt, str, Callable[[], bool]]] = []

    def see(self, name: str) -> None:
        """Before anything happens under a name."""
        if name in self.pairs:
            return
        self.pairs[name] = {}
        known = self._doubts.of_name(self._would.tenant_id, name, self._would.key)
        self._pending += [(doubt, name, lambda: True) for doubt in known]
        self.move_to(*self.point)
        if self._any_name:
            self.doubt_name(name, self._any_name)

    def move_to(self, at: int, shard: int, number: int) -> None:
        """What is in doubt since somewhere before this command."""
        while self._pending:
            due = [it for it in self._pending if it[0].is_before(at, shard, number)]
            if not due:
                break
            self._pending = [it for it in self._pending if not it[0].is_before(at, shard, number)]
            for doubt, name, still_holds in sorted(due, key=lambda it: it[0][:3]):
                if still_holds():
                    self.point = doubt[:3]
                    self.doubt_name(name, doubt.cause)
        self.point = (at, shard, number)

    def is_void(self, root: Any) -> bool:
        return root not in self._loose and (root in self._void or self._doubts.is_void(root))

    def is_loose(self, root: Any) -> str:
        """The cause, if it is in doubt what the instance does now."""
        causes = (it.cause for it in self._doubts.of_root(root) if it.is_before(*self.point))
        return self._loose.get(root, "") or next(causes, "")

    def watch(self, subscription: Subscription) -> None:
        """While it is open: when whoever waits comes into doubt, so does its name."""
        root = subscription.payload.root
        self._waiting.setdefault(root, []).append(subscription)
        for doubt in self._doubts.of_root(root):
            self._pending.append((doubt, subscription.name, lambda: not subscription.closed))

    def watch_lock(self, root: Any, process_id: str) -> None:
        """The same for what an instance keeps from being started."""
        locks = self._would.locks

        def is_locked() -> bool:
            return process_id in locks and locks[process_id].instance_id == root

        names = self._rules.start_names(self._would.tenant_id, process_id)
        for doubt in self._doubts.of_root(root):
            self._pending += [(doubt, name, is_locked) for name in names]

    def doubt_name(self, name: str, cause: str) -> None:
        """Somebody may wait for it now, or no longer."""
        self.see(name)
        if self._was_done("name", name):
            return
        self.in_doubt.setdefault(name, cause)
        at, until = self.point[0], 0
        topic = self._would.topics.get(name)
        held = topic.held or () if topic is not None else ()
        for pair in self.pairs[name].values():
            message = pair.would
            if (message.stored and message.deadline > at) or is_under_way(message) or message in held:
                pair.doubt(cause)
                until = max(until, message.deadline if message.stored else NEVER)
        self._live_until[name] = until = max(until, self._live_until.get(name, 0))
        if until > at:
            self.stir(name)

    def _was_done(self, what: str, which: Any) -> bool:
        mark = (what, which, self.point[1])
        if mark in self._done:
            return True
        self._done.add(mark)
        return False

    def bring(self, name: str, pair: Pair) -> None:
        """A message was published under a name in doubt."""
        pair.unknown = pair.unknown or self.in_doubt[name]
        message = pair.would
        until = message.deadline if is_kept(message) else NEVER if self._has_busy(name) else message.published_at
        self._live_until[name] = max(self._live_until.get(name, 0), until)
        self.stir(name)

    def _has_busy(self, name: str) -> bool:
        topic = self._would.topics.get(name)
        return topic is not None and any(it.busy_with is not None for it in topic.open_subscriptions())

    def is_stirred(self, name: str, at: int) -> bool:
        """May there be a message that whoever opens now would be given?"""
        return self._live_until.get(name, 0) > at

    def stir(self, name: str) -> None:
        """A message may have reached anybody who waits for it here, and started whatever it starts."""
        topic = self._would.topics.get(name)
        for subscription in list(topic.open_subscriptions()) if topic is not None else ():
            self.loosen(subscription)
        for process_id in self._rules.starters.get((self._would.tenant_id, name), ()):
            self.suppose_start(process_id)

    def loosen(self, subscription: Subscription) -> None:
        """Whoever is behind it would have gone another way, or may have."""
        waiter: Waiter = subscription.payload
        if not self.is_void(waiter.root):
            reach = self._rules.reach(self._would.tenant_id, waiter.process_id)
            after = reach.after.get(subscription.element_id or "", reach.whole)
            self._loosen(waiter.root, waiter.process_id, reach.whole if waiter.is_called else after)

    def loosen_started(self, instance_id: Any, process_id: str) -> None:
        self._loosen(instance_id, process_id, self._whole(process_id))

    def _whole(self, process_id: str) -> Iterable[str]:
        return self._rules.reach(self._would.tenant_id, process_id).whole

    def _loosen(self, root: Any, process_id: str, names: Iterable[str]) -> None:
        if root == NEW or self._was_done("root", root):
            return
        doubt = self._doubt(f"instance {root} of {process_id}")
        self._loose.setdefault(root, doubt.cause)
        self.new_doubts.append(Doubted(self._would.tenant_id, doubt, root))
        self._doubt_names(names, doubt)
        for subscription in self._waiting.get(root, ()):
            if not subscription.closed:
                self.doubt_name(subscription.name, doubt.cause)
        for lock in list(self._would.locks.values()):
            if lock.instance_id == root:
                self._doubt_starts(lock.process_id, doubt.cause)

    def void(self, instance_id: Any, process_id: str) -> None:
        """It would not have been started, and that is for sure."""
        doubt = self._doubt(f"instance {instance_id} of {process_id}")
        self._void.add(instance_id)
        self.new_doubts.append(Doubted(self._would.tenant_id, doubt, instance_id, is_void=True))
        if ANY_NAME in self._whole(process_id):
            self._doubt_names([ANY_NAME], doubt)

    def suppose_start(self, process_id: str) -> None:
        """An instance that was never started would have been, or may have: how long it lives is not known."""
        if self._was_done("start", process_id):
            return
        doubt = self._doubt(f"a new instance of {process_id}")
        self._doubt_names(self._whole(process_id), doubt)
        self._doubt_starts(process_id, doubt.cause)

    def _doubt(self, who: str) -> Doubt:
        at = instant_text(self.point[0])
        return Doubt(*self.point, f"{who} would have gone another way since {at}")

    def _doubt_starts(self, process_id: str, cause: str) -> None:
        """When the lock of the process is free is not known."""
        for name in self._rules.start_names(self._would.tenant_id, process_id):
            self.doubt_name(name, cause)

    def _doubt_names(self, names: Iterable[str], doubt: Doubt) -> None:
        key = self._would.key if self._rules.question.one_key else None
        for name in sorted(names):
            is_any = name == ANY_NAME
            self.new_doubts.append(Doubted(self._would.tenant_id, doubt, name=name, key=None if is_any else key))
            if is_any:
                self._any_name = self._any_name or doubt.cause
            for seen in list(self.pairs) if is_any else [name]:
                self.doubt_name(seen, doubt.cause)
