"""Small files are correlated in the process of the command itself, and nothing of Spark is loaded for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conjoin.cli.main import run
from tests.cli.tabular import write

_RUN = """
import sys
from conjoin.cli.main import run
code = run(sys.argv[1:])
print(code, [name for name in sys.modules if name.partition(".")[0] in ("pyspark", "py4j")])
"""
DAY = [
    {"name": "Paid", "correlation_key": "o-1", "published_at": "2026-01-31T08:00:00Z", "position": 7, "amount": 1.5},
    {"name": "Paid", "correlation_key": "o-2", "published_at": "2026-01-31T08:00:00Z", "position": 8, "amount": 2},
]
WAITING = [{"process_id": "order", "name": "Paid", "correlation_key": "o-1", "opened_at": "2026-01-31T07:00:00Z"}]


def typed(folder: Path, *options: str, script: str = _RUN) -> subprocess.CompletedProcess[str]:
    write(folder / "day.jsonl", DAY, "jsonl")
    write(folder / "waiting.csv", WAITING, "csv")
    line = ["spark", "correlate", "--messages", "day.jsonl", "--subscriptions", "waiting.csv", "--out", "out", *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CONJOIN_")}
    return subprocess.run(
        [sys.executable, "-c", script, *line],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_small_files_need_no_spark(tmp_path: Path) -> None:
    done = typed(tmp_path)
    assert done.stdout.splitlines()[-1] == "0 []", done
    assert "without Spark" in done.stdout
    assert "starting Spark" not in done.stderr
    run = json.loads((tmp_path / "out" / "_run.json").read_bytes())
    assert (run["engine"], run["rows"]["verdicts"], run["rows"]["correlations"]) == ("local", 2, 1)


def test_small_files_are_correlated_where_spark_is_not_installed(tmp_path: Path) -> None:
    absent = 'import sys\nsys.modules["pyspark"] = None\n'
    done = typed(tmp_path, script=absent + _RUN)
    assert done.stdout.splitlines()[-1] == "0 ['pyspark']", done


def test_numbers_stay_numbers(tmp_path: Path) -> None:
    assert typed(tmp_path, "--format", "jsonl").stdout.splitlines()[-1] == "0 []"
    [file] = (tmp_path / "out" / "verdicts").glob("part-*")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert sorted((row["position"], row["amount"]) for row in rows) == [(7, 1.5), (8, 2.0)]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'name,published_at\n"x"y,2026-01-01\n', "line 2"),
        (b"name,published_at\nx,2026-01-01T00:00:00 Europe/Berlin\n", "the zone Europe/Berlin"),
        (b"name,published_at\n\xff,2026-01-01\n", "not UTF-8"),
        (b"name,published_at\nx,2026-01-01\ry,2026-01-01\n", "lines that end in different ways"),
        (b"name,published_at\r\nx,2026-01-01\ny,2026-01-01\r\n", "lines that end in different ways"),
    ],
)
def test_what_might_differ_is_left_to_spark_by_name(
    content: bytes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("odd.csv").write_bytes(content)
    write(Path("waiting.csv"), WAITING, "csv")
    line = ["--messages", "odd.csv", "--subscriptions", "waiting.csv", "--out", "out", "--engine", "local"]
    assert run(["spark", "correlate", *line]) == 2
    told = capsys.readouterr().err
    assert why in told
    assert "--engine spark" in told
    assert not Path("out").exists()
