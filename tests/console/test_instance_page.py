"""The page of an instance, and what is counted before it is done to a selection: read without a browser."""

import re
from html import unescape
from typing import Any

import httpx

from conjoin.gateway.queries import store as queries
from conjoin.runtime.reading import lists, paging
from tests.bpmn.snippets import BEGIN, END, extended, model
from tests.console.server import ConsoleServer

CALL = extended("callActivity", "call", '<zeebe:calledElement processId="returns"/>')
OUTER = model(BEGIN + CALL + END, "begin>call call>end")
OUTER = OUTER.replace(b'<process id="order"', b'<process id="outer"')


def text_of(page: httpx.Response) -> str:
    assert page.status_code == 200, page.text
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page.text[page.text.index("<main") :])))


def test_instances_that_call_each_other_are_linked_and_tell_their_history(shop: ConsoleServer) -> None:
    shop.deploy(OUTER, "outer.bpmn")
    outer = shop.create("outer", orderId="call-1")
    shown = shop.client.get(f"/console/instances/{outer}").text
    found = re.search(r'Calls</dt><dd><a class="mono" href="/console/instances/(\d+)"', shown)
    assert found is not None
    called = found[1]
    page = shop.client.get(f"/console/instances/{called}")
    assert f'Called by</dt><dd><a class="mono" href="/console/instances/{outer}"' in page.text
    assert "Goods returned call-1 wait" in text_of(page)
    message = shop.publish("Goods returned", "call-1", variables={"size": "<b>M</b>"})
    page = shop.client.get(f"/console/instances/{called}")
    assert "message wait correlated" in text_of(page)
    assert f'href="/console/messages/{message["message"]["key"]}"' in page.text
    assert "&lt;b&gt;M" in page.text
    assert "left call" in text_of(shop.client.get(f"/console/instances/{outer}"))


def test_history_that_takes_too_long_is_told_as_far_as_it_was_read(shop: ConsoleServer, monkeypatch: Any) -> None:
    key = shop.create("returns", orderId="slow-1")
    shop.publish("Goods returned", "slow-1")
    monkeypatch.setattr("conjoin.console.pages.instances._FIRST_LOOK_S", -1.0)
    page = shop.client.get(f"/console/instances/{key}")
    assert "The log was read up to" in text_of(page)
    assert "completed" not in text_of(page).split("History")[1]
    further = re.search(r'href="([^"]+)#history">Look further', page.text)
    assert further is not None
    assert "completed" in text_of(shop.client.get(unescape(further[1]))).split("History")[1]


def test_search_that_takes_too_long_goes_on_where_it_ended(shop: ConsoleServer, monkeypatch: Any) -> None:
    monkeypatch.setattr(queries, "newest_page", lambda *asked: lists.newest_page(*asked[:-1], 0.0))
    monkeypatch.setattr(paging, "FIRST_RANGE", 10)
    monkeypatch.setattr(paging, "LATER_RANGE", 400)
    path, pages = "/console/messages?variables=orderId+%3D+order-1", 0
    while True:
        page, pages = shop.client.get(path), pages + 1
        assert "No message matches" not in page.text
        if "Order placed" in text_of(page).split("Published")[-1]:
            break
        assert "Nothing so far: all since 20" in text_of(page)
        further = re.search(r'href="([^"]+)">Search further', page.text)
        assert further is not None
        path = unescape(further[1])
    assert pages > 1


def test_selected_messages_of_the_inbox_are_rehearsed_before_anything_is_done(shop: ConsoleServer) -> None:
    for number in range(2):
        shop.receive(id=f"s-{number}", name="Cheque lost", key=f"lost-{number}")
    assert shop.service.inbox is not None
    shop.service.inbox.run()
    shop.receive(id="s-2", name="Cheque lost", key="lost-2")
    items = shop.client.get("/conjoin/v1/inbox?name=Cheque+lost").json()["items"]
    client = httpx.Client(base_url=shop.rest, headers={"Origin": shop.rest})
    token = re.search(r'name="token" value="([^"]+)"', client.get("/console/inbox").text)
    assert token is not None
    chosen = {"selected": [item["key"] for item in items], "token": token[1], "operation": "release"}
    text = text_of(client.post("/console/inbox/rehearse", data=chosen))
    assert "Of the 3 that you have selected: the dry run says that 2 would be changed, 1 left as they are" in text
    states = [item["state"] for item in shop.client.get("/conjoin/v1/inbox?name=Cheque+lost").json()["items"]]
    assert sorted(states) == ["parked", "parked", "waiting"]
    for item in items:
        shop.client.delete(f"/conjoin/v1/inbox/messages/{item['key']}").raise_for_status()
