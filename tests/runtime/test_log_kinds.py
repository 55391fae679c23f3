"""The numbers that events have in the log."""

from dataclasses import fields, is_dataclass

import pytest

from conjoin.kernel.correlation import Message, Subscription
from conjoin.kernel.correlation import events as e
from conjoin.kernel.policies import Policy
from conjoin.kernel.process import events as pe
from conjoin.kernel.process import work_events as w
from conjoin.runtime.run.log import BY_PATHS, KINDS, WRITERS, read_event

AS_WRITTEN = {0: "MessagePublished", 9: "SubscriptionOpened", 16: "InstanceCreated", 34: "VariablesWritten"}
LAST_AT_FIRST = (51, "IncidentResolved")
VALUES = {
    **{"message": Message(7, "paid", 1, 2, Policy()), "subscription": Subscription(8, 1, "paid", "order", 9, "e", 3)},
    **{"at": 4, "reason": "waiting_instance", "before": None, "answered": True, "key": 5, "element_id": "task"},
    **{"scope_key": 6, "active": True, "variables": {"a": 1}, "flow_id": "f", "joins": False, "subscription_key": 8},
}
"""Of the fields of events."""


def test_every_event_has_a_number() -> None:
    events = {
        kind
        for module in (e, pe, w)
        for kind in vars(module).values()
        if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__
    }
    assert set(KINDS) == events
    assert len(KINDS) == len(events)


def test_numbers_that_stand_in_logs_keep_their_meaning() -> None:
    for number, name in (*AS_WRITTEN.items(), LAST_AT_FIRST):
        assert KINDS[number].__name__ == name


def test_an_event_is_read_by_its_number_and_by_its_name() -> None:
    by_name, by_number = (read_event([kind, "p", 8, 9]) for kind in ("LockFreed", 14))
    assert (by_name.kind, by_name.values) == (by_number.kind, by_number.values)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if WRITERS[kind] is not BY_PATHS[kind]])
def test_an_event_that_is_written_out_is_written_as_its_fields_say(kind: type) -> None:
    event = kind(**{field.name: VALUES[field.name] for field in fields(kind)})
    assert WRITERS[kind](event) == BY_PATHS[kind](event)
