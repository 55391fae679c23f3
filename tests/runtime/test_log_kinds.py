"""The numbers that events have in the log."""

from dataclasses import is_dataclass

from conjoin.kernel.correlation import events as e
from conjoin.kernel.process import events as pe
from conjoin.kernel.process import work_events as w
from conjoin.runtime.run.log import KINDS, read_event

AS_WRITTEN = {0: "MessagePublished", 9: "SubscriptionOpened", 16: "InstanceCreated", 34: "VariablesWritten"}
LAST_AT_FIRST = (51, "IncidentResolved")


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
