"""The oracle: plays a history event by event and says what must come out. Slow and obvious, never clever.

Nothing is indexed and nothing is cached: every question is a scan over what has happened so far. It models
the correlation half alone (a delivered message is accepted at once), matching by key; rows are taken to be
valid, so there are no dead letters. Not modelled: `match`, `constraint`, `grace`, state of a run before.
Invariant: the result depends on nothing but the history.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

from .facts import (
    Event,
    LockKey,
    Message,
    Outcome,
    Pair,
    Subscription,
    Taker,
    after,
    duration_ms,
    id_until,
    instant_of_judgement,
    key_of,
    marked,
    policy_of,
    share,
    tenant_of,
    valid,
    version,
    visiting_order,
)
from .history import History, Row


def play(history: History) -> Outcome:
    """Carry out everything up to `as_of`, in order, and report."""
    world = World(history)
    for _time, _rank, _tie, happen in sorted(world.timeline(), key=lambda event: event[:3]):
        happen()
    return world.outcome()


class World:
    """All that has happened so far: messages published, subscriptions open, locks held."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.as_of = instant_of_judgement(history)
        self.published: list[Message] = []
        self.open: list[Subscription] = []
        self.locks: dict[LockKey, int] = {}
        self.result = Outcome()

    # The timeline: rank 0 deadlines, 1 ends, 2 closings, 3 openings, 4 publications.

    def timeline(self) -> list[Event]:
        events: list[Event] = []
        for index, row in enumerate(self.history.ends):
            events.append((row["ended_at"], 1, index, partial(self.end, row)))
            self.note_later("ends", index, row["ended_at"])
        for row in self.history.subscriptions:
            events += self.life(self.subscription(row))
            self.note_later("subscriptions", row["subscription_id"], row["opened_at"])
        for row in self.history.messages:
            events += self.publication_and_deadline(self.message(row))
            self.note_later("messages", row["position"], row["published_at"])
        return [event for event in events if event[0] <= self.as_of]

    def note_later(self, table: str, which: int | str, time: int) -> None:
        if time > self.as_of:
            self.result.later.add((table, which))

    def life(self, sub: Subscription) -> list[Event]:
        """Opening and closing; closed at or before it opened: never opened."""
        closed_at = sub.row.get("closed_at")
        opening = (sub.opened_at, 3, sub.subscription_id, partial(self.open_subscription, sub))
        if closed_at is None:
            return [opening]
        closing = (closed_at, 2, sub.subscription_id, partial(self.close, sub))
        return [opening, closing] if closed_at > sub.opened_at else []

    def publication_and_deadline(self, message: Message) -> list[Event]:
        publication = (message.published_at, 4, message.position, partial(self.publish, message))
        deadline = (message.deadline, 0, message.position, partial(self.expire, message))
        return [publication, deadline] if message.kept() else [publication]

    def message(self, row: Row) -> Message:
        policy = policy_of(self.history, row["name"])
        ttl_ms = row.get("ttl_ms")
        if ttl_ms is None:
            ttl_ms = duration_ms(policy["time_to_live"])
        deadline = after(row["published_at"], ttl_ms)
        return Message(
            row,
            tenant_of(row),
            row["name"],
            key_of(row),
            row["position"],
            row["published_at"],
            deadline,
            policy,
        )

    def subscription(self, row: Row) -> Subscription:
        return Subscription(
            row,
            tenant_of(row),
            row["name"],
            key_of(row),
            row["process_id"],
            row["instance_id"],
            row["subscription_id"],
            row["opened_at"],
            interrupting=row.get("interrupting") is not False,
        )

    # Publication

    def publish(self, message: Message) -> None:
        message.refused = self.refusal_by_id(message)
        self.published.append(message)
        if message.refused is None:
            self.offer(message)

    def refusal_by_id(self, message: Message) -> str | None:
        """B1: the id is held by an earlier message with the same tenant, name and key."""
        holders = [m for m in self.published if self.same_id(m, message) and message.published_at < id_until(m)]
        return "duplicate_id" if holders else None

    def same_id(self, one: Message, other: Message) -> bool:
        mine = (one.tenant, one.name, one.key, one.row.get("message_id"))
        return mine == (other.tenant, other.name, other.key, other.row.get("message_id"))

    def offer(self, message: Message) -> None:
        """Catches first, then starts (D13, D15)."""
        now, policy = message.published_at, message.policy
        receivers = self.candidates(message)
        starts = self.possible_starts(message, receivers)
        if policy["start_precedence"] == "subscription_first" and receivers:
            starts = []
        if policy["cardinality"] == "exactly_one" and len(receivers) + len(starts) > 1:
            message.refused = "ambiguous"
            return
        for sub in receivers:
            self.deliver(message, sub, now, "waiting_instance")
        for start in starts:
            self.start(message, start, now, "started_instance")
        if not message.takers and policy["on_no_match"] == "reject":
            message.refused = "locked" if self.blocked_starts(message) else "not_found"
        for sub in receivers:
            self.take_stored(sub, now)

    def candidates(self, message: Message) -> list[Subscription]:
        """The first opened of each share (D6, D7, U3)."""
        fitting = [s for s in self.open if s.matches(message) and not self.hidden(s, message.published_at)]
        fitting.sort(key=lambda s: (s.opened_at, s.subscription_id))
        first: dict[Hashable, Subscription] = {}
        for sub in fitting:
            first.setdefault(share(message.policy["cardinality"], sub), sub)
        return list(first.values())

    def hidden(self, sub: Subscription, now: int) -> bool:
        """`start_only`: a process with a valid start for this name is started, and never receives."""
        if policy_of(self.history, sub.name)["start_precedence"] != "start_only":
            return False
        return any(row["process_id"] == sub.process_id for row in self.valid_starts(sub.tenant, sub.name, now))

    def possible_starts(self, message: Message, receivers: list[Subscription]) -> list[Row]:
        """Starts of processes that do not receive it anyway (D13, U4), unless the lock is held (G12)."""
        receiving = {sub.process_id for sub in receivers}
        rows = self.valid_starts(message.tenant, message.name, message.published_at)
        return [row for row in rows if row["process_id"] not in receiving and not self.blocked(message, row)]

    def blocked(self, message: Message, start: Row) -> bool:
        lock = (message.tenant, start["process_id"], message.key)
        return message.policy["start_uniqueness"] == "per_key" and lock in self.locks

    def blocked_starts(self, message: Message) -> list[Row]:
        rows = self.valid_starts(message.tenant, message.name, message.published_at)
        return [row for row in rows if self.blocked(message, row)]

    def valid_starts(self, tenant: str, name: str, now: int) -> list[Row]:
        """One row a process: its latest version valid now (G7, G21)."""
        rows = [row for row in self.history.starts if (tenant_of(row), row["name"]) == (tenant, name)]
        latest: dict[str, Row] = {}
        for row in sorted(rows, key=version):
            if valid(row, now):
                latest[row["process_id"]] = row
        return sorted(latest.values(), key=visiting_order)

    # Receiving and starting

    def deliver(self, message: Message, sub: Subscription, now: int, reason: str) -> None:
        """An interrupting subscription closes by it."""
        taker = Taker(
            "subscription",
            sub.process_id,
            sub.instance_id,
            sub.subscription_id,
            sub.row["element_id"],
            now,
            reason,
        )
        message.takers.append(taker)
        if sub.interrupting:
            self.open.remove(sub)

    def start(self, message: Message, start: Row, now: int, reason: str) -> None:
        """Start an instance; take the lock unless the policy or an empty key says otherwise (G12, G14)."""
        process_id = start["process_id"]
        message.takers.append(Taker("start", process_id, None, None, start.get("element_id"), now, reason))
        if message.key != "" and message.policy["start_uniqueness"] == "per_key":
            self.locks[(message.tenant, process_id, message.key)] = message.position

    # Subscriptions

    def open_subscription(self, sub: Subscription) -> None:
        rejects = policy_of(self.history, sub.name)["duplicate_subscription"] == "reject"
        if rejects and any((s.tenant, s.name, s.key) == (sub.tenant, sub.name, sub.key) for s in self.open):
            self.result.refused_subscriptions.add(sub.subscription_id)
            return
        self.open.append(sub)
        self.take_stored(sub, sub.opened_at)

    def close(self, sub: Subscription) -> None:
        if sub in self.open:
            self.open.remove(sub)

    def take_stored(self, sub: Subscription, now: int) -> None:
        """Take stored messages, the oldest first, until it is closed or none is left (E1, E3)."""
        while sub in self.open and (waiting := self.stored_for(sub, now)):
            self.deliver(waiting[0], sub, now, "waiting_instance_later")

    def stored_for(self, sub: Subscription, now: int) -> list[Message]:
        if self.hidden(sub, now):
            return []
        return [m for m in self.stored(now) if sub.matches(m) and not marked(m, sub)]

    def stored(self, now: int) -> list[Message]:
        """Live stored messages in the order of publication (A6)."""
        live = [m for m in self.published if m.stored(now)]
        return sorted(live, key=lambda m: (m.published_at, m.position))

    # Ends and deadlines

    def end(self, row: Row) -> None:
        """Free the lock; the oldest message behind it starts the next instance (G18, G20, E5)."""
        tenant, process_id, key, now = tenant_of(row), row["process_id"], key_of(row), row["ended_at"]
        if (tenant, process_id, key) not in self.locks:
            self.result.ends_ignored += 1
            return
        del self.locks[(tenant, process_id, key)]
        for message in self.stored(now):
            start = self.start_after_lock(message, process_id, now)
            if (message.tenant, message.key) == (tenant, key) and start is not None:
                self.start(message, start, now, "started_after_lock")
                return

    def start_after_lock(self, message: Message, process_id: str, now: int) -> Row | None:
        """The start row by which this process may take the message now, if it may."""
        gone = bool(message.takers) if message.policy["cardinality"] == "exactly_one" else False
        given = any(taker.kind == "subscription" for taker in message.takers)
        if gone or message.taken_by_process(process_id):
            return None
        if message.policy["start_precedence"] == "subscription_first" and given:
            return None
        rows = self.valid_starts(message.tenant, message.name, now)
        return next((row for row in rows if row["process_id"] == process_id), None)

    def expire(self, message: Message) -> None:
        """Why nobody took it, seen in the last instant of its life."""
        message.expired = "nobody_waited"
        if self.locked_out(message, message.deadline - 1):
            message.expired = "was_locked"
        elif self.never_offered(message):
            message.expired = "never_offered"

    def locked_out(self, message: Message, now: int) -> bool:
        """Some process would be started by it, but for its lock."""
        processes = [row["process_id"] for row in self.valid_starts(message.tenant, message.name, now)]
        return message.policy["start_uniqueness"] == "per_key" and any(
            not message.taken_by_process(process_id) and (message.tenant, process_id, message.key) in self.locks
            for process_id in processes
        )

    def never_offered(self, message: Message) -> bool:
        """A start row came into force while it was stored; such a row takes no old messages (G25, G26)."""
        rows = [r for r in self.history.starts if (tenant_of(r), r["name"]) == (message.tenant, message.name)]
        return any(valid(r, message.deadline - 1) and not valid(r, message.published_at) for r in rows)

    # The report

    def outcome(self) -> Outcome:
        result = self.result
        for message in self.published:
            verdict, reason, decided_at = self.judge(message)
            result.verdicts[message.position] = (verdict, reason)
            result.decided_at[message.position] = decided_at
            result.pairs |= {self.pair(message, taker) for taker in message.takers}
        result.buffered = {
            m.position: sorted({taker.process_id for taker in m.takers}) for m in self.stored(self.as_of)
        }
        result.open = {sub.subscription_id for sub in self.open}
        result.locks = dict(sorted(self.locks.items()))
        result.ids = self.held_ids()
        return result

    def pair(self, message: Message, taker: Taker) -> Pair:
        t = taker
        return (message.position, t.kind, t.process_id, t.subscription_id, t.element_id, t.at)

    def held_ids(self) -> set[tuple[str, str, str, str, int]]:
        return {
            (m.tenant, m.name, m.key, m.row["message_id"], id_until(m))
            for m in self.published
            if self.as_of < id_until(m)
        }

    def judge(self, message: Message) -> tuple[str, str, int]:
        """Verdict, reason and the instant of the decision; the first that applies."""
        m, published_at = message, message.published_at
        if m.refused is not None:
            return ("refused", m.refused, published_at)
        if self.short(m):
            return ("short", "fewer_than_expected", m.deadline if m.kept() else published_at)
        if m.takers:
            return ("correlated", m.takers[0].reason, m.takers[0].at)
        if m.policy["on_no_match"] == "discard":
            return ("discarded", "policy", published_at)
        if not m.kept():
            return ("discarded", "ttl_zero", published_at)
        if m.deadline <= self.as_of:
            return ("expired", str(m.expired), m.deadline)
        return ("buffered", "locked" if self.locked_out(m, self.as_of) else "nobody_waits", published_at)

    def short(self, message: Message) -> bool:
        """Fewer receivers than expected when its time is over; at once if it is not kept."""
        expected = message.policy["expected"]
        if expected in ("off", None) or message.stored(self.as_of):
            return False
        return len(message.takers) < int(expected)
