"""conjoin job activate, complete, fail, throw-error, update-retries."""

import pytest

from conjoin.testing.clock import FakeClock
from tests.cli.command import Command


@pytest.fixture
def job(shop: Command) -> str:
    """The key of a job to ship something, which is ready."""
    shop.order()
    shop.tells("correlate-message paid --key o-1 --variables '{\"amount\": 5}'")
    (job,) = shop.json("activate ship --timeout 1s")["jobs"]
    return str(job["key"])


def test_job_that_was_taken_is_nobody_elses_until_its_time_is_over(shop: Command, job: str, clock: FakeClock) -> None:
    assert shop.tells("activate ship") == "no job of type ship is ready"
    clock.advance_ms(1_001)
    shop.tells("tick")
    assert shop.job("ship") == job


def test_only_the_variables_that_are_named_are_told(shop: Command, job: str, clock: FakeClock) -> None:
    clock.advance_ms(1_001)
    shop.tells("tick")
    (told,) = shop.json("activate jobs ship --variables amount,nothing")["jobs"]
    assert told["variables"] == {"amount": 5}
    assert {name for name in told if name.endswith("key")} == {"key", "instance_key", "element_key"}
    assert all(isinstance(told[name], str) for name in ("key", "instance_key", "element_key"))


def test_as_many_jobs_as_are_asked_for_are_taken(shop: Command) -> None:
    for number in range(5):
        shop.order(f"o-{number}")
        shop.tells(f"correlate-message paid --key o-{number}")
    assert len(shop.json("activate ship")["jobs"]) == 1
    assert len(shop.json("activate ship --maxJobsToActivate 3")["jobs"]) == 3
    assert len(shop.json("activate ship --max 3")["jobs"]) == 1


def test_failed_job_comes_back_after_its_back_off(shop: Command, job: str, clock: FakeClock) -> None:
    assert shop.tells(f"fail job {job} --retries 2 --retryBackOff 1m30s") == f"failed job {job}, 2 retries left"
    clock.advance_ms(89_999)
    shop.tells("tick")
    assert shop.json("activate ship")["jobs"] == []
    clock.advance_ms(1)
    shop.tells("tick")
    assert shop.json("activate ship")["jobs"][0]["retries"] == 2


def test_error_that_the_model_catches_takes_the_other_way(shop: Command, job: str) -> None:
    assert (
        shop.tells(f"throwError job {job} --errorCode sold-out --errorMessage none") == f"threw sold-out from job {job}"
    )
    assert shop.json("activate refund")["jobs"][0]["element_id"] == "refund"


def test_error_that_nobody_catches_is_an_incident(shop: Command, job: str) -> None:
    shop.tells(f"throw-error {job} --errorCode unheard-of")
    assert shop.open() == {"instances": 1, "incidents": 1}


def test_completed_job_is_gone(shop: Command, job: str) -> None:
    shop.tells(f"complete {job} --variables '{{\"parcel\": 1}}'")
    assert shop.refuses(f"complete {job}") == f"NOT_FOUND: no job with key {job} was found"
    assert shop.open() == {}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("activate ship --timeout soon", "--timeout: 'soon' is not a duration such as 300ms, 30s, 1h30m or 7d"),
        ("fail 1 --retries 1 --retryBackOff 5x", "--retryBackOff: '5x' is not a duration"),
        ("activate ship --max 0", "--max"),
        ("fail 1 --retries -1", "--retries"),
        ("update-retries 1 --retries 0", "--retries"),
        ("throw-error 1", "--errorCode"),
    ],
)
def test_bad_input_is_named_before_anything_happens(line: str, told: str, shop: Command) -> None:
    assert told in shop.cannot(line)
