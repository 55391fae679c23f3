"""`kill -9` under load: whatever was acknowledged is there once, and nothing is there by halves.

`ROUNDS=50 make test-gateway` runs many rounds; all of them are on one store, each after the kill of the one before.
"""

import os
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

from conjoin.runtime.opening import open_broker
from conjoin.testing.checking import Finding, HistoryFile, check, read_history
from tests.faults.places import make_store
from tests.gateway.robust.publishers import PUBLISHERS, Notes
from tests.gateway.robust.serving import COMMAND, ServingProcess

ROUNDS = int(os.environ.get("ROUNDS", "10"))
SHARDS = 2
HASTY = ("-m", "tests.gateway.robust.hasty")


def test_what_a_killed_server_has_acknowledged_is_there_once(tmp_path: Path, seed: int) -> None:
    with noted(tmp_path, seed) as notes:
        for round_ in range(ROUNDS):
            play(tmp_path / "store", notes, round_)
    found = finding(tmp_path)
    assert found == ("yes", ""), f"{found.sentence}\nagain: SEED={seed} ROUNDS={ROUNDS}"
    assert notes.acknowledged > 10 * ROUNDS
    assert notes.unanswered, "nobody waited for an answer when the server was killed"
    assert "Traceback" not in (tmp_path / "complaints").read_text()


def test_server_that_acknowledges_before_it_commits_is_found_out(tmp_path: Path, seed: int) -> None:
    with noted(tmp_path, seed) as notes:
        for round_ in range(5):
            play(tmp_path / "store", notes, round_, HASTY)
            if finding(tmp_path).answer == "no":
                break
    assert (
        "its message is not there" in finding(tmp_path).sentence or "which is not there" in finding(tmp_path).sentence
    )


@contextmanager
def noted(folder: Path, seed: int) -> Iterator[Notes]:
    make_store(folder / "store", SHARDS)
    with closing(HistoryFile(folder / "history")) as history:
        yield Notes(history, str(seed), deque(maxlen=200))


def play(store: Path, notes: Notes, round_: int, command: tuple[str, ...] = COMMAND) -> None:
    """All publish at once, and at some moment the server is gone."""
    server = ServingProcess(store, command)
    try:
        with ThreadPoolExecutor(len(PUBLISHERS)) as threads:
            ends = [threads.submit(publish, server, notes, round_) for publish in PUBLISHERS]
            time.sleep(Random(f"{notes.seed}/{round_}").uniform(0.3, 1.5))
            server.kill()
            for end in ends:
                end.result(timeout=60)
    finally:
        server.kill()


def finding(folder: Path) -> Finding:
    """When what was left between two shards is delivered."""
    with closing(open_broker(folder / "store")) as broker:
        while broker.tick():
            pass
        return check(read_history(folder / "history"), broker.store)
