"""When runs and cleanups come."""

import pytest

from conjoin.kernel.inbox.due import CLEANUP, RUN, next_job_at
from conjoin.kernel.instants import NEVER
from tests.kernel.inbox.simulator import S, preset

SETTINGS = preset(poll_initial_delay=10_000, poll_interval=6_000, cleanup_initial_delay=60_000, cleanup_interval=30_000)


@pytest.mark.parametrize(
    ("job", "last", "second"), [(RUN, None, 110), (RUN, 110, 116), (CLEANUP, None, 160), (CLEANUP, 160, 190)]
)
def test_a_job_comes_after_its_initial_delay_and_then_at_its_interval(job: str, last: int | None, second: int) -> None:
    assert next_job_at(job, 100 * S, None if last is None else last * S, SETTINGS) == second * S


@pytest.mark.parametrize("job", [RUN, CLEANUP])
def test_a_disabled_inbox_has_no_runs(job: str) -> None:
    assert next_job_at(job, 0, None, preset(enabled=False)) == NEVER
