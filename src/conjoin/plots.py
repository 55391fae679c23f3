"""Plots as inline SVG: stacked columns, and a line of steps. Colours are classes of the style sheet of the page."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from conjoin.markup import Markup, tag, together

WIDTH, HEIGHT = 960, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 8, 10, 28
_MOST_LABELS = 8
_HALF_LABEL = 50
_LINES = 4
NOTHING = tag("p", "None.", class_="none")
"""Instead of a plot of nothing."""


class ColumnPart(NamedTuple):
    """A part of a column. `kind` is what it is coloured by."""

    kind: str
    label: str
    value: int


class Pillar(NamedTuple):
    label: str
    parts: Sequence[ColumnPart]

    @property
    def height(self) -> int:
        return sum(part.value for part in self.parts)


def stacked(pillars: Sequence[Pillar], title: str) -> Markup:
    """Columns side by side, each made of its parts."""
    if not any(pillar.height for pillar in pillars):
        return NOTHING
    return columns(pillars, title, _some(len(pillars)))


def columns(pillars: Sequence[Pillar], title: str, labelled: Sequence[int]) -> Markup:
    """The same, also of nothing, with a label below those that are named by their numbers."""
    top = _round_top(max(pillar.height for pillar in pillars))
    step = _inner_width() / len(pillars)
    width = min(step * 0.86, 64)
    begin = _LEFT + (step - width) / 2
    bars = [_bar(pillar, begin + step * number, width, top) for number, pillar in enumerate(pillars)]
    return _frame(title, top, [pillar.label for pillar in pillars], labelled, bars)


def steps(points: Sequence[tuple[str, int]], title: str) -> Markup:
    """How much there is up to each point: a line that never falls."""
    most = max((value for _, value in points), default=0)
    if not most:
        return NOTHING
    top = _round_top(most)
    step = _inner_width() / len(points)
    path, dots = "", []
    for number, (label, value) in enumerate(points):
        x, y = _LEFT + step * (number + 0.5), _y(value, top)
        path += f"L{x:.1f} {y:.1f}" if path else f"M{x:.1f} {y:.1f}"
        dots.append(tag("circle", tag("title", f"{label}: {value:,}"), cx=f"{x:.1f}", cy=f"{y:.1f}", r=4))
    line = tag("path", d=path, class_="line")
    labelled = _some(len(points))
    return _frame(title, top, [label for label, _ in points], labelled, [line, tag("g", *dots, class_="dots")])


def legend(kinds: Sequence[tuple[str, str]]) -> Markup:
    """Pairs of a kind and what it is called."""
    return tag("p", *(tag("span", tag("i", class_=f"k-{kind}"), label) for kind, label in kinds), class_="legend")


def _bar(pillar: Pillar, x: float, width: float, top: int) -> Markup:
    rects, below = [], 0
    for part in pillar.parts:
        if part.value:
            low, high = _y(below, top), _y(below + part.value, top)
            title = tag("title", f"{pillar.label} {part.label}: {part.value:,}")
            box = {"x": f"{x:.1f}", "y": f"{high:.1f}", "width": f"{width:.1f}", "height": f"{low - high:.1f}"}
            rects.append(tag("rect", title, **box, class_=f"k-{part.kind}"))
            below += part.value
    return together(*rects)


def _frame(title: str, top: int, labels: Sequence[str], labelled: Sequence[int], drawn: Sequence[Markup]) -> Markup:
    box = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria_label": title}
    return tag("svg", tag("title", title), *_lines(top), *drawn, *_labels(labels, labelled), **box)


def _lines(top: int) -> Iterator[Markup]:
    for number in range(_LINES + 1):
        value = top * number // _LINES
        y = f"{_y(value, top):.1f}"
        yield tag("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="grid")
        yield tag("text", f"{value:,}", x=_LEFT - 8, y=y, class_="scale")


def _labels(labels: Sequence[str], labelled: Sequence[int]) -> Iterator[Markup]:
    step = _inner_width() / len(labels)
    for number in labelled:
        x = min(_LEFT + step * (number + 0.5), WIDTH - _HALF_LABEL)
        yield tag("text", labels[number], x=f"{x:.1f}", y=HEIGHT - 8, class_="label")


def _some(count: int) -> range:
    """As many places as there is room for their labels."""
    return range(0, count, -(-count // _MOST_LABELS))


def _inner_width() -> int:
    return WIDTH - _LEFT - _RIGHT


def _y(value: int, top: int) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / top


def _round_top(most: int) -> int:
    """The next number that divides into round lines."""
    scale = 1
    while True:
        for top in (4, 8, 12, 20, 40):
            if most <= top * scale:
                return top * scale
        scale *= 10
