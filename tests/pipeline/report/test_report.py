"""The page says what the tables of the store say, and strangers' names and keys stay text."""

import contextlib
import io
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lxml.html
import pytest

from conjoin.cli.main import run
from conjoin.runtime.clock import SteadyClock
from tests.pipeline.report.expected import Expected
from tests.pipeline.report.stories import HOSTILE, HOSTILE_KEY, MINUTE_MS, tell_days

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOST = "one arrived and was lost: publish it again"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Report:
    """The page as a browser reads it, what the command said, and what the page should say."""

    def __init__(self, page: Path, said: str, expected: Expected) -> None:
        self.page, self.said, self.expected = page, said, expected
        self.tree = lxml.html.fromstring(page.read_text(encoding="utf-8"))

    def table(self, id_: str) -> list[list[Any]]:
        """The cells of a table: exact numbers, and texts."""
        [table] = self.tree.xpath("//table[@id=$id]", id=id_)
        return [[_value(cell) for cell in row.xpath("td")] for row in table.xpath("tbody/tr")]

    def tile(self, id_: str) -> str:
        [tile] = self.tree.xpath("//div[@id=$id]/b", id=f"tile-{id_}")
        return str(tile.text_content())

    def scope_of(self, name: str) -> str:
        """The beginning of the ids of what is about one name."""
        [link] = [it for it in self.tree.xpath("//table[@id='all-names']//a") if it.text_content() == name]
        return str(link.get("href")).removeprefix("#")


def _value(cell: Any) -> Any:
    exact = cell.get("data-value")
    if exact is None:
        return cell.text_content()
    return float(exact) if "." in exact else int(exact)


@pytest.fixture(scope="module")
def report(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Made by the command, at the instant at which the stories end."""
    folder = tmp_path_factory.mktemp("report")
    broker = tell_days(folder / "<b>shop")
    now = broker.now
    broker.close()
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said):
        patch.setattr(SteadyClock, "__call__", lambda self: now)
        assert run(["report", "--out", str(folder / "report.html"), "--data", str(folder / "<b>shop")]) == 0
    expected = Expected(str(folder / "<b>shop"), EPOCH + timedelta(microseconds=now))
    return Report(folder / "report.html", said.getvalue(), expected)


def at(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


@pytest.mark.parametrize("name", [None, "paid", HOSTILE])
def test_verdicts_are_those_of_the_table_by_reason_and_hour(report: Report, name: str | None) -> None:
    scope = "all" if name is None else report.scope_of(name)
    reasons = {(verdict, reason): count for verdict, reason, count, _ in report.table(f"{scope}-reasons")}
    assert reasons == report.expected.reasons(name)
    total = sum(reasons.values())
    assert {row[2] / total for row in report.table(f"{scope}-reasons")} == {
        row[3] for row in report.table(f"{scope}-reasons")
    }
    hours = {(at(since), verdict): count for since, verdict, count in report.table(f"{scope}-hours")}
    assert hours == report.expected.hours(name)
    assert len({since for since, _ in hours}) > 1


def test_the_names_are_listed_with_their_counts(report: Report) -> None:
    listed = {row[0]: row[1] for row in report.table("all-names")}
    assert listed == Counter(row["name"] for row in report.expected.messages)
    assert report.tile("messages") == str(len(report.expected.messages))
    gone = sum(row["verdict"] in ("expired", "discarded") for row in report.expected.messages)
    assert report.tile("gone") == str(gone)
    assert report.tile("active") == str(report.expected.active)
    assert report.tile("incidents") == "1"


def test_kept_messages_have_their_ages(report: Report) -> None:
    found = {row[0]: tuple(row[1:]) for row in report.table("all-kept")}
    assert found == report.expected.kept()
    assert found["paid"][-3] == 1


def test_the_busiest_keys_are_listed(report: Report) -> None:
    expected = report.expected.busy_keys()
    assert {(row[0], row[2]): row[3] for row in report.table("all-keys")} == expected
    assert expected[HOSTILE, HOSTILE_KEY] == 2


def test_how_long_messages_waited_is_told(report: Report) -> None:
    [(name, count, median, most, longest)] = report.table("all-waited")
    waits = report.expected.waited()[name]
    assert (count, median, most, longest) == (len(waits), waits[0], waits[-1], waits[-1])
    assert waits == [10_000, 90_000]


def test_a_time_to_live_saves_those_for_whom_somebody_came_in_time(report: Report) -> None:
    """Gaps of 1, 5, 5 and 20 minutes; a message is gone at its deadline, so the next longer step saves it."""
    rows = [row for row in report.table("all-lost") if row[0] == "paid"]
    assert {row[1] for row in rows} == {report.expected.lost()["paid"]}
    assert [(ttl, saved) for *_, ttl, saved in rows] == [
        (2 * MINUTE_MS, 1),
        (10 * MINUTE_MS, 3),
        (30 * MINUTE_MS, 4),
    ]
    assert {row[0]: row[1] for row in report.table("all-lost")} == report.expected.lost()
    advice = report.tree.xpath("//li")[0].text_content()
    lost = f"'paid': {report.expected.lost()['paid']} lost."
    assert advice.startswith(
        f"{lost} A time to live of 30 min would have saved at least 4 of them; half of them had 2 min"
    )


def test_those_who_wait_are_told_with_what_arrived_for_them(report: Report) -> None:
    rows = report.table("all-waiting")
    arrived = Counter({row[3]: sum(row[4:-1]) for row in rows})
    expected = report.expected.arrived()
    assert arrived == Counter(what for _, what in expected.elements())
    assert expected["near1", "one arrived with almost this key"] == expected["at once", LOST] == 1
    assert tuple(map(sum, zip(*(row[4:-1] for row in rows), strict=True))) == report.expected.waiting_ages()
    assert len(arrived) == 4
    oldest = report.table("all-oldest")
    assert Counter((row[5], row[3]) for row in oldest) == expected - Counter([("young", "nothing arrived")])
    assert report.tile("long") == str(sum(row[-1] for row in rows)) == str(len(oldest))


def test_names_and_keys_of_strangers_are_text(report: Report) -> None:
    text = report.page.read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert HOSTILE_KEY not in text
    assert not report.tree.xpath("//script | //img | //*[@onload or @onerror] | //h1/b")
    assert any(cell.text_content() == HOSTILE_KEY for cell in report.tree.xpath("//td"))
    assert report.tree.xpath("//h1")[0].text_content().endswith("/<b>shop")


def test_the_page_asks_for_nothing_from_elsewhere(report: Report) -> None:
    text = report.page.read_text(encoding="utf-8")
    assert not report.tree.xpath("//*[@src] | //link | //iframe | //form")
    assert all(link.startswith("#name-") for link in report.tree.xpath("//@href"))
    assert not re.search(r"url\(|@import", report.tree.xpath("//style")[0].text_content())
    assert "default-src 'none'" in text


def test_every_plot_has_its_numbers_in_a_table(report: Report) -> None:
    for section in report.tree.xpath("//section[.//*[local-name() = 'svg']]"):
        assert section.xpath(".//table"), section.text_content()[:80]
    bars = report.tree.xpath("(//section[.//table[@id='all-hours']])[1]//*[local-name() = 'rect']/*")
    told = [bar.text_content() for bar in bars]
    shown = [f"{at(since):%Y-%m-%d %H:%M} {verdict}: {count:,}" for since, verdict, count in report.table("all-hours")]
    assert sorted(told) == sorted(shown)


def test_the_command_says_where_the_page_is(report: Report) -> None:
    count = len(report.expected.messages)
    assert report.said.startswith(f"{count} messages: buffered 4, correlated 6, discarded 2, expired 7, refused 1")
    assert report.said.endswith(f"wrote {report.page}\n")


def test_what_is_wrong_is_said_before_spark_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--out", str(tmp_path), "--older-than", "long"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"conjoin: --out: {tmp_path} is a folder: name a file, such as {tmp_path}/report.html",
        "conjoin: --older-than: 'long' is no duration, such as 30m, 1h or 7d",
    ]
    assert run(["report", "--out", str(tmp_path / "no/report.html"), "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"conjoin: --out: there is no folder {tmp_path}/no\n"
    assert run(["report", "--out", str(tmp_path / "report.html"), "--data", str(tmp_path / "no")]) == 2
    assert "there is no store in" in capsys.readouterr().err
