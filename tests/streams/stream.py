"""A stream of files into a store, as its user runs it, and files that come in while it runs."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from conjoin.runtime.opening import create_broker, open_broker
from conjoin.store import tables as t
from tests.bpmn.snippets import BEGIN, END, catch, message, model
from tests.streams.deadly_daemon import DRIVER

SHARDS = 2
ROWS = 250
WAITING = 20
"""Of the rows of a file, so many pairs are waited for; an instance waits for two keys, as a rule on two shards."""
TWO_KEYS = model(
    BEGIN + catch("pay", "paid") + catch("ship", "shipped") + END,
    "begin>pay pay>ship ship>end",
    message("paid", "paid", "=first") + message("shipped", "shipped", "=second"),
)
BROKEN = '{"name": "paid", '
OLD_S = 30 * 24 * 3600
PATIENCE_S = 120


class Stream:
    def __init__(self, folder: Path) -> None:
        self.incoming = folder / "incoming"
        self.incoming.mkdir()
        self.store = folder / "store"
        self.out = folder / "out"
        """What the last run has said."""
        self.checkpoint = "first"
        self.files = 0
        self._folder = folder
        with closing(create_broker(self.store, SHARDS)) as broker:
            broker.deploy([("two.bpmn", TWO_KEYS)])

    def feed(self) -> None:
        """One more file, which comes in as a whole. Some were written long ago, and some have strange names."""
        number = self.files
        with closing(open_broker(self.store)) as broker:
            for pair in range(WAITING):
                broker.create_instance("order", {"first": f"a-{number}-{pair}", "second": f"b-{number}-{pair}"})
        name = f"{number}.jsonl" if number % 4 else f"strange [{number}] {{a,b}} 100%.jsonl"
        hidden = self.incoming / f".{name}"
        hidden.write_text("".join(f"{line}\n" for line in (*map(json.dumps, rows_of(number)), BROKEN)))
        if number % 5 == 3:
            os.utime(hidden, (time.time() - OLD_S,) * 2)
        hidden.rename(self.incoming / name)
        self.files += 1

    def start(self, environment: Mapping[str, str], *options: str) -> "subprocess.Popen[bytes]":
        """`conjoin ingest`; the workers come from a daemon that can be told to kill."""
        settings = {
            "CONJOIN_MASTER": f"local[{SHARDS}]",
            "PYSPARK_SUBMIT_ARGS": "--conf spark.python.daemon.module=tests.streams.deadly_daemon pyspark-shell",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)]),
            "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1",
        }
        place = ["--data", str(self.store), "--checkpoint", str(self._folder / self.checkpoint)]
        command = [str(Path(sys.executable).with_name("conjoin")), "ingest", str(self.incoming), *place, *options]
        with self.out.open("wb") as out:
            return subprocess.Popen(
                ["/bin/sh", "-c", f'export {DRIVER}=$$; exec "$@"', "sh", *command],
                env={**os.environ, **settings, **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def taken(self) -> int:
        return sum(_count(self.store / f"shard-{shard:02}.db") for shard in range(SHARDS))

    def rows_in(self) -> int:
        return self.files * (ROWS + 1)

    def check(self) -> None:
        """Every row is there once, as a message or a dead letter, and whoever waited has got what was sent."""
        with closing(open_broker(self.store)) as broker:
            broker.tick()
            messages = list(broker.store.rows(t.MESSAGE, {}, None, 10 * self.rows_in()))
            letters = Counter(row.part for row in broker.store.rows(t.DEAD_LETTER, {}, None, 10 * self.files))
            instances = Counter(row.state for row in broker.store.rows(t.INSTANCE, {}, None, 10 * self.rows_in()))
        asked = [row for number in range(self.files) for row in rows_of(number)]
        found = Counter(json.loads(row.variables)["n"] for row in messages)
        wrong = {row["variables"]["n"]: found[row["variables"]["n"]] for row in asked}
        assert {n: times for n, times in wrong.items() if times != 1} == {}
        assert found.total() == len(asked)
        assert sorted(letters.values()) == [1] * self.files
        assert instances == {"completed": self.files * WAITING}
        assert sum(row.verdict == "correlated" for row in messages) == 2 * self.files * WAITING


def rows_of(number: int) -> list[dict[str, Any]]:
    """Of one file."""
    keys = [(f"{letter}-{number}-{pair}", name) for pair in range(WAITING) for letter, name in _WAITED]
    keys += [(f"o-{number}-{row % 50}", "noted") for row in range(ROWS - len(keys))]
    return [
        {"name": name, "key": key, "ttl": "1h", "variables": {"n": f"{number}/{row}"}}
        for row, (key, name) in enumerate(keys)
    ]


_WAITED = (("b", "shipped"), ("a", "paid"))


def _count(shard: Path) -> int:
    with closing(sqlite3.connect(f"file:{shard}?mode=ro", uri=True)) as connection:
        rows = connection.execute("select (select count(*) from message) + (select count(*) from dead_letter)")
        return int(rows.fetchone()[0])


def end(process: "subprocess.Popen[bytes]") -> None:
    """Whatever is left of it; its workers end when they notice."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(PATIENCE_S)
