"""The command: versions, helps, and errors that are sentences."""

import subprocess
import sys
from pathlib import Path

import pytest

from conjoin import __version__, runs_as
from conjoin.cli.main import run
from conjoin.cli.spark.correlate import with_flags
from conjoin.errors import PolicyError
from conjoin.settings import Settings

NEEDED = ["--messages", "m.jsonl", "--subscriptions", "s.jsonl", "--out", "out"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for key in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"CONJOIN_{key.upper()}", raising=False)


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"conjoin {__version__} ({runs_as})\n"


def test_help_teaches_the_tables_and_the_next_day(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["correlate", "--help"]) == 0
    told = capsys.readouterr().out
    for word in ("published_at*", "opened_at*", "dead_letters", "--after result", "--since", "--overwrite"):
        assert word in told


def test_missing_option_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["correlate", "--out", "x"]) == 2
    assert "--messages" in capsys.readouterr().err


def test_missing_files_are_all_named_before_spark_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["correlate", *NEEDED]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "conjoin: --messages: m.jsonl: there is no such file or folder",
        "conjoin: --subscriptions: s.jsonl: there is no such file or folder",
    ]


def test_out_that_holds_something_is_not_touched_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    Path("out/kept.txt").write_text("mine", encoding="utf-8")
    assert run(["correlate", *NEEDED]) == 2
    assert "conjoin: --out: out is not empty; --overwrite replaces" in capsys.readouterr().err


def test_run_does_not_read_from_the_folder_it_writes_to(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out/open").mkdir(parents=True)
    arguments = ["--messages", "out/open", "--subscriptions", "out/open", "--out", "out", "--overwrite"]
    assert run(["correlate", *arguments]) == 2
    assert "out/open lies in --out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--profile", "zebee"], "conjoin: flag --profile: profile = 'zebee'"),
        (["--format", "xml"], "conjoin: flag --format: format = 'xml'"),
        (["--policy", "ttl=1h"], "conjoin: flag --policy: 'ttl=1h' is not like NAME:QUESTION=ANSWER"),
    ],
)
def test_wrong_flags_are_one_line_each(flags: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["correlate", *NEEDED, *flags]) == 2
    error = capsys.readouterr().err
    assert error.startswith(told)
    assert "Traceback" not in error


def test_policies_of_flags_go_over_those_of_the_settings() -> None:
    settings = {"*": {"time_to_live": "1h"}, "Paid": {"dedup": "7d"}}
    flags = ["Paid:dedup=off", "Paid:expected=2", "a:b:cardinality=all"]
    assert with_flags(settings, flags) == {
        "*": {"time_to_live": "1h"},
        "Paid": {"dedup": "off", "expected": 2},
        "a:b": {"cardinality": "all"},
    }
    assert settings["Paid"] == {"dedup": "7d"}
    with pytest.raises(PolicyError):
        with_flags({}, ["Paid:dedup="])


def test_without_spark_the_extra_is_named() -> None:
    script = """
import sys
sys.modules["pyspark"] = None
from conjoin.cli.main import run
sys.exit(run(sys.argv[1:]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, "correlate", *NEEDED, "--engine", "spark"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == "conjoin: conjoin spark correlate needs Apache Spark: pip install 'conjoin[spark]'\n"
    assert done.returncode == 2


def test_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    for name in ("m.jsonl", "s.jsonl"):
        Path(name).touch()
    monkeypatch.setattr("conjoin.cli.invocation.CommandCall.spark", interrupted)
    assert run(["correlate", *NEEDED, "--engine", "spark"]) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        *(["create", "p", "--tenant", "a\udcff"], ["signal", "s", "--tenant", "\udcff"], ["activate", "t\udc80"]),
        *(["explain", "--name", "\udcff"], ["explain", "-9223372036854775809"], ["cancel", "--", "-1"]),
        *(["messages", "--since", "9223372036854775807"], ["messages", "--until", "P99999999D"]),
        *(["tick", "--every", "9223372036854775807"], ["notices", "watch", "--every", "99999999999d"]),
        *(["publish", "x", "--ttl", "9" * 60_000], ["publish", "x", "--ttl", "1" + " " * 60_000 + "x"]),
    ],
)
def test_what_is_typed_wrong_is_a_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init"]) == 0
    assert run(arguments) in (0, 1, 2)
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    assert len(told.err) < 1_000


def test_folder_whose_name_no_system_knows_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    Path("conjoin.toml").write_text('data = "a\\u0000b"\n', encoding="utf-8")
    assert run(["status"]) == 2
    assert capsys.readouterr().err == "conjoin: 'a\\x00b' is no name that a folder can have\n"


def test_bytes_that_are_no_text_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init"]) == 0
    assert run(["create", "p", "--tenant", "a\udcff"]) == 2
    assert "'a\\udcff' is no text in UTF-8" in capsys.readouterr().err
