"""The sections of a page. Each says one thing, draws it, and gives its numbers; all of them, or of one name alone.

`scope` begins the ids of their tables.
"""

from collections.abc import Callable, Iterable

from conjoin.kernel.verdicts.verdicts import REASONS
from conjoin.kernel.verdicts.words import duration
from conjoin.markup import Markup, tag
from conjoin.pipeline.report import figures as f
from conjoin.pipeline.report import words
from conjoin.pipeline.report.figures import ReportFigures
from conjoin.pipeline.report.words import At, Ms, Share, folded, table
from conjoin.plots import ColumnPart, Pillar, legend, stacked, steps

Section = Callable[[ReportFigures, str], Markup]
_LOWER_BOUND = (
    "Lost are those that expired or were not to be kept, for want of somebody who waited. Of those who came later only"
    " the ones that wait now and the last that did are known, so more may have been saved than is counted here."
)
_ORDER = {verdict: place for place, verdict in enumerate(REASONS)}


def verdicts(figures: ReportFigures, scope: str) -> Markup:
    counts = f.added(((row.at_us, row.verdict), row.messages) for row in figures.hourly)
    known = sorted(figures.verdicts(), key=_ORDER.__getitem__)
    pillars = [
        Pillar(words.shown_at(at), [ColumnPart(verdict, verdict, counts.get((at, verdict), 0)) for verdict in known])
        for at in _instants(figures)
    ]
    by_hour = [[At(at), verdict, counts[at, verdict]] for at, verdict in sorted(counts)]
    return _section(
        f"What became of the messages, by {_width(figures)} of publication",
        legend([(verdict, verdict) for verdict in known]),
        stacked(pillars, "Messages by verdict"),
        table(f"{scope}-reasons", ["verdict", "reason", "messages", "share"], _reasons(figures)),
        folded(f"{scope}-hours", ["from (UTC)", "verdict", "messages"], by_hour),
    )


def _reasons(figures: ReportFigures) -> list[list[object]]:
    counts = f.added(((row.verdict, row.reason), row.messages) for row in figures.hourly)
    total = sum(counts.values())
    ordered = sorted(counts.items(), key=lambda item: (_ORDER[item[0][0]], -item[1], item[0][1]))
    return [
        [tag("span", verdict, class_=f"verdict k-{verdict}"), why.replace("_", " "), n, Share(n / total)]
        for (verdict, why), n in ordered
    ]


def _instants(figures: ReportFigures) -> Iterable[int]:
    """Those without a message, too."""
    at = [row.at_us for row in figures.hourly]
    return range(min(at), max(at) + 1, figures.width_us) if at else ()


def _width(figures: ReportFigures) -> str:
    ms = figures.width_us // 1_000
    return {3_600_000: "hour", 86_400_000: "day", 604_800_000: "week"}.get(ms, duration(ms))


def kept(figures: ReportFigures, scope: str) -> Markup:
    ages = f.columns_added((row.ages for row in figures.kept), len(f.AGES_MS) + 1)
    pillars = [
        Pillar(label, [ColumnPart("buffered", "kept", n)]) for label, n in zip(words.shown_ages(), ages, strict=True)
    ]
    headings = ["name", *words.shown_ages(), "overdue", "half are older than", "oldest"]
    rows = [
        [words.shown_name(row.name), *row.ages, row.overdue, Ms(row.median_ms), Ms(row.oldest_ms)]
        for row in figures.kept
    ]
    return _section(
        "How long messages have been kept that nobody has taken yet",
        stacked(pillars, "Kept messages by age"),
        folded(f"{scope}-kept", headings, rows),
    )


def time_to_live(figures: ReportFigures, scope: str) -> Markup:
    sentences = [*map(words.advice, figures.lost), *map(words.patience, figures.waited)]
    saved = f.columns_added((row.saved for row in figures.lost), len(f.LADDER_MS))
    points = [(duration(step), count) for step, count in zip(f.LADDER_MS, saved, strict=True)]
    waited = [
        [words.shown_name(row.name), row.messages, Ms(row.median_ms), Ms(row.most_ms), Ms(row.longest_ms)]
        for row in figures.waited
    ]
    return _section(
        "Which time to live would have been enough",
        tag("ul", *(tag("li", sentence) for sentence in sentences or ["Nothing was lost for want of time."])),
        tag("p", _LOWER_BOUND, class_="note"),
        steps(points, "Lost messages that a time to live would have saved, at least"),
        folded(f"{scope}-lost", ["name", "lost", "half had no more than", "time to live", "saves"], _saved(figures)),
        folded(f"{scope}-waited", ["name", "kept and taken", "half within", "95% within", "longest"], waited),
    )


def _saved(figures: ReportFigures) -> list[list[object]]:
    """From the first step that saves one to the last that saves more."""
    return [
        [words.shown_name(row.name), row.messages, Ms(row.had_ms), Ms(step), saved]
        for row in figures.lost
        for before, step, saved in zip((0, *row.saved), f.LADDER_MS, row.saved, strict=False)
        if saved > before or (step == f.LADDER_MS[-1] and not saved)
    ]


def hot_keys(figures: ReportFigures, scope: str) -> Markup:
    rows = [
        [words.shown_name(row.name), row.tenant_id, row.key, row.messages, row.correlated, row.lost]
        for row in figures.hot_keys
    ]
    headings = ["name", "tenant", "correlation key", "messages", "correlated", "lost"]
    return _section(
        "Keys with the most messages",
        tag("p", "Messages of one key are taken one after the other. Keys with one message are left out."),
        table(f"{scope}-keys", headings, rows),
    )


def waiting(figures: ReportFigures, scope: str) -> Markup:
    counts = f.added(((row.arrived, index), count) for row in figures.waiting for index, count in enumerate(row.ages))
    pillars = [
        Pillar(label, [ColumnPart(it, words.ARRIVED[it], counts.get((it, index), 0)) for it in f.ARRIVED])
        for index, label in enumerate(words.shown_ages())
    ]
    long = f"longer than {duration(figures.older_than_ms)}"
    headings = ["name", "process", "element", "what arrived"]
    groups = [
        [words.shown_name(row.name), row.process_id, row.element_id, words.ARRIVED[row.arrived], *row.ages, row.long]
        for row in figures.waiting
    ]
    return _section(
        "Who waits, and what has arrived for them",
        legend([(arrived, words.ARRIVED[arrived]) for arrived in f.ARRIVED]),
        stacked(pillars, "Those who wait, by age"),
        folded(f"{scope}-waiting", [*headings, *words.shown_ages(), long], groups),
        tag("h4", f"The oldest that wait {long}"),
        table(f"{scope}-oldest", [*headings, "instance", "correlation key", "since (UTC)"], _oldest(figures)),
    )


def _oldest(figures: ReportFigures) -> list[list[object]]:
    """Keys of instances are names, not numbers to count with."""
    return [
        [
            *(words.shown_name(row.name), row.process_id, row.element_id, words.ARRIVED[row.arrived]),
            *(str(row.instance_key), row.key, At(row.since_us)),
        ]
        for row in figures.long_waits
    ]


def _section(title: str, *content: Markup) -> Markup:
    return tag("section", tag("h3", title), *content)


SECTIONS: tuple[Section, ...] = (verdicts, time_to_live, waiting, kept, hot_keys)
