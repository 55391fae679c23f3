"""Lockstep: the recorded commands of one correlation key carried out twice, as it was and as it would have been.

Both ways go through the rules of the kernel and differ in policies alone. As long as both decide the same, what the
instances answered is in the record; where they differ, `KeyDoubts` says what can no longer be known. A message that
only would have been given to somebody is taken by whoever waits for it, at once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import KeySpace, Message, Subscription
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.commands import AcknowledgeCorrelation
from conjoin.kernel.correlation.expiry import expire
from conjoin.kernel.correlation.messages import deadline_of
from conjoin.kernel.correlation.publishing import offer, publish
from conjoin.kernel.correlation.starting import end_instance
from conjoin.kernel.correlation.waiting import accept, acknowledge, close_subscription, open_subscription, reject
from conjoin.kernel.instants import NEVER
from conjoin.kernel.policies import Policies
from conjoin.pipeline.what_if import recorded as r
from conjoin.pipeline.what_if.doubts import Doubted, Doubts, KeyDoubts, Pair, Waiter
from conjoin.pipeline.what_if.judged import Judged, judge
from conjoin.pipeline.what_if.recorded import CHILD, STUCK, Recorded, decode
from conjoin.pipeline.what_if.rules import ANY_NAME, Catalogs, WhatIfRules

Events = list[e.Event]
_COMPARED = (e.SubscriptionRefused, e.MessageHeld, e.MessageReleased)


def pair_of(event: e.MessageCorrelated) -> tuple[int, int]:
    return event.subscription.key, event.message.key


def deliveries(events: Events) -> dict[tuple[int, int], e.MessageCorrelated]:
    return {pair_of(event): event for event in events if type(event) is e.MessageCorrelated}


def starts(events: Events) -> dict[Any, e.InstanceStarted]:
    return {(it.process_id, it.message.key): it for it in events if type(it) is e.InstanceStarted}


def only_in_one(was: Events, would: Events) -> list[e.Event]:
    """Refused subscriptions, held and released messages that the other side has not."""
    mine, theirs = ({_identity(it): it for it in events if type(it) in _COMPARED} for events in (was, would))
    one_sided = mine.keys() ^ theirs.keys()
    return [it for which, it in (*mine.items(), *theirs.items()) if which in one_sided]


def _identity(event: Any) -> tuple[type, Any]:
    about = event.subscription if type(event) is e.SubscriptionRefused else event.message
    return type(event), about.key


Decide = Callable[[int, KeySpace, Catalog], Events]
WAS, WOULD = 0, 1


class Lockstep:
    """One key. The rows come in the order of the shard that has the key."""

    def __init__(self, rules: WhatIfRules, catalogs: Catalogs, doubts: Doubts, tenant_and_key: tuple[str, str]) -> None:
        self._rules = rules
        self._catalogs = catalogs
        self._spaces = (KeySpace(*tenant_and_key), KeySpace(*tenant_and_key))
        self._doubts = KeyDoubts(rules, doubts, self._spaces[WOULD])
        self.new_doubts = self._doubts.new_doubts
        self._subscriptions: tuple[dict[int, Subscription], dict[int, Subscription]] = ({}, {})
        self._pairs: dict[int, Pair] = {}
        self._row: Recorded | None = None
        self._take: dict[str, Callable[..., None]] = {
            r.PUBLISH: self._publish,
            r.OFFER: self._offer,
            r.OPEN: self._open,
            r.CLOSE: self._close,
            r.ACKNOWLEDGE: self._acknowledge,
            r.REJECT: self._reject,
            r.END: self._end,
        }

    def take(self, row: Recorded) -> None:
        *body, started = decode(row.body)
        self._row = row
        self._catalogs.begin(started)
        self._doubts.move_to(row.at, row.shard, row.number)
        self._expire(row.at)
        self._take[row.kind](*body)

    def finish(self) -> Iterator[Judged]:
        """What became of each message up to the end of the question."""
        until = self._rules.question.until
        if self._row is None:
            return
        self._doubts.move_to(until, -1, 0)
        self._expire(until)
        sides = [(space, self._catalog(side)[0]) for side, space in enumerate(self._spaces)]
        for pair in self._pairs.values():
            found = judge(pair, sides, until)
            if found.published_at >= self._rules.question.since or found.change != "same":
                yield found

    @property
    def _now(self) -> Recorded:
        assert self._row is not None, "a command is being carried out"
        return self._row

    def _catalog(self, side: int) -> tuple[Catalog, Policies]:
        is_supposed = side == WOULD and self._now.at >= self._rules.question.since
        return self._catalogs.at(self._now.catalog_version, is_supposed)

    def _expire(self, at: int) -> None:
        for side, space in enumerate(self._spaces):
            if space.deadlines and space.deadlines[0][0] <= at:
                for event in expire(space, at, NEVER, self._catalog(side)[0]):
                    event.apply(space)

    def _publish(self, key: int, name: str, ttl_ms: int | None, since: int | None, *rest: Any) -> None:
        message_id, business_id, sync, from_inbox, subscriptions_only = rest
        question, at = self._rules.question, self._now.at
        would_ttl = question.ttl_ms(name, ttl_ms) if at >= question.since else ttl_ms
        made = []
        for side, ttl in ((WAS, ttl_ms), (WOULD, would_ttl)):
            catalog, inbox_policies = self._catalog(side)
            policy = (inbox_policies if from_inbox else catalog.policies).of(name)
            deadline = deadline_of(at if since is None else since, ttl, policy)
            message = Message(key, name, at, deadline, policy, message_id, business_id)
            message.sync, message.subscriptions_only = sync, subscriptions_only
            made.append(message)
        self._doubts.see(name)
        pair = self._pairs[key] = self._doubts.pairs[name][key] = Pair(*made)
        was_in_doubt = name in self._doubts.in_doubt
        self._both(name, self._offering(pair))
        if was_in_doubt:
            self._doubts.bring(name, pair)

    def _offer(self, key: int) -> None:
        """It was held for an answer, and is offered again."""
        pair = self._pairs[key]
        self._both(pair.was.name, self._offering(pair))

    def _offering(self, pair: Pair) -> Decide:
        def decide(side: int, space: KeySpace, catalog: Catalog) -> Events:
            message = pair.was if side == WAS else pair.would
            if message.targets or message.ended is not None or message.stored:
                return []
            return (offer if message.sync else publish)(space, message, self._now.at, catalog)

        return decide

    def _open(self, key: int, rank: int, name: str, process_id: str, instance_id: int, *rest: Any) -> None:
        element_id, opened_at, interrupting, business_id, is_elsewhere, is_brief = rest
        root, root_process = self._rules.roots.get(instance_id, (instance_id, process_id))
        waiter = Waiter(root, root_process, root != instance_id, is_elsewhere, is_brief)
        where = (element_id, opened_at, interrupting, business_id, waiter)
        made = [Subscription(key, rank, name, process_id, instance_id, *where) for _ in self._spaces]
        self._doubts.see(name)
        self._subscriptions[WAS][key] = made[WAS]
        cause = self._doubts.is_loose(root)

        def decide(side: int, space: KeySpace, catalog: Catalog) -> Events:
            return open_subscription(space, made[side], self._now.at, catalog)

        if self._doubts.is_void(root) or cause:
            self._only_was(decide)
            if cause:
                self._doubts.doubt_name(name, cause)
            return
        self._subscriptions[WOULD][key] = made[WOULD]
        self._both(name, decide)
        self._doubts.watch(made[WOULD])
        if name in self._doubts.in_doubt and (self._doubts.is_stirred(name, self._now.at) or self._may_refuse(name)):
            self._doubts.loosen(made[WOULD])

    def _may_refuse(self, name: str) -> bool:
        return any(self._catalog(side)[0].policies.of(name).duplicate_subscription == "reject" for side in (WAS, WOULD))

    def _close(self, key: int) -> None:
        self._both(self._name_of(key), lambda side, space, catalog: close_subscription(space, key, self._now.at))

    def _acknowledge(self, key: int, message_key: int) -> None:
        command = AcknowledgeCorrelation(key, message_key, self._now.at)
        self._both(self._name_of(key), lambda side, space, catalog: acknowledge(space, command, catalog))

    def _reject(self, key: int, message_key: int, why: str) -> None:
        pair = self._pairs[message_key]

        def decide(side: int, space: KeySpace, catalog: Catalog) -> Events:
            subscription = self._subscriptions[side].get(key)
            message = pair.was if side == WAS else pair.would
            return [] if subscription is None else reject(space, subscription, message, self._now.at, why)

        self._both(self._name_of(key), decide)

    def _end(self, process_id: str, instance_id: int) -> None:
        def decide(side: int, space: KeySpace, catalog: Catalog) -> Events:
            return end_instance(space, process_id, instance_id, self._now.at, catalog)

        if self._doubts.is_void(instance_id):
            self._only_was(decide)
        else:
            names = self._rules.start_names(self._now.tenant_id, process_id)
            self._both(next((it for it in names if it in self._doubts.in_doubt), ""), decide)

    def _name_of(self, subscription_key: int) -> str:
        return self._subscriptions[WAS][subscription_key].name

    def _only_was(self, decide: Decide) -> None:
        space = self._spaces[WAS]
        for event in decide(WAS, space, self._catalog(WAS)[0]):
            event.apply(space)

    def _both(self, name: str, decide: Decide) -> None:
        """`name` is what the command is about; if that is in doubt, so is everything that it decides."""
        catalogs = [self._catalog(side)[0] for side in (WAS, WOULD)]
        was = decide(WAS, self._spaces[WAS], catalogs[WAS])
        for event in was:
            event.apply(self._spaces[WAS])
        would = decide(WOULD, self._spaces[WOULD], catalogs[WOULD])
        agreed = deliveries(was)
        # The list grows while it is walked: what was not in the record is taken at once.
        for event in would:
            event.apply(self._spaces[WOULD])
            if type(event) is e.MessageCorrelated and pair_of(event) not in agreed:
                would += accept(self._spaces[WOULD], event.subscription, event.message, event.at, catalogs[WOULD])
        for event in would:
            if type(event) is e.InstanceStarted and event.locks:
                self._doubts.watch_lock(event.instance_id, event.process_id)
        if name in self._doubts.in_doubt:
            self._in_doubt(was, would)
        else:
            self._compare(was, would)

    def _in_doubt(self, was: Events, would: Events) -> None:
        for event in (*was, *would):
            if type(event) is e.MessageCorrelated:
                self._doubts.loosen(event.subscription)
            elif type(event) is e.InstanceStarted:
                self._doubts.loosen_started(event.instance_id, event.process_id)
                self._doubts.suppose_start(event.process_id)

    def _compare(self, was: Events, would: Events) -> None:
        mine, theirs = deliveries(was), deliveries(would)
        by_root = Counter(event.subscription.payload.root for event in theirs.values())
        for pair, event in theirs.items():
            if pair not in mine:
                self._gained(event, alone=by_root[event.subscription.payload.root] == 1)
        for pair, event in mine.items():
            if pair not in theirs:
                self._lost(event)
        started, would_start = starts(was), starts(would)
        for which, start in would_start.items():
            if which not in started:
                self._doubts.suppose_start(start.process_id)
        for which, start in started.items():
            if which not in would_start:
                self._doubts.void(start.instance_id, start.process_id)
        for it in only_in_one(was, would):
            if isinstance(it, e.SubscriptionRefused):
                self._doubts.loosen(it.subscription)
                self._doubts.doubt_name(it.subscription.name, "another subscription would have been refused")
            elif isinstance(it, (e.MessageHeld, e.MessageReleased)):
                self._pairs[it.message.key].unknown = "it would have been held until somebody answered"
                self._doubts.doubt_name(it.message.name, "a message would have been held")

    def _gained(self, event: e.MessageCorrelated, alone: bool) -> None:
        """It would have reached somebody. Whether that one takes it is sure, unless something speaks against it."""
        waiter: Waiter = event.subscription.payload
        is_stuck = self._rules.stuck.get(waiter.root, NEVER) <= self._now.at
        is_sure = alone and not (waiter.is_elsewhere or waiter.is_brief or is_stuck)
        self._doubts.loosen(event.subscription)
        if not is_sure:
            cause = f"instance {waiter.root} of {waiter.process_id} may have refused it"
            self._pairs[event.message.key].unknown = cause
            self._doubts.doubt_name(event.message.name, cause)

    def _lost(self, event: e.MessageCorrelated) -> None:
        """It would not have reached somebody, who would still wait, for as long as other things let him."""
        subscription = event.subscription
        root = subscription.payload.root
        if not self._doubts.is_void(root) and not self._doubts.is_loose(root):
            self._doubts.loosen(subscription)
            self._doubts.doubt_name(subscription.name, f"an instance of {subscription.process_id} would still wait")


MOST_ROUNDS = 20


def replay(
    rows: Iterable[Recorded], rules: WhatIfRules, doubts: Doubts
) -> Iterator[tuple[list[Judged], list[Doubted]]]:
    """Key by key; the rows of a key stand together, in their order."""
    catalogs = Catalogs(rules)
    for tenant_and_key, mine in groupby(rows, key=attrgetter("tenant_id", "key")):
        both = Lockstep(rules, catalogs, doubts, tenant_and_key)
        for row in mine:
            both.take(row)
        judged = list(both.finish())
        yield judged, both.new_doubts


def settled(spread: Callable[[Doubts], Iterable[Doubted]]) -> Doubts:
    """All doubts, once no key has new ones. `spread` replays all keys with the doubts known so far.

    What is in doubt on one key may put others in doubt, and those it again. Doubts only grow, so it ends; if that takes
    too long, everything that is not settled yet is in doubt (any name under any key), which is never wrong.
    """
    doubts = Doubts()
    for _ in range(MOST_ROUNDS):
        found = list(spread(doubts))
        if not doubts.add(found):
            return doubts
    while doubts.add([Doubted(it.tenant_id, it.doubt, name=ANY_NAME) for it in found]):
        found = list(spread(doubts))
    return doubts


def note(rules: WhatIfRules, notes: Iterable[Recorded]) -> None:
    """Rows that are no commands: who was called by whom, and who has had an incident."""
    roots, stuck = dict(rules.roots), dict(rules.stuck)
    for row in notes:
        body = decode(row.body)
        if row.kind == CHILD:
            child, root, process_id = body
            roots[child] = (root, process_id)
        elif row.kind == STUCK:
            stuck[body[0]] = min(row.at, stuck.get(body[0], row.at))
    rules.roots, rules.stuck = roots, stuck
