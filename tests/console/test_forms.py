"""Forms are taken from our own pages only, and not at all where the console only shows."""

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from conjoin.gateway.guard import Admitted
from conjoin.gateway.service import Service
from conjoin.runtime.client_api.answers import Refusal
from tests.console.server import ConsoleServer

SEND = "/console/send"


class NoModels:
    async def admit(
        self, call: str, headers: Mapping[str, str], service: Service, address: str = ""
    ) -> Admitted | Refusal:
        denied = Refusal("FORBIDDEN", "models are a secret")
        return denied if call == "GET /console/models" else Admitted(service)

    def note(self, who: str, call: str, what: Mapping[str, Any], outcome: str) -> None:
        pass


@pytest.fixture(scope="module")
def counter() -> Iterator[ConsoleServer]:
    """It only shows, and not everything."""
    server = ConsoleServer(True, NoModels())
    yield server
    # A page that follows the figures must not keep the server from stopping.
    with server.client.stream("GET", "/console/events") as stream:
        assert next(stream.iter_lines()).startswith('data: {"figures"')
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 5


def _browser(server: ConsoleServer) -> tuple[httpx.Client, dict[str, str]]:
    """With the cookie and the form of the page."""
    client = httpx.Client(base_url=server.rest, headers={"Origin": server.rest})
    page = client.get(SEND)
    found = re.search(r'name="token" value="([^"]+)"', page.text)
    assert found is not None
    return client, {"token": found[1], "name": "forged", "key": "f-1"}


def _published(server: ConsoleServer) -> int:
    return len(server.client.get("/conjoin/v1/messages", params={"name": "forged"}).json()["items"])


def test_form_with_its_token_is_taken_and_who_sent_it_is_logged(
    shop: ConsoleServer, caplog: pytest.LogCaptureFixture
) -> None:
    client, form = _browser(shop)
    before = _published(shop)
    assert client.post(SEND, data=form).status_code == 303
    assert _published(shop) == before + 1
    assert "console: console: /console/send: 'Sent." in caplog.text


def test_key_is_sent_as_it_was_typed(shop: ConsoleServer) -> None:
    shop.create("returns", orderId="blank-1 ")
    client, form = _browser(shop)
    sent = client.post(SEND, data=form | {"name": "Goods returned", "key": "blank-1 "})
    assert "Correlated: process returns" in client.get(sent.headers["location"]).text


@pytest.mark.parametrize("case", ["no token", "wrong token", "no cookie", "another site", "no origin", "json"])
def test_form_of_somebody_else_is_refused(shop: ConsoleServer, case: str) -> None:
    client, form = _browser(shop)
    before = _published(shop)
    if case == "no token":
        del form["token"]
    if case == "wrong token":
        form["token"] = "x" * len(form["token"])
    if case == "no cookie":
        client.cookies.clear()
    origins = {"another site": "https://example.org", "no origin": "null"}
    headers = {"Origin": origins[case]} if case in origins else {}
    sent = client.post(SEND, json=form) if case == "json" else client.post(SEND, data=form, headers=headers)
    assert sent.status_code in (403, 415)
    assert _published(shop) == before


def test_console_that_only_shows_takes_no_form_but_dry_runs(counter: ConsoleServer) -> None:
    client, form = _browser(counter)
    assert "Send it" not in client.get(SEND).text
    assert client.post(SEND, data=form).status_code == 403
    assert _published(counter) == 0
    assert "would be discarded" in client.post(f"{SEND}/rehearse", data=form).text


def test_guard_of_the_gateway_is_asked(counter: ConsoleServer) -> None:
    refused = counter.client.get("/console/models")
    assert (refused.status_code, "models are a secret" in refused.text) == (403, True)


def test_every_page_forbids_what_is_not_ours(shop: ConsoleServer) -> None:
    for path in ("/", "/console/messages", "/console/messages/7", "/console/send"):
        answer = shop.client.get(path)
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["content-security-policy"].startswith("default-src 'self'")
        assert "unsafe" not in answer.headers["content-security-policy"]
        cookie = answer.headers["set-cookie"].lower()
        assert "samesite=strict" in cookie
        assert "httponly" in cookie


def test_what_is_not_there_is_a_page(shop: ConsoleServer) -> None:
    for path in ("/console/messages/7", "/console/instances/7", "/console/models/7", "/console/inbox/7"):
        answer = shop.client.get(path)
        assert (answer.status_code, "Not found" in answer.text) == (404, True), path
    assert shop.client.get("/console/messages?verdict=nonsense").status_code == 400
    assert shop.client.get("/console/messages?cursor=nonsense").status_code == 400


def test_a_message_sent_again_from_the_page_of_a_lost_one_takes_its_place(shop: ConsoleServer) -> None:
    lost = shop.client.post("/conjoin/v1/messages", json={"name": "Nobody", "key": "again-1"}).json()["message"]["key"]
    client, form = _browser(shop)
    page = client.get(SEND, params={"like": lost, "name": "Nobody", "key": "again-2"}).text
    assert f'name="replaces" value="{lost}" checked' in page
    sent = client.post(SEND, data=form | {"name": "Nobody", "key": "again-2", "replaces": lost})
    assert sent.status_code == 303
    again = sent.headers["location"].rpartition("/")[2]
    assert f"/console/messages/{again}" in client.get(f"/console/messages/{lost}").text
    assert "Sent in place of" in client.get(f"/console/messages/{again}").text
    listed = client.get("/console/messages", params={"verdict": "discarded", "name": "Nobody"}).text
    assert f"/console/messages/{lost}" not in listed
    assert f"/console/messages/{again}" in listed
    taken = client.post(SEND, data=form | {"name": "Nobody", "key": "again-3", "replaces": "7"})
    assert (taken.status_code, "no message with key 7" in taken.text) == (404, True)
