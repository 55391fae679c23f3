"""How figures are shown: instants, durations, codes and names, the advice that follows from the gaps, and tables. Every
figure of the page stands in a table, under an id by which it is found again.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from conjoin.kernel.verdicts.words import duration
from conjoin.markup import Markup, tag
from conjoin.pipeline.report.figures import AGES_MS, LADDER_MS, LostFigures, Name, Waited
from conjoin.times.iso8601 import instant_text

ENOUGH = 0.9
"""The shortest time to live is advised that saves so many of those that the longest would save."""
ARRIVED = {
    "lost": "one arrived and was lost: publish it again",
    "kept": "one is kept, but not for this instance",
    "taken": "one arrived, and was taken before",
    "other_key": "one arrived with almost this key",
    "nothing": "nothing arrived",
}


def shown_at(us: int) -> str:
    """To the minute, in UTC."""
    return instant_text(us)[:16].replace("T", " ")


def shown_name(name: Name) -> str:
    return "other names" if name is None else name


def shown_ages() -> list[str]:
    edges = [duration(edge) for edge in AGES_MS]
    between = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [f"under {edges[0]}", *between, f"over {edges[-1]}"]


def advised(lost: LostFigures) -> tuple[int, int] | None:
    """The shortest time to live that saves enough, and how many it saves; None if none does anything."""
    if not lost.saved[-1]:
        return None
    index = next(index for index, saved in enumerate(lost.saved) if saved >= ENOUGH * lost.saved[-1])
    return LADDER_MS[index], lost.saved[index]


def advice(lost: LostFigures) -> str:
    begin = f"{_quoted(lost.name)}: {lost.messages:,} lost."
    found = advised(lost)
    if found is None:
        return f"{begin} Nobody is known to have waited for one of them later: no time to live would have saved any."
    ttl_ms, saved = found
    had = f"half of them had {duration(lost.had_ms)} or less"
    return f"{begin} A time to live of {duration(ttl_ms)} would have saved at least {saved:,} of them; {had}."


def patience(waited: Waited) -> str:
    return (
        f"{_quoted(waited.name)}: {waited.messages:,} came early, were kept and taken; half of them within"
        f" {duration(waited.median_ms)}, 95% within {duration(waited.most_ms)}, the last after"
        f" {duration(waited.longest_ms)}."
    )


def _quoted(name: Name) -> str:
    return shown_name(name) if name is None else f"'{name}'"


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
