"""The page: what matters at the top, then every section for all messages, then for each name.

It is one file. Its policy for browsers forbids scripts and requests of any kind, so a name that slipped through the
escaping could still do nothing.
"""

from pathlib import Path

from conjoin.kernel.verdicts.words import duration
from conjoin.markup import Markup, tag
from conjoin.pipeline.report import words
from conjoin.pipeline.report.figures import ReportFigures, Volume
from conjoin.pipeline.report.sections import SECTIONS
from conjoin.pipeline.report.words import Share, table

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write_page(path: Path, figures: ReportFigures, store: str) -> None:
    """It appears when it is whole."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(page_of(figures, store), encoding="utf-8")
    part.replace(path)


def page_of(figures: ReportFigures, store: str) -> str:
    """`store` is how the store is called, without what must not be seen."""
    title = f"Messages of {store}"
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        tag("title", title),
        tag("style", Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8"))),
    )
    body = tag(
        "body",
        _top(figures, title),
        tag("main", _names(figures), *(section(figures, "all") for section in SECTIONS), *_each_name(figures)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _top(figures: ReportFigures, title: str) -> Markup:
    at = [row.at_us for row in figures.hourly]
    since = f"messages since {words.shown_at(min(at))}, " if at else ""
    return tag(
        "header",
        tag("h1", title),
        tag("p", f"{since}as of {words.shown_at(figures.as_of_us)} UTC"),
        tag("div", *_tiles(figures), class_="tiles"),
    )


def _tiles(figures: ReportFigures) -> list[Markup]:
    counts = figures.verdicts()
    total = sum(counts.values())
    share = f"{100 * counts.get('correlated', 0) / total:.1f}%" if total else "none"
    lost = counts.get("expired", 0) + counts.get("discarded", 0)
    long = sum(row.long for row in figures.waiting)
    # Each with its id, its kind and what it counts.
    headlines = [
        ("messages", "", f"{total:,}", "messages"),
        ("correlated", "correlated", share, "correlated"),
        ("buffered", "buffered", f"{counts.get('buffered', 0):,}", "kept, nobody has come yet"),
        ("gone", "expired", f"{lost:,}", "expired or discarded"),
        ("long", "lost", f"{long:,}", f"waiting longer than {duration(figures.older_than_ms)}"),
        ("active", "", f"{figures.active:,}", "active instances"),
        ("incidents", "refused", f"{figures.incidents:,}", "open incidents"),
    ]
    return [
        tag("div", tag("b", value), tag("span", label), id=f"tile-{id_}", class_=f"tile k-{kind}" if kind else "tile")
        for id_, kind, value, label in headlines
    ]


def _names(figures: ReportFigures) -> Markup:
    verdicts = sorted(figures.verdicts())
    rows = [_name_row(figures, volume, place, verdicts) for place, volume in enumerate(figures.volumes)]
    headings = ["name", "messages", "share correlated", *verdicts, "waiting for it"]
    return tag("section", tag("h3", "Message names"), table("all-names", headings, rows))


def _name_row(figures: ReportFigures, volume: Volume, place: int, verdicts: list[str]) -> list[object]:
    counts = figures.only(volume.name).verdicts()
    share = Share(counts.get("correlated", 0) / volume.messages) if volume.messages else ""
    link = tag("a", words.shown_name(volume.name), href=f"#name-{place}")
    return [link, volume.messages, share, *(counts.get(verdict, 0) for verdict in verdicts), volume.waiting]


def _each_name(figures: ReportFigures) -> list[Markup]:
    if len(figures.volumes) < 2:
        return []
    return [
        tag(
            "details",
            tag("summary", tag("h2", words.shown_name(volume.name)), f"{volume.messages:,} messages"),
            *(section(figures.only(volume.name), f"name-{place}") for section in SECTIONS),
            id=f"name-{place}",
            class_="name",
        )
        for place, volume in enumerate(figures.volumes)
    ]
