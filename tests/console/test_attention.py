"""What needs attention: nothing that is zero, each with its why and where to go; and every code has its words."""

from typing import Any

import pytest

from conjoin.console import wording
from conjoin.console.attention import Known, troubles
from conjoin.console.wording import in_words
from conjoin.gateway.queries.store import INCIDENT_TYPES, LISTING
from conjoin.kernel.process import step
from conjoin.kernel.verdicts.verdicts import REASONS
from conjoin.runtime.ingest.dead_letters import REASONS as DEAD_LETTER_REASONS
from conjoin.runtime.upkeep.supervision import Supervisor

QUIET = Known({"incidents": 0, "parked": 0, "dead_letters": 0}, {}, [], [], {}, 0)
INCIDENT = {"process_name": "Returns", "element_name": "wait", "text": "no key", "instance_key": "7"}


def failing(*names: str) -> list[Any]:
    supervisor = Supervisor()
    for name in names:
        supervisor.job(name, 1.0).failed(OSError("the disk is full"))
    return supervisor.report()


def test_nothing_is_nothing() -> None:
    assert troubles(QUIET) == []


def test_one_leads_to_itself_and_many_to_their_list() -> None:
    [one] = troubles(QUIET._replace(counts={"incidents": 1}, newest={"incidents": INCIDENT}))
    [many] = troubles(QUIET._replace(counts={"incidents": 3}, newest={"incidents": INCIDENT}))
    assert (one.title, one.href) == ("1 open incident", "/console/instances/7")
    assert (many.title, many.href) == ("3 open incidents", "/console/incidents")
    assert many.why == "The newest: Returns, “wait”: no key"


def test_what_is_counted_but_gone_by_now_has_no_example() -> None:
    counts = {"incidents": 1, "parked": 2, "dead_letters": 1}
    assert [it.why for it in troubles(QUIET._replace(counts=counts))] == ["", "", ""]


def test_lost_messages_tell_the_commonest_reason() -> None:
    lost = [(("expired", "nobody_waited"), 2), (("discarded", "ttl_zero"), 5)]
    [it] = troubles(QUIET._replace(lost=lost))
    assert it.title == "7 messages lost in the last hour"
    assert it.why == "5 of them: discarded, nobody waited, and it had no time to live"
    assert it.href == "/console/messages?within=1h&lost=yes"


@pytest.mark.parametrize(
    ("name", "title"),
    [("shard-1", "1 shard cannot commit"), ("sweep-0", "1 sweep late"), ("inbox", "1 background job failing")],
)
def test_what_fails_beside_the_requests_is_told_by_its_kind(name: str, title: str) -> None:
    [it] = troubles(QUIET._replace(jobs=failing(name)))
    assert (it.title, it.why, it.href) == (title, f"{name}: OSError: the disk is full", "/console/server")


def test_notices_that_are_not_accepted_and_what_was_set_aside_are_told() -> None:
    notices, aside = troubles(QUIET._replace(refused_notices={"pager": "it answered 500"}, set_aside=2))
    assert (notices.title, notices.why) == ("1 receiver of notices not reached", "pager: it answered 500")
    assert aside.title == "2 items set aside"


def test_every_code_has_words() -> None:
    spoken = {**wording.REASONS, **wording.INCIDENTS, **wording.DEAD_LETTERS, **wording.JOBS}
    codes = {reason for reasons in REASONS.values() for reason in reasons}
    assert codes | {*DEAD_LETTER_REASONS, *INCIDENT_TYPES, *LISTING["jobs"].choices["state"]} <= set(spoken)
    assert in_words("SOME_NEW_CODE") == "some new code"


def test_kinds_of_incidents_are_those_of_the_kernel() -> None:
    kernels = {getattr(step, name) for name in vars(step) if name.isupper()}
    assert set(INCIDENT_TYPES) == kernels
