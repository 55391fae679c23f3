"""Tables of the page: every figure stands in one, under an id by which it is found again."""

from collections.abc import Iterable, Sequence
from typing import Any

from conjoin.kernel.verdicts.sentences import duration
from conjoin.markup import Markup, tag
from conjoin.pipeline.report.words import shown_at


class Ms(int):
    """A duration."""


class At(int):
    """An instant."""


class Share(float):
    """A part of a whole, drawn as a bar."""


def table(id_: str, headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> Markup:
    """Numbers stand right; what they are exactly is in `data-value`."""
    body = [tag("tr", *map(_cell, row)) for row in rows]
    if not body:
        return tag("p", "None.", id=id_, class_="none")
    head = tag("tr", *(tag("th", heading) for heading in headings))
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body), id=id_), class_="wide")


def folded(id_: str, headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> Markup:
    """The table under a plot, for whoever wants the numbers."""
    return tag("details", tag("summary", "The numbers"), table(id_, headings, rows))


def _cell(value: Any) -> Markup:
    if isinstance(value, Share):
        bar = tag("i", style=f"width:{100 * value:.1f}%")
        return tag("td", tag("span", bar, class_="bar"), f"{100 * value:.1f}%", data_value=repr(float(value)))
    if isinstance(value, int):
        return tag("td", _shown(value), class_="number", data_value=int(value))
    return tag("td", value)


def _shown(value: int) -> str:
    if isinstance(value, At):
        return shown_at(value)
    return duration(value) if isinstance(value, Ms) else f"{value:,}"
