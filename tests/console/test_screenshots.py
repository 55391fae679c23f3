"""Every page of the demo, light and dark, on a desk and on a phone. SCREENSHOTS=docs/console keeps the pictures."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from conjoin.demo.trade import PAID
from tests.console.demo_server import DemoServer

WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
_LONG = ("messages", "instances")
_ON_PHONE = ("overview", "message", "instance", "incidents")
"""Of which there are pictures."""


def pages(demo: DemoServer) -> dict[str, str]:
    def newest(**filters: str) -> list[Any]:
        asked = {**filters, "limit": 50, "order": "desc"}
        return list(demo.client.get("/conjoin/v1/messages", params=asked).json()["items"])

    def found(what: str, **filters: Any) -> list[Any]:
        return list(demo.client.post(f"/v2/{what}/search", json={"filter": filters}).json()["items"])

    lost = next(it for it in newest(verdict="buffered", name=PAID) if it["correlation_key"].startswith("Order-"))
    taken = newest(verdict="correlated", reason="waiting_instance_later")[0]
    instance = found("process-instances", processDefinitionVersion=2, state="ACTIVE")[-1]
    [vouchers] = found("process-definitions", processDefinitionId="vouchers")
    inbox = demo.client.get("/conjoin/v1/inbox", params={"state": "parked"}).json()["items"][0]
    letter = demo.client.get("/conjoin/v1/dead-letters").json()["items"][0]
    model = f"/console/models/{instance['processDefinitionKey']}"
    return {
        "overview": "/",
        "messages": "/console/messages",
        "message": f"/console/messages/{lost['key']}",
        "correlated": f"/console/messages/{taken['key']}",
        "what-if": f"/console/send?name={quote(PAID)}&key={lost['correlation_key'].lower()}&like={lost['key']}",
        "instances": "/console/instances",
        "instance": f"/console/instances/{instance['processInstanceKey']}",
        "incident": f"/console/instances/{found('incidents')[0]['processInstanceKey']}",
        "incidents": "/console/incidents",
        "models": "/console/models",
        "model": model,
        "versions": f"{model}?with=1",
        "laid-out": f"/console/models/{vouchers['processDefinitionKey']}",
        "inbox": "/console/inbox",
        "inbox-message": f"/console/inbox/{inbox['key']}",
        "dead-letters": "/console/dead-letters",
        "dead-letter": f"/console/dead-letters/{letter['key']}",
        "jobs": "/console/jobs",
        "tasks": "/console/tasks",
        "server": "/console/server",
    }


@pytest.mark.parametrize(("scheme", "size"), [("light", WIDE), ("dark", WIDE), ("light", NARROW)])
def test_every_page_is_drawn(chromium: Any, demo: DemoServer, scheme: str, size: Any, tmp_path: Path) -> None:
    folder = Path(os.environ.get("SCREENSHOTS") or tmp_path)
    name = "phone" if size is NARROW else scheme
    context = chromium.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    for title, path in pages(demo).items():
        page.goto(demo.rest + path)
        for diagram in page.locator("[data-diagram]").all():
            diagram.and_(page.locator("[data-drawn]")).wait_for()
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= size["width"], f"{title} is wider than the screen"
        if size is NARROW and title not in _ON_PHONE:
            continue
        page.screenshot(path=folder / f"{title}-{name}.png", full_page=title not in _LONG and size is WIDE)
    context.close()
    assert complaints == []
