"""What must hold whenever an engine is idle, whatever the model and the story were."""

from collections.abc import Iterator
from typing import Any

from conjoin.kernel.correlation import Subscription
from conjoin.kernel.keys import key_of_rank, shard_of_key
from conjoin.kernel.process.state import ElementInstance, Instance, ProcessState, Scope, Timer
from conjoin.runtime import Engine
from conjoin.testing.observing.history import History
from conjoin.testing.observing.open_now import taken_by


def broken_promises(engine: Engine, history: History) -> list[str]:
    """As sentences; empty when all is well."""
    found: list[str] = []
    for shard in engine.shards:
        for it in shard.state.elements.values():
            found += _stuck(shard.state, it)
        found += _lost_indexes(shard.state)
    found += _strange_subscriptions(engine)
    found += _messages_without_effect(history)
    found += _wrong_locks(engine)
    return found


def _told(it: ElementInstance) -> str:
    return f"{it.element.kind} {it.element.id} ({it.key}) of instance {it.instance.key}"


def _stuck(state: ProcessState, it: ElementInstance) -> Iterator[str]:
    if isinstance(it, Scope):
        yield from _stuck_scope(it)
        if it.state != "activating":
            return
    waits = bool(it.waits) or it.work_key in state.jobs or it.work_key in state.elements
    if not waits and it.incident_key not in state.incidents:
        yield f"{_told(it)} waits for nothing and has no incident"
    if it.trigger is not None and it.incident_key not in state.incidents:
        yield f"{_told(it)} was triggered by {it.trigger} and went on nowhere"


def _stuck_scope(it: Scope) -> Iterator[str]:
    children = list(it.children())
    parked = sum((it.arrived or {}).values())
    if it.tokens != len(children) + parked:
        yield f"{_told(it)} counts {it.tokens} tokens, but has {len(children)} children and {parked} that wait to join"
    if it.state == "active" and not children and not parked:
        yield f"{_told(it)} is empty and does not end"
    if it.moving:
        yield f"{_told(it)} believes that tokens are moving: {it.moving}"
    if it.shut or it.ending or it.pending is not None or it.state == "terminating":
        yield f"{_told(it)} began to end and did not"
    if any(child.scope is not it for child in children):
        yield f"{_told(it)} has a child of another scope"


def _lost_indexes(state: ProcessState) -> Iterator[str]:
    for job in state.jobs.values():
        it = state.elements.get(job.element_key)
        if it is None or it.work_key != job.key:
            yield f"job {job.key} belongs to nobody"
    for incident in state.incidents.values():
        it = state.elements.get(incident.element_key)
        if it is None or it.incident_key != incident.key:
            yield f"incident {incident} belongs to nobody"
    waiting = {wait.key for it in state.elements.values() for wait in it.waits if isinstance(wait, Timer)}
    started = {key for keys in state.start_timers.values() for key in keys}
    if waiting | started != set(state.timers):
        yield f"timers {set(state.timers) ^ (waiting | started)} belong to nobody"
    for waits in state.signals.values():
        for key, wait in waits.items():
            if wait not in state.elements[wait.owner_key].waits:
                yield f"signal subscription {key} belongs to nobody"


def _strange_subscriptions(engine: Engine) -> Iterator[str]:
    opened: dict[int, Subscription] = {}
    for shard in engine.shards:
        for (_, key), subscription in shard.spaces.subscriptions():
            opened[subscription.key] = subscription
            if subscription.busy_with is not None:
                yield f"{subscription} is busy with {subscription.busy_with}"
            if subscription.payload != key:
                yield f"{subscription} is open under {key}"
            owner_key = key_of_rank(subscription.rank)
            owner = engine.shards[shard_of_key(owner_key)].state.elements.get(owner_key)
            if owner is None or subscription not in owner.waits:
                yield f"{subscription} ({subscription.element_id}) is open without an active element"
    for shard in engine.shards:
        for it in shard.state.elements.values():
            for wait in it.waits:
                if isinstance(wait, Subscription) and wait.key not in opened:
                    yield f"{_told(it)} believes to wait for {wait}"


def _messages_without_effect(history: History) -> Iterator[str]:
    for told in history.messages:
        for taken in taken_by(told.message):
            instance = history.instances.get(taken.instance_key)
            entered = [e.element_id for e in instance.elements.values()] if instance else []
            if taken.element_id not in entered:
                yield f"{told.message} is correlated to {taken}, which was never entered"


def _wrong_locks(engine: Engine) -> Iterator[str]:
    alive: dict[Any, Instance] = {}
    for shard in engine.shards:
        for it in shard.state.elements.values():
            if isinstance(it, Instance) and it.lock_key is not None:
                alive[it.key] = it
    held = {
        lock.instance_id: (key, process_id)
        for shard in engine.shards
        for (_, key), space in shard.spaces.whole()
        for process_id, lock in space.locks.items()
    }
    for key in alive.keys() ^ held.keys():
        yield f"the lock of instance {key} and its life do not go together"
