"""The page without Spark: advice, plots, and an empty store."""

import lxml.html
import pytest

from conjoin.markup import Markup, tag
from conjoin.pipeline.report import page_of
from conjoin.pipeline.report.figures import AGES_MS, LADDER_MS, Hourly, LostFigures, ReportFigures, Volume
from conjoin.pipeline.report.words import advice, advised, shown_ages
from conjoin.plots import HEIGHT, WIDTH, ColumnPart, Pillar, stacked, steps

EMPTY = ReportFigures(0, 3_600_000, 3_600_000_000, 0, 0, (), (), (), (), (), (), (), ())
HOUR_US = 3_600_000_000


def saved(**by_step: int) -> tuple[int, ...]:
    """How many are saved from a step of the ladder on."""
    counts = [0] * len(LADDER_MS)
    for step, count in by_step.items():
        for place in range(int(step.removeprefix("at_")), len(counts)):
            counts[place] = count
    return tuple(counts)


def test_the_shortest_time_to_live_is_advised_that_saves_nine_of_ten() -> None:
    assert advised(LostFigures("paid", 100, 0, saved(at_2=8, at_5=9, at_20=10))) == (LADDER_MS[5], 9)
    assert advised(LostFigures("paid", 100, 0, saved(at_2=8, at_20=10))) == (LADDER_MS[20], 10)
    assert advised(LostFigures("paid", 100, 0, saved())) is None


def test_advice_says_when_no_time_to_live_would_help() -> None:
    assert "no time to live would have saved any" in advice(LostFigures("paid", 3, 60_000, saved()))
    assert advice(LostFigures(None, 1_200, 0, saved(at_4=7))) == (
        "other names: 1,200 lost. A time to live of 1 min would have saved at least 7 of them;"
        " half of them had 0 ms or less."
    )


def test_there_is_a_label_for_every_age() -> None:
    assert len(shown_ages()) == len(AGES_MS) + 1
    assert shown_ages()[:2] == ["under 1 min", "1 min to 10 min"]


def test_whatever_is_no_markup_is_escaped() -> None:
    assert tag("b", "<i>", Markup("<i></i>"), 7, title='"&') == '<b title="&quot;&amp;">&lt;i&gt;<i></i>7</b>'


def test_an_empty_store_has_a_page() -> None:
    page = lxml.html.fromstring(page_of(EMPTY, "nothing"))
    assert page.xpath("//h1")[0].text_content() == "Messages of nothing"
    assert not page.xpath("//*[local-name() = 'svg']")


def test_hours_without_messages_leave_a_gap() -> None:
    hours = (Hourly("paid", 0, "expired", "nobody_waited", 1), Hourly("paid", 3 * HOUR_US, "correlated", "x", 2))
    figures = ReportFigures(0, 0, HOUR_US, 0, 0, (Volume("paid", 3, 0),), hours, (), (), (), (), (), ())
    page = lxml.html.fromstring(page_of(figures, "shop"))
    labels = [text.text_content() for text in page.xpath("(//*[local-name() = 'svg'])[1]/text[@class='label']")]
    assert labels == [f"1970-01-01 0{hour}:00" for hour in range(4)]


@pytest.mark.parametrize("count", [1, 7, 200])
@pytest.mark.parametrize("most", [1, 9, 41, 123_456])
def test_columns_stay_inside_the_plot_and_stand_on_each_other(count: int, most: int) -> None:
    pillars = [
        Pillar(str(n), [ColumnPart("kept", "a", most * n // count), ColumnPart("lost", "b", most)])
        for n in range(count)
    ]
    plot = lxml.html.fromstring(stacked(pillars, "x"))
    rects = [{name: float(rect.get(name)) for name in ("x", "y", "width", "height")} for rect in plot.xpath("//rect")]
    assert len(rects) == sum(part.value > 0 for pillar in pillars for part in pillar.parts)
    assert min(min(it["x"], it["y"]) for it in rects) >= 0
    assert max(it["x"] + it["width"] for it in rects) <= WIDTH
    assert max(it["y"] + it["height"] for it in rects) < HEIGHT
    by_column: dict[float, float] = {}
    for it in rects:
        assert it["y"] + it["height"] == pytest.approx(by_column.get(it["x"], it["y"] + it["height"]), abs=0.2)
        by_column[it["x"]] = it["y"]


def test_a_line_of_steps_has_a_dot_for_each() -> None:
    plot = lxml.html.fromstring(steps([("1 s", 0), ("1 min", 3), ("1 h", 3)], "x"))
    heights = [float(dot.get("cy")) for dot in plot.xpath("//circle")]
    assert heights[0] > heights[1] == heights[2]
