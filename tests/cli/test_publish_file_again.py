"""conjoin message publish --file, interrupted: it says how far it came; the next run doubles and loses nothing."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conjoin.errors import OutcomeUnknown, StoreFailed
from conjoin.runtime.client_api.file_progress import FileProgress
from conjoin.runtime.run.carriers.sequential import Sequential
from conjoin.store import open_store
from conjoin.store import tables as t
from tests.cli.command import Command

COUNT = 3_500
run = Sequential.run
Fail = Callable[[Sequential, int, Any], Any]


def before(error: BaseException) -> Fail:
    def fail(post: Sequential, shard: int, batch: Any) -> Any:
        raise error

    return fail


def after(error: BaseException) -> Fail:
    def fail(post: Sequential, shard: int, batch: Any) -> Any:
        run(post, shard, batch)
        raise error

    return fail


FAILURES = {
    "full": (before(StoreFailed("shard-01.db: the disk is full")), 2, "the disk is full"),
    "unknown, done": (after(OutcomeUnknown("the disk failed")), 2, "some of them perhaps taken"),
    "unknown, not done": (before(OutcomeUnknown("the disk failed")), 2, "some of them perhaps taken"),
    "Ctrl-C": (before(KeyboardInterrupt()), 130, "interrupted after line"),
    "Ctrl-C after a commit": (after(KeyboardInterrupt()), 130, "interrupted after line"),
}


def write(first: int = 0, name: str = "m.jsonl") -> None:
    lines = [{"name": "paid", "key": f"k-{n}", "ttl": "1h", "variables": {"n": n}} for n in range(first, COUNT)]
    Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def numbers(shop: Command) -> list[int]:
    store = open_store("conjoin-data")
    rows = list(store.rows(t.MESSAGE, {}, None, 10_000))
    store.close()
    return sorted(int(row.correlation_key[2:]) for row in rows)


def interrupt(monkeypatch: pytest.MonkeyPatch, number: int, fail: Fail) -> None:
    """That commit of a file fails, and so do all that follow."""
    commits = 0

    def counted(post: Sequential, shard: int, batch: Any) -> Any:
        nonlocal commits
        commits += 1
        return (fail if commits >= number else run)(post, shard, batch)

    monkeypatch.setattr(Sequential, "run", counted)


@pytest.mark.parametrize("commit", [1, 2, 4])
@pytest.mark.parametrize("failure", FAILURES)
def test_the_same_command_goes_on_where_it_stopped(
    shop: Command, monkeypatch: pytest.MonkeyPatch, failure: str, commit: int
) -> None:
    fail, code, text = FAILURES[failure]
    write()
    with monkeypatch.context() as patch:
        interrupt(patch, commit, fail)
        said = shop("publish --file m.jsonl")
    assert said.code == code
    assert text in said.err
    assert "go on with: conjoin message publish --file m.jsonl --resume " in said.err
    told = shop.json("publish --file m.jsonl")
    assert told["published"] + told.get("taken_before", 0) == COUNT
    assert numbers(shop) == list(range(COUNT))


def test_an_interrupted_run_goes_on_by_its_name_with_a_file_that_was_mended(
    shop: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write()
    with monkeypatch.context() as patch:
        interrupt(patch, 3, FAILURES["full"][0])
        told = json.loads(shop("publish --file m.jsonl --json").out)
    assert told["complete"] is False
    Path("m.jsonl").write_text(Path("m.jsonl").read_text() + '{"name": "paid", "key": "k-3500", "ttl": "1h"}\n')
    shop.json(f"publish --file m.jsonl --resume {told['resume']}")
    assert numbers(shop) == list(range(COUNT + 1))


def test_standard_input_goes_on_by_the_name_of_its_run(shop: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    write()
    content = Path("m.jsonl").read_bytes()
    with monkeypatch.context() as patch:
        interrupt(patch, 2, FAILURES["full"][0])
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert shop("publish --file - --resume monday").code == 2
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    shop.json("publish --file - --resume monday")
    assert numbers(shop) == list(range(COUNT))


def test_a_file_that_is_done_may_be_published_again_on_purpose(shop: Command) -> None:
    Path("m.jsonl").write_text('{"name": "paid", "key": "k-1", "ttl": "1h"}\n')
    for _ in range(2):
        assert shop.json("publish --file m.jsonl")["published"] == 1
    assert numbers(shop) == [1, 1]
    store = open_store("conjoin-data")
    assert not [row for row in store.rows(t.POSITION, {}, None, 99) if row.source == "publish --file"]
    store.close()


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_crash_while_the_notes_of_a_run_go_doubles_nothing(
    shop: Command, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    steps, forget = 0, FileProgress._forget

    def crash(self: FileProgress, *args: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == step:
            raise KeyboardInterrupt
        forget(self, *args)

    write(COUNT - 10)
    with monkeypatch.context() as patch:
        patch.setattr(FileProgress, "_forget", crash)
        assert shop("publish --file m.jsonl").code == 130
    shop("publish --file m.jsonl")
    assert numbers(shop) == list(range(COUNT - 10, COUNT))


def test_resume_needs_a_file(shop: Command) -> None:
    assert shop("publish paid --resume x").err == "conjoin: --resume names a run of --file\n"
