"""An operator finds what went wrong, understands it, and mends it, in a real browser."""

import re
from typing import Any

import pytest

from tests.console.server import ConsoleServer

Page = Any


def test_message_that_nobody_took_is_found_understood_mended_and_correlated(page: Page, shop: ConsoleServer) -> None:
    page.goto(shop.rest)
    page.keyboard.press("/")
    page.keyboard.type("Order-900")
    page.keyboard.press("Enter")
    page.locator("#list").get_by_role("link", name="Money collected").first.click()
    sentence = page.locator("#sentence")
    assert "Buffered: nobody waits for 'Money collected' with key 'Order-900' yet" in sentence.inner_text()
    assert "the key differs in case or blanks only" in sentence.inner_text()
    page.get_by_role("link", name="Publish again with key “order-900”").click()
    assert "it would be correlated" in page.locator("#outcome").inner_text()
    assert '"currency": "EUR"' in page.get_by_label("Variables").input_value()
    assert page.get_by_label("Time to live").input_value() == "2h"
    page.get_by_role("button", name="Send it").click()
    page.get_by_text("Sent. This is what became of it.").wait_for()
    assert page.locator("#sentence").inner_text().startswith("Correlated: process order-to-cash")
    page.locator(".life").get_by_role("link").click()
    page.get_by_role("heading", name="Order to cash").wait_for()
    assert "currency" in page.locator("main").inner_text()


def test_dry_run_changes_with_the_form_and_sends_nothing(page: Page, shop: ConsoleServer) -> None:
    page.goto(f"{shop.rest}/console/send")
    page.get_by_label("Name", exact=True).fill("Nobody knows this")
    page.get_by_label("Correlation key").fill("dry-1")
    page.get_by_role("button", name="Test: what would become of it?").click()
    page.get_by_role("heading", name="It would be discarded").wait_for()
    page.get_by_label("Variables").fill("{no")
    page.get_by_role("button", name="What would become of it?").click()
    page.locator("#outcome").get_by_text("not JSON").wait_for()
    assert shop.client.get("/conjoin/v1/messages", params={"key": "dry-1"}).json()["items"] == []


def test_incident_is_resolved_with_the_variable_that_was_missing(page: Page, shop: ConsoleServer) -> None:
    key = shop.create("returns", reason="too late")
    page.goto(f"{shop.rest}/console/incidents")
    page.get_by_role("link", name=key).click()
    assert "correlation key" in page.locator(".incident").inner_text()
    page.get_by_label("Variables to set first").fill('{"orderId": "return-7"}')
    page.get_by_role("button", name="Resolve").click()
    page.get_by_text("The incident is resolved.").wait_for()
    assert page.locator(".incident").count() == 0
    assert "return-7" in page.get_by_role("region", name="Waits for messages").inner_text()


def test_selection_of_the_inbox_is_counted_and_then_released(page: Page, shop: ConsoleServer) -> None:
    page.goto(f"{shop.rest}/console/inbox?state=parked&name=Cheque+arrived")
    page.get_by_role("button", name="Release…").click()
    page.get_by_text("Nothing is selected").wait_for()
    page.get_by_label("Select all 3 that match").check()
    page.get_by_role("button", name="Release…").click()
    assert page.get_by_role("heading", name="Release 3 messages?").is_visible()
    assert len(shop.client.get("/conjoin/v1/inbox?state=parked").json()["items"]) == 3
    page.get_by_role("button", name="Release 3").click()
    page.get_by_text("release: 3 changed.").wait_for()
    assert shop.client.get("/conjoin/v1/inbox?state=parked").json()["items"] == []


def test_message_of_the_inbox_is_corrected_and_taken(page: Page, shop: ConsoleServer) -> None:
    shop.create("returns", orderId="return-8")
    shop.receive(id="c-1", name="Goods returned", key="return-88", variables={"size": "M"})
    assert shop.service.inbox is not None
    shop.service.inbox.run()
    page.goto(f"{shop.rest}/console/inbox?id=c-1")
    page.locator("#list").get_by_role("link", name="Goods returned").click()
    page.get_by_label("Correlation key").fill("return-8")
    page.get_by_role("button", name="Correct and retry").click()
    page.get_by_text("Corrected; the next run retries it").wait_for()
    shop.service.inbox.run()
    page.reload()
    assert page.locator(".sentence").inner_text().startswith("Correlated")
    assert "by console" in page.locator(".life").inner_text()


def test_overview_follows_what_happens_without_a_reload(page: Page, shop: ConsoleServer) -> None:
    page.goto(shop.rest)
    figure = page.locator("[data-figure=published]")
    before = int(figure.inner_text().replace(",", ""))
    shop.publish("Money collected", "live-1")
    page.wait_for_function(
        "before => Number(document.querySelector('[data-figure=published]').textContent.replace(',', '')) > before",
        arg=before,
    )


def test_list_narrows_while_typing_and_its_address_can_be_shared(page: Page, shop: ConsoleServer) -> None:
    page.goto(f"{shop.rest}/console/messages")
    page.get_by_label("Correlation key").fill("refund-*")
    page.wait_for_url(re.compile(r"/console/messages\?key=refund-"))
    rows = page.locator("#list tbody tr")
    assert rows.count() > 0
    assert all("refund-" in text for text in rows.all_inner_texts())
    page.reload()
    assert page.get_by_label("Correlation key").input_value() == "refund-*"


@pytest.mark.parametrize("what", ["messages", "instances"])
def test_pages_of_a_list_show_everything_once_and_the_newest_first(shop: ConsoleServer, what: str) -> None:
    times, keys, path = [], [], f"/console/{what}"
    while path:
        text = shop.client.get(path).text
        rows = re.findall(r"<tr>.*?</tr>", text, re.DOTALL)[1:]
        keys += [re.findall(rf"/console/{what}/(\d+)", row)[0] for row in rows]
        times += [re.findall(r'datetime="([^"]+)"', row)[0] for row in rows]
        older = re.search(r'href="([^"]+)">Older', text)
        path = older[1].replace("&amp;", "&") if older else ""
    assert len(keys) > 100
    assert len(set(keys)) == len(keys)
    assert times == sorted(times, reverse=True)
    listed = shop.client.get(f"/conjoin/v1/{what}?limit=1000") if what == "messages" else None
    assert listed is None or {item["key"] for item in listed.json()["items"]} == set(keys)
