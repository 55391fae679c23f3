"""Ctrl-C ends a command that works with Spark at once, without traces, and with it the Java process it has started."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from conjoin.cli.main import run
from conjoin.errors import SparkFailed
from tests.cli.tabular import write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARK = "CONJOIN_TEST_FAMILY"
COMMAND = "from conjoin.cli.main import main; main()"
PATIENCE_S = 60.0
AGAIN_S = 3.0


class Interrupt(NamedTuple):
    """`seen`: what stands on stderr or in the name of a process when it comes; `whole`: as a terminal sends it."""

    seen: str
    whole: bool


INTERRUPTS = (Interrupt("java", False), Interrupt("SparkSubmit", True), Interrupt("reading the tables", True))
"""While the script that starts Java runs, while the gateway starts, and when a session is there."""


def tables(folder: Path) -> list[str]:
    day = [{"name": "Paid", "published_at": "2026-01-31T08:00:00Z", "correlation_key": "o-1"}]
    waiting = [{"process_id": "order", "name": "Paid", "opened_at": "2026-01-31T07:00:00Z", "correlation_key": "o-1"}]
    messages = write(folder / "day.csv", day, "csv")
    subscriptions = write(folder / "waiting.csv", waiting, "csv")
    return ["--messages", str(messages), "--subscriptions", str(subscriptions), "--engine", "spark"]


def _heeding_interrupts() -> None:
    """Whoever is started by a script in the background inherits that Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Started:
    """The command in a process group of its own, and all that it has started."""

    def __init__(self, folder: Path, name: str) -> None:
        self.mark = f"{MARK}={folder}/{name}"
        self.said = folder / f"{name}.txt"
        line = ["spark", "correlate", *tables(folder), "--out", str(folder / name)]
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-c", COMMAND, *line],
                env={**os.environ, MARK: f"{folder}/{name}"}, stdout=said, stderr=said, start_new_session=True,
                preexec_fn=_heeding_interrupts,
            )  # fmt: skip

    def family(self) -> dict[int, str]:
        found = {}
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and self.mark.encode() in (process / "environ").read_bytes():
                    found[int(process.name)] = (process / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
        # One that has ended and was not yet waited for has no command line.
        return {number: line for number, line in found.items() if line}

    def interrupt(self, when: Interrupt) -> None:
        wait_for(lambda: when.seen in self.said.read_text() or any(when.seen in it for it in self.family().values()))
        assert self.process.poll() is None, self.said.read_text()
        for _ in range(3):
            (os.killpg if when.whole else os.kill)(self.process.pid, signal.SIGINT)
            # Python loses one that comes while a finalizer runs, as others do; people then press it again.
            if wait_for(lambda: self.process.poll() is not None, AGAIN_S):
                return


def wait_for(condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    until = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
def test_ctrl_c_while_spark_starts_leaves_no_java(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    started = [Started(tmp_path, f"out{number}") for number in range(len(INTERRUPTS))]
    threads = [
        threading.Thread(target=it.interrupt, args=(when,)) for it, when in zip(started, INTERRUPTS, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        for it, when in zip(started, INTERRUPTS, strict=True):
            assert it.process.poll() == 130, (when, it.said.read_text())
            assert wait_for(lambda it=it: not it.family(), 5), (when, it.family())  # type: ignore[misc]
            lines = it.said.read_text().splitlines()
            assert [line for line in lines if not line.startswith("conjoin: ")] == [], when
    finally:
        for it in started:
            for number in it.family():
                os.kill(number, signal.SIGKILL)


def connect_again(spark: "SparkSession") -> None:
    """A call that is cut off costs the connection, and the thread of Java that knew the session.

    The next connection may be one that was cut off, too, and is then closed by Java without an answer.
    """
    from py4j.protocol import Py4JError

    def is_there() -> bool:
        try:
            return spark.createDataFrame([], "a int").count() == 0
        except Py4JError:
            return False

    assert wait_for(is_there, 10)


def test_ctrl_c_in_the_middle_of_a_run_is_no_error(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    given = tables(tmp_path)
    # As a session of the command has it; the one of the tests has Spark's.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    request.addfinalizer(lambda: connect_again(spark))
    for number, delay_s in enumerate((0.05, 0.2, 0.4)):
        timer = threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        code = run(["spark", "correlate", *given, "--out", str(tmp_path / f"out{number}")])
        said = capsys.readouterr()
        assert (code, said.out, "Traceback" in said.err) == (130, "", False), said
        timer.join()


def test_error_on_the_way_out_of_ctrl_c_is_not_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def cut_off(*_: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise SparkFailed("Answer from Java side is empty") from None

    monkeypatch.setattr("conjoin.cli.spark.correlate._done_locally", cut_off)
    assert run(["spark", "correlate", *tables(tmp_path), "--out", str(tmp_path / "out")]) == 130
    assert capsys.readouterr() == ("", "")
