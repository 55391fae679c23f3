"""Spark itself tries a task again whose worker was killed in a commit: the same rows once."""

import os
import subprocess
import sys

import pytest

from conjoin.fault_points import VARIABLE
from conjoin.runtime.run.carriers.spark_tasks import AT_ONCE
from tests.faults.conftest import MakeRound
from tests.faults.processes import end, start, write
from tests.faults.task_writer import Task, note_asked

COMMITS = 3


@pytest.mark.spark
def test_a_task_that_spark_tries_again_takes_each_row_once(on_sqlite: MakeRound, seed: int) -> None:
    pytest.importorskip("pyspark")
    at = on_sqlite(f"{seed}/spark", 1)
    count = COMMITS * AT_ONCE
    note_asked(Task(at.store, at.history, count, 1))
    # Each attempt gets one commit further than the one before, and dies in the next.
    client = [sys.executable, "-m", "tests.faults.spark_client", at.store, str(at.history), str(count)]
    told = subprocess.run(client, env={**os.environ, VARIABLE: "written:2"}, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout.split()[-1] == str(count - AT_ONCE)
    assert end(start(write, at.chapter(100, 10, ends=True))) == 0
    assert at.finding() == ("yes", "")
