"""Who works on a store: many beside each other, or one alone; and a crash lets go."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from conjoin.errors import StoreInUse
from conjoin.store.opening import open_store
from conjoin.store.port import Store

HOLD = """
import sys
from conjoin.store import open_store
store = open_store(sys.argv[1])
with store.held("conjoin serve"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_many_may_work_side_by_side_and_one_alone_is_refused(store: Store) -> None:
    with ExitStack() as held:
        for task in ("conjoin serve", "conjoin publish"):
            held.enter_context(store.held(task))
        with pytest.raises(StoreInUse, match=r"conjoin serve \(.*; conjoin publish .*: stop that first"):
            held.enter_context(store.held("conjoin store reshard", alone=True))
    with store.held("conjoin store reshard", alone=True):
        pass


def test_nobody_works_beside_one_alone(store: Store) -> None:
    with store.held("conjoin store reshard", alone=True):
        for alone in (False, True):
            with pytest.raises(StoreInUse, match=r"in use by conjoin store reshard \(.*since 20"):
                store.held("conjoin serve", alone=alone).__enter__()
    with store.held("conjoin serve"):
        pass


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_holder_that_is_killed_lets_go(store: Store, end: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, store.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ}
    )
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(StoreInUse, match="conjoin serve"):
            store.held("conjoin store restore", alone=True).__enter__()
        process.send_signal(end)
        process.wait(30)
    _wait_until_free(store)


def _wait_until_free(store: Store) -> None:
    """PostgreSQL notices the end of a client when it next reads from it."""
    for _ in range(1_000):
        try:
            with store.held("conjoin store restore", alone=True):
                return
        except StoreInUse:
            continue
    raise AssertionError("it is still held")


def test_those_who_are_gone_are_not_named(folder: Path) -> None:
    from tests.store.sqlite_place import make

    make(folder)
    with closing(open_store(folder)) as store, store.held("conjoin serve"):
        with (folder / "conjoin.lock").open("a") as file:
            file.write(f"999999999\t{os.uname().nodename}\t2026-01-01T00:00:00+00:00\tconjoin store tick\nrubbish\n")
        with pytest.raises(StoreInUse) as raised:
            store.held("conjoin store reshard", alone=True).__enter__()
        assert "conjoin serve" in str(raised.value)
        assert "tick" not in str(raised.value)
