"""Sweeping with care: what has fallen due on a shard happens, and an item that cannot happen is set aside.

A sweep that fails is carried out without the item that made it fail; the same goes for mail from other shards and for
the start timers of models. What the store could not do is raised, and tried again by the next round.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from conjoin.runtime.client_api.answers import DONE, Done, Refusal
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.due import Sweep, due_rows
from conjoin.runtime.run.isolation import blamed, is_worlds, isolated
from conjoin.runtime.run.set_aside import (
    KINDS,
    MAIL,
    START_TIMERS,
    DeleteSetAside,
    FailedAgain,
    RetrySetAside,
    SetAside,
    may_pass,
    setting_aside,
)
from conjoin.runtime.upkeep.supervision import text_of
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import OutboxRow

Ask = Callable[[Any], Reply]
"""A request to one shard."""
Look = Callable[[], AbstractContextManager[ShardSnapshot]]
_KIND_OF = {sweep: kind for kind, sweep in KINDS.items()}


def is_items(error: Exception) -> bool:
    """It is the fault of what was asked, and nothing of it was done."""
    return not is_worlds(error) and not blamed(error).is_committed


def sweep_carefully(ask: Ask, look: Look, sweep: Sweep, now: Callable[[], int]) -> int:
    """How much was due; as much as the limit: perhaps there is more."""
    try:
        return ask(sweep).swept
    except Exception as error:
        if not is_items(error):
            raise
        failed = error
    with look() as snapshot:
        keys = [row.key for row in due_rows(snapshot, sweep, now())]
    is_known = blamed(failed).key in keys
    tried = isolated(
        lambda some: ask(Sweep(sweep.kind, keys=tuple(some))),
        keys,
        lambda key, it: key == it.key,
        failed if is_known else None,
    )
    for some, outcome in tried:
        if isinstance(outcome, Exception):
            _after_failure(ask, Sweep(sweep.kind, keys=tuple(some)), outcome)
    return len(keys)


def _after_failure(ask: Ask, sweep: Sweep, error: Exception) -> None:
    """Once more, as it may have been a passing trouble; then it is set aside."""
    if not is_items(error):
        raise error
    try:
        if may_pass(error):
            ask(sweep)
            return
    except Exception as again:
        if not is_items(again):
            raise
        error = again
    ask(setting_aside(_KIND_OF[sweep.kind], sweep.keys[0], error))


def schedule_carefully(ask: Ask, orders: Sequence[Any]) -> None:
    """The start timers of each model by itself; the orders are those of `start_timers.py`."""
    for order in orders:
        try:
            ask(order)
        except Exception as error:
            if not is_items(error):
                raise
            ask(setting_aside(START_TIMERS, order.definition_key, error))


def mail_set_aside(sender: int, row: OutboxRow, error: Exception) -> SetAside:
    return SetAside(MAIL, row.seq, text_of(error), may_pass(error), sender, row)


def retry_due(ask: Ask, keys: Sequence[int]) -> None:
    """What is to be tried again by itself."""
    for key in keys:
        retry(ask, key)


def retry(ask: Ask, key: int) -> Done | Refusal:
    try:
        found = ask(RetrySetAside(key)).key
    except Exception as error:
        if not is_items(error):
            raise
        ask(FailedAgain(key, text_of(error), may_pass(error)))
        return Refusal("INVALID_STATE", f"it failed again and stays set aside: {text_of(error)}")
    return DONE if found else _unknown(key)


def delete(ask: Ask, key: int) -> Done | Refusal:
    return DONE if ask(DeleteSetAside(key)).key else _unknown(key)


def _unknown(key: int) -> Refusal:
    return Refusal("NOT_FOUND", f"nothing that is set aside has the key {key}")
