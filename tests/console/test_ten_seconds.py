"""From the overview to cause and fix in a few clicks: of a lost message, a parked one, an incident, a dead letter."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.console.server import CLAIMS, MODELS, STUCK, ConsoleServer

Page = Any
MOST_CLICKS = 5


@pytest.fixture
def shop() -> Iterator[ConsoleServer]:
    """One trouble at a time, so that the action of the overview leads to it."""
    server = ConsoleServer()
    for path in sorted(MODELS.glob("*.bpmn")):
        server.deploy(path.read_bytes(), path.name)
    server.deploy(STUCK, "returns.bpmn")
    server.deploy(CLAIMS, "claims.bpmn")
    yield server
    server.stop()


class Walk:
    """Clicks on a page, counted."""

    def __init__(self, page: Page, server: ConsoleServer) -> None:
        self.page = page
        self.clicks = 0
        page.goto(server.rest)

    def follow(self, name: str) -> None:
        self._click(self.page.locator("main").get_by_role("link", name=name).first)

    def press(self, name: str) -> None:
        self._click(self.page.locator("main").get_by_role("button", name=name, exact=True))

    def _click(self, it: Any) -> None:
        it.click()
        self.clicks += 1
        assert self.clicks <= MOST_CLICKS

    def troubles(self) -> str:
        return str(self.page.get_by_role("region", name="Needs attention").inner_text())


def overview_says(page: Page, server: ConsoleServer, text: str) -> None:
    """Figures are counted in the background."""
    page.goto(server.rest)
    page.get_by_role("region", name="Needs attention").get_by_text(text).first.wait_for()


def test_nothing_is_wrong_and_the_overview_says_so_without_colour(page: Page, shop: ConsoleServer) -> None:
    walk = Walk(page, shop)
    assert "Nothing: no open incidents" in walk.troubles()
    assert page.locator(".troubles li").count() == 0
    assert page.locator(".tile[class*=' k-']").count() == 0


def test_lost_message_to_its_cause_and_its_fix(page: Page, shop: ConsoleServer) -> None:
    shop.create("returns", orderId="return-7")
    shop.publish("Goods returned", "Return-7", variables={"size": "M"})
    walk = Walk(page, shop)
    assert "1 message lost in the last hour" in walk.troubles()
    assert "nobody waited, and it had no time to live" in walk.troubles()
    walk.follow("See why")
    walk.follow("Goods returned")
    assert "the key differs in case or blanks only" in page.locator("#sentence").inner_text()
    walk.follow("Publish again with key “return-7”")
    assert "it would be correlated" in page.locator("#outcome").inner_text()
    walk.press("Send it")
    assert page.locator("#sentence").inner_text().startswith("Correlated")


def test_parked_message_to_its_cause_and_its_fix(page: Page, shop: ConsoleServer) -> None:
    shop.create("returns", orderId="return-8")
    shop.receive(id="c-1", name="Goods returned", key="RETURN-8", variables={"size": "M"})
    assert shop.service.inbox is not None
    shop.service.inbox.run()
    walk = Walk(page, shop)
    overview_says(page, shop, "1 message parked in the inbox")
    walk.follow("Correct or retry it")
    actions = page.locator(".head .actions").get_by_role("button")
    assert actions.all_inner_texts() == ["Release: retry from the start", "Retry once now", "Delete"]
    assert "Next retry" not in page.locator("main").inner_text()
    walk.follow("Correct the key to “return-8”")
    assert page.get_by_label("Correlation key").input_value() == "return-8"
    walk.press("Correct and retry")
    shop.service.inbox.run()
    page.reload()
    assert page.locator(".sentence").inner_text().startswith("Correlated")


def test_incident_to_its_cause_and_its_fix(page: Page, shop: ConsoleServer) -> None:
    shop.create("returns", reason="does not fit")
    walk = Walk(page, shop)
    overview_says(page, shop, "1 open incident")
    walk.follow("Fix it")
    assert "A value is missing or wrong" in page.locator(".incident").inner_text()
    page.get_by_label("Variables to set first").fill('{"orderId": "return-9"}')
    walk.press("Resolve")
    page.get_by_text("The incident is resolved.").wait_for()
    overview_says(page, shop, "Nothing: no open incidents")


def test_dead_letter_to_its_cause_and_its_fix(page: Page, shop: ConsoleServer) -> None:
    shop.create("returns", orderId="return-10")
    shop.bury('{"name": "Goods returned", "key": "return-10", "ttl": "soon", "variables": {"size": "L"}}')
    walk = Walk(page, shop)
    overview_says(page, shop, "1 dead letter")
    walk.follow("Correct it")
    assert "its time to live cannot be read" in page.locator(".sentence").first.inner_text()
    assert page.get_by_label("Correlation key").input_value() == "return-10"
    page.get_by_label("Time to live").fill("1h")
    walk.press("Test: what would become of it?")
    page.locator("#outcome").get_by_role("heading", name="It would be correlated").wait_for()
    walk.press("Retry it as this message")
    page.get_by_text("The dead letter became this message.").wait_for()
    assert re.search(r"correlated\s+Goods returned", page.locator("#list").inner_text())
    overview_says(page, shop, "Nothing: no open incidents")
