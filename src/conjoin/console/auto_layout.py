"""A model without a diagram section, laid out: columns by how far an element is from the start, as inline SVG.

It is no BPMN layout: nested elements stand beside the others, tied to what they are inside of by a dotted line. Nothing
overlaps, and a large model only becomes a large drawing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from conjoin.console.filters import cut, words

_COLUMN, _ROW = 172, 104
_HALF = {"task": (62, 30), "event": (19, 19), "gateway": (24, 24)}
_SHAPES = {
    "task": Markup('<rect class="shape" x="{}" y="{}" width="124" height="60" rx="9"/>'),
    "event": Markup('<circle class="shape" cx="{}" cy="{}" r="19"/>'),
    "gateway": Markup('<path class="shape" d="M{} {}l24 24l-24 24l-24 -24z"/>'),
}
_NODE = Markup('<g class="node {}"><title>{}</title>{}<text x="{}" y="{}">{}</text>{}</g>')
_TOKEN = Markup(
    '<g class="count {}"><rect x="{}" y="{}" width="{}" height="22" rx="11"/><text x="{}" y="{}">{}</text></g>'
)
_FLOW = Markup('<path class="{}" d="{}" marker-end="url(#arrow)"/>')
_DRAWING = Markup(
    '<svg class="laid-out" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" aria-label="The model, laid out">'
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path class="arrow" d="M0 0L8 4L0 8z"/></marker></defs>{2}</svg>'
)

Place = tuple[int, int]
"""Column and row."""


class Tokens(NamedTuple):
    """By element."""

    here: Mapping[str, int]
    troubled: Mapping[str, int]


def laid_out(elements: Sequence[Mapping[str, Any]], tokens: Tokens) -> Markup:
    places = _places({it["id"]: [*it["next"], *it["holds"]] for it in elements})
    forms = {it["id"]: _form(it["kind"]) for it in elements}
    flows = [flow for it in elements for flow in _flows(it, places, forms)]
    nodes = [_node(it, places[it["id"]], tokens) for it in elements]
    width = (max(column for column, _ in places.values()) + 1) * _COLUMN
    height = (max(row for _, row in places.values()) + 1) * _ROW
    return _DRAWING.format(width, height, Markup("").join([*flows, *nodes]))


class Drawing:
    """Drawn where it is shown: a page is rendered in a reader, and this is most of its work."""

    def __init__(self, elements: Sequence[Mapping[str, Any]], tokens: Tokens) -> None:
        self._elements, self._tokens = elements, tokens

    def __html__(self) -> Markup:
        return laid_out(self._elements, self._tokens)


def _places(links: Mapping[str, Sequence[str]]) -> dict[str, Place]:
    """Each element right of the first that leads to it, in its row if that is free."""
    reached = {target for targets in links.values() for target in targets}
    places: dict[str, Place] = {}
    taken: set[Place] = set()
    waiting = [(it, 0, 0) for it in links if it not in reached] + [(it, 0, 0) for it in links]
    while waiting:
        it, column, row = waiting.pop(0)
        if it in places or it not in links:
            continue
        while (column, row) in taken:
            row += 1
        places[it] = (column, row)
        taken.add((column, row))
        waiting = [(target, column + 1, row) for target in links[it]] + waiting
    return places


def _form(kind: str) -> str:
    return "event" if kind.endswith("_event") else "gateway" if kind.endswith("_gateway") else "task"


def _middle(place: Place) -> Place:
    return place[0] * _COLUMN + _COLUMN // 2, place[1] * _ROW + _ROW // 2


def _flows(it: Mapping[str, Any], places: Mapping[str, Place], forms: Mapping[str, str]) -> Iterator[Markup]:
    for kind in ("next", "holds"):
        for target in it[kind]:
            if target in places:
                (x1, y1), (x2, y2) = _middle(places[it["id"]]), _middle(places[target])
                begin, end = x1 + _HALF[forms[it["id"]]][0], x2 - _HALF[forms[target]][0]
                yield _FLOW.format("flow" if kind == "next" else "flow inside", _way(begin, y1, end, y2))


def _way(x1: int, y1: int, x2: int, y2: int) -> str:
    """Straight, with a step right before its end; back to the left around below."""
    if x2 <= x1:
        below = max(y1, y2) + _ROW // 2 - 6
        return f"M{x1} {y1}h10V{below}H{x2 - 14}V{y2}H{x2}"
    return f"M{x1} {y1}H{x2}" if y1 == y2 else f"M{x1} {y1}H{x2 - 16}V{y2}H{x2}"


def _node(it: Mapping[str, Any], place: Place, tokens: Tokens) -> Markup:
    form, (x, y) = _form(it["kind"]), _middle(place)
    left, top = _HALF[form]
    shape = _SHAPES[form].format(*{"task": (x - left, y - top), "event": (x, y), "gateway": (x, y - top)}[form])
    here = tokens.here.get(it["id"], 0)
    trouble = "troubled" if tokens.troubled.get(it["id"]) else ""
    told = f"{it['name']} ({words(it['kind'])})"
    label_y = y + 4 if form == "task" else y + top + 14
    kind = f"{it['kind']} {'holds-tokens' if here else ''} {trouble}"
    return _NODE.format(
        kind, cut(told), shape, x, label_y, cut(it["name"], 17), _token(here, x - left, y - top, trouble)
    )


def _token(count: int, x: int, y: int, trouble: str) -> Markup:
    if not count:
        return Markup("")
    width = 14 + 8 * len(str(count))
    return _TOKEN.format(trouble, x - width // 2, y - 11, width, x, y + 4, count)
