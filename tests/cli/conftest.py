"""The command in an empty folder, with a clock that only the test moves."""

from pathlib import Path

import pytest

from conjoin.runtime.clock import SteadyClock
from conjoin.settings import Settings
from conjoin.testing.clock import FakeClock
from tests.cli.command import Command


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(SteadyClock, "__call__", lambda self: clock())
    return clock


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], clock: FakeClock
) -> Command:
    """In an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for key in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"CONJOIN_{key.upper()}", raising=False)
    return Command(capsys)


@pytest.fixture
def shop(command: Command) -> Command:
    """With a store of three shards, and models that wait for messages, do jobs, let time pass and hear signals."""
    command.makes_a_shop()
    return command
