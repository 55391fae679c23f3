"""What is wrong with the line itself is told before Spark starts: exit code 2 and a sentence."""

from pathlib import Path

import pytest

from conjoin.cli.main import run
from conjoin.settings import Settings


@pytest.fixture(autouse=True)
def _where_spark_may_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("conjoin.pipeline.session.session.session", start)
    for key in [*Settings.model_fields, "config"]:
        monkeypatch.delenv(f"CONJOIN_{key.upper()}", raising=False)
    Path("day.csv").write_text("name,published_at\n", encoding="utf-8")
    Path("waiting.csv").write_text("process_id,name,opened_at\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--policy", "Paid"], "'Paid' is not like NAME:QUESTION=ANSWER"),
        (["--policy", "*:time_to_love=1h"], "time_to_love"),
        (["--policy", "*:time_to_live=soon"], "time_to_live"),
        (["--as-of", "soon"], "--as-of: 'soon' is not a time such as 2026-01-31T08:00:00Z"),
        (["--since", "2026-13-01"], "--since: '2026-13-01' is not a time"),
        (["--since", "2026-02-01", "--as-of", "2026-01-01"], "--since 2026-02-01 is after --as-of 2026-01-01"),
        (["--starts", "nowhere.csv"], "--starts: nowhere.csv: there is no such file or folder"),
        (["--format", "xml"], "xml"),
        (["--partitions", "0"], "partitions"),
        (["--master", "lokal"], "--master: lokal is not local"),
        (["--profile", "zebra"], "zebra"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_line_is_refused_before_spark_starts(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = ["--messages", "day.csv", "--subscriptions", "waiting.csv"]
    assert run(["spark", "correlate", *tables, "--out", "out", *options]) == 2
    told = capsys.readouterr()
    assert words in " ".join(told.err.split())
    assert "Traceback" not in told.err
    assert not Path("out").exists()
