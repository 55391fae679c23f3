"""Values that no store can hold, without a server: commands name them, and go on with the rest."""

import json
import subprocess
import sys
import time
from pathlib import Path

from tests.gateway.robust.nasty_models import nasty_model
from tests.gateway.robust.serving import COMMAND
from tests.gateway.robust.test_nasty_values import GOOD_MODELS

ENDLESS = "1e99999999999999999999999"
LONGEST_S = 300
GOOD_ROW = '{"name":"x","key":"k","ttl":"1h"}'
BAD_ROWS = [
    f'{{"name":"x","key":"k","variables":{{"n":{ENDLESS}}}}}',
    '{"name":"x","ttl":1e1000000}',
    '{"name":"x","ttl":1e5000}',
    '{"name":"x","published_at":1e30}',
]


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *COMMAND, *arguments, "--data", "store"],
        **{"cwd": folder, "capture_output": True, "text": True, "timeout": LONGEST_S},
    )


def listed(folder: Path, what: str) -> list[object]:
    return list(map(json.loads, command(folder, what, "list", "--json").stdout.splitlines()))


def test_publish_from_a_file_names_bad_lines_and_sends_the_others(tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text("\n".join([GOOD_ROW, *BAD_ROWS, GOOD_ROW]))
    command(tmp_path, "init").check_returncode()
    done = command(tmp_path, "publish", "--file", "lines.jsonl")
    said = done.stderr + done.stdout
    assert "Traceback" not in said
    assert all(f"lines.jsonl:{number}: " in said for number in range(2, 2 + len(BAD_ROWS)))
    assert len(listed(tmp_path, "messages")) == 2


def test_rows_of_a_file_that_cannot_be_stored_are_dead_letters_and_the_others_messages(tmp_path: Path) -> None:
    """On Spark, where one of them ended the run, and the next one, too."""
    (tmp_path / "rows.jsonl").write_text("\n".join([GOOD_ROW, *BAD_ROWS, GOOD_ROW]))
    command(tmp_path, "init").check_returncode()
    done = command(tmp_path, "ingest", "rows.jsonl", "--once")
    assert done.returncode == 0, done.stderr[-2_000:]
    assert len(listed(tmp_path, "messages")) == 2
    assert len(listed(tmp_path, "dead-letters")) == len(BAD_ROWS)


def test_what_is_due_is_done_beside_a_poison(tmp_path: Path) -> None:
    """What waits behind the timer of one instance cannot be stored."""
    models = (nasty_model("retries", "timer"), *GOOD_MODELS)
    for name, content in models:
        (tmp_path / f"{name}.bpmn").write_bytes(content)
    for arguments in (
        ("init",),
        ("deploy", *(f"{name}.bpmn" for name, _ in models)),
        ("create", "retries-timer", "--variables", '{"n":11111111111111111111}'),
        ("create", "good-timer"),
    ):
        command(tmp_path, *arguments).check_returncode()

    def is_over() -> bool:
        done = command(tmp_path, "tick")
        assert (done.returncode, done.stderr) == (0, "")
        return len(listed(tmp_path, "incidents")) == len(listed(tmp_path, "jobs")) == 1

    give_up = time.monotonic() + LONGEST_S
    while not is_over():
        assert time.monotonic() < give_up
