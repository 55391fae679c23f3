"""Every page, light and dark, on a desk and on a phone. SCREENSHOTS=docs/console keeps the pictures there."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.console.server import ConsoleServer

WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
_LONG = ("messages", "instances")
_ON_PHONE = ("overview", "message", "instance")
"""Of which there are pictures."""


def pages(shop: ConsoleServer) -> dict[str, str]:
    def newest(**filters: str) -> str:
        asked = {**filters, "limit": 1, "order": "desc"}
        return str(shop.client.get("/conjoin/v1/messages", params=asked).json()["items"][0]["key"])

    incident = shop.client.post("/v2/incidents/search", json={}).json()["items"][0]["processInstanceKey"]
    filters = {"filter": {"processDefinitionId": "order-to-cash", "state": "ACTIVE"}}
    instance = shop.client.post("/v2/process-instances/search", json=filters).json()["items"][-1]
    inbox = shop.client.get("/conjoin/v1/inbox").json()["items"][0]["key"]
    lost = newest(key="Order-900")
    return {
        "overview": "/",
        "messages": "/console/messages",
        "message": f"/console/messages/{lost}",
        "correlated": f"/console/messages/{newest(verdict='correlated', reason='waiting_instance')}",
        "what-if": f"/console/send?name=Money%20collected&key=order-900&like={lost}",
        "instances": "/console/instances",
        "instance": f"/console/instances/{instance['processInstanceKey']}",
        "incident": f"/console/instances/{incident}",
        "incidents": "/console/incidents",
        "models": "/console/models",
        "model": f"/console/models/{instance['processDefinitionKey']}",
        "laid-out": f"/console/models/{_model(shop, 'claims')}",
        "inbox": "/console/inbox",
        "inbox-message": f"/console/inbox/{inbox}",
    }


def _model(shop: ConsoleServer, process_id: str) -> str:
    found = shop.client.post("/v2/process-definitions/search", json={"filter": {"processDefinitionId": process_id}})
    return str(found.json()["items"][0]["processDefinitionKey"])


@pytest.mark.parametrize(("scheme", "size"), [("light", WIDE), ("dark", WIDE), ("light", NARROW)])
def test_every_page_is_drawn(chromium: Any, shop: ConsoleServer, scheme: str, size: Any, tmp_path: Path) -> None:
    folder = Path(os.environ.get("SCREENSHOTS") or tmp_path)
    name = "phone" if size is NARROW else scheme
    context = chromium.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    for title, path in pages(shop).items():
        page.goto(shop.rest + path)
        for diagram in page.locator("[data-diagram]").all():
            diagram.and_(page.locator("[data-drawn]")).wait_for()
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= size["width"], f"{title} is wider than the screen"
        if size is NARROW and title not in _ON_PHONE:
            continue
        page.screenshot(path=folder / f"{title}-{name}.png", full_page=title not in _LONG and size is WIDE)
    context.close()
    assert complaints == []
