"""axe-core finds nothing serious on any page, in light and dark."""

from pathlib import Path
from typing import Any

import pytest

from tests.console.demo_server import DemoServer
from tests.console.test_screenshots import WIDE, pages

AXE = Path.home() / ".cache/conjoin/axe/axe.min.js"
_SERIOUS = ("serious", "critical")
_ALIKE = ("correlated", "instances", "incidents", "models")
"""Made of what other pages are made of."""


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not there: scripts/setup-chromium fetches it")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(chromium: Any, demo: DemoServer, scheme: str) -> None:
    context = chromium.new_context(viewport=WIDE, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    found = []
    for title, path in pages(demo).items():
        if title in _ALIKE:
            continue
        page.goto(demo.rest + path)
        for diagram in page.locator("[data-diagram]").all():
            diagram.and_(page.locator("[data-drawn]")).wait_for()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        problems = page.evaluate("axe.run(document, {exclude: [['.djs-container']]})")["violations"]
        found += [
            (title, it["id"], [node["html"][:120] for node in it["nodes"][:3]])
            for it in problems
            if it["impact"] in _SERIOUS
        ]
    context.close()
    assert found == []
