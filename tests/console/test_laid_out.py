"""A model without a diagram is laid out: everything is drawn once, at a place of its own, whatever leads where."""

import re
from typing import Any

from conjoin.console.auto_layout import Tokens, laid_out

NOWHERE = Tokens({}, {})


def element(id_: str, next_: str = "", holds: str = "", kind: str = "job_task") -> dict[str, Any]:
    return {"id": id_, "name": id_, "kind": kind, "next": next_.split(), "holds": holds.split()}


def corners(drawing: str) -> list[tuple[str, str]]:
    return re.findall(r'<rect class="shape" x="(\d+)" y="(\d+)"', drawing)


def test_loops_branches_and_what_nobody_leads_to_have_places_of_their_own() -> None:
    parts = [
        element("a", "b c"),
        element("b", "d"),
        element("c", "d", "e"),
        element("d", "a d"),
        element("e", "c"),
        element("alone"),
        element("circle", "round"),
        element("round", "circle"),
    ]
    drawing = str(laid_out(parts, NOWHERE))
    assert len(set(corners(drawing))) == len(parts)
    assert drawing.count('class="flow"') == 9
    assert drawing.count('class="flow inside"') == 1


def test_names_are_text_and_tokens_are_told() -> None:
    hostile = element("<script>alert(1)</script>")
    drawing = str(laid_out([hostile, element("b")], Tokens({"b": 12}, {"b": 1})))
    assert "<script" not in drawing
    assert ">12</text>" in drawing
    assert 'class="count troubled"' in drawing
