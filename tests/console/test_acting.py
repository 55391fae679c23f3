"""Forms of the console that act: once, on what was chosen, with what was typed kept, and told as it came out."""

import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import Any

import httpx
import pytest

from tests.console.server import ConsoleServer
from tests.console.test_instance_page import text_of


class Browser:
    """Without scripts: pages and their forms."""

    def __init__(self, server: ConsoleServer) -> None:
        self.http = httpx.Client(base_url=server.rest, headers={"Origin": server.rest}, timeout=30)
        found = re.search(r'name="token" value="([^"]+)"', self.http.get("/console/send").text)
        assert found is not None
        self._token = found[1]

    def submit(self, path: str, **fields: Any) -> httpx.Response:
        return self.http.post(path, data={**fields, "token": self._token})

    def after(self, answer: httpx.Response) -> str:
        assert answer.status_code == 303, text_of(answer)
        return text_of(self.http.get(answer.headers["location"]))


@pytest.fixture(scope="module")
def browser(shop: ConsoleServer) -> Browser:
    return Browser(shop)


def letters(shop: ConsoleServer) -> list[Any]:
    return list(shop.client.get("/conjoin/v1/dead-letters").json()["items"])


def published(shop: ConsoleServer, name: str) -> list[Any]:
    return list(shop.client.get("/conjoin/v1/messages", params={"name": name}).json()["items"])


FIELDS = {"name": "Letter opened", "key": "letter-1", "variables": '{"a": 1}', "ttl": "1h"}


def test_dead_letter_that_is_submitted_twice_and_from_many_sides_is_one_message(
    shop: ConsoleServer, browser: Browser
) -> None:
    key = shop.bury("no json")
    path = f"/console/dead-letters/{key}/retry"
    others = [Browser(shop) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        keys = [f"letter-{number}" for number in range(6)]
        answers = list(pool.map(lambda it, key: it.submit(path, **{**FIELDS, "key": key}), others, keys))
    again = browser.submit(path, **FIELDS)
    assert sorted(it.status_code for it in answers) == [303, 404, 404, 404, 404, 404]
    assert (again.status_code, "it was retried or deleted" in again.text) == (404, True)
    assert len(published(shop, "Letter opened")) == 1


def test_dead_letter_that_cannot_be_a_message_stays_with_what_was_typed(shop: ConsoleServer, browser: Browser) -> None:
    key = shop.bury("<b>no json")
    assert "&lt;b&gt;no json" in browser.http.get(f"/console/dead-letters/{key}").text
    refused = browser.submit(f"/console/dead-letters/{key}/retry", **{**FIELDS, "variables": '{"a": '})
    assert refused.status_code == 400
    assert 'value="letter-1"' in refused.text
    assert "{&#34;a&#34;: </textarea>" in refused.text
    assert [it["key"] for it in letters(shop)] == [str(key)]
    shown = browser.submit(f"/console/dead-letters/{key}/rehearse", **FIELDS)
    assert "it would be buffered" in text_of(shown)
    assert "The dead letter is deleted" in browser.after(browser.submit(f"/console/dead-letters/{key}/delete"))
    assert letters(shop) == []


def test_row_of_a_channel_is_received_by_the_inbox_again_and_once(shop: ConsoleServer, browser: Browser) -> None:
    shop.client.post("/conjoin/v1/inbox/payments", json={"id": "row-1", "key": "row-1"}).raise_for_status()
    [letter] = letters(shop)
    path = f"/console/dead-letters/{letter['key']}"
    assert "Receive it again" in browser.http.get(path).text
    still = browser.submit(f"{path}/retry", row='{"id": "row-1", "key": "row-1"}')
    assert (still.status_code, len(letters(shop))) == (400, 1)
    row = '{"id": "row-1", "name": "Row corrected", "key": "row-1"}'
    assert "The inbox has received the row" in browser.after(browser.submit(f"{path}/retry", row=row))
    assert browser.submit(f"{path}/retry", row=row).status_code == 404
    items = shop.client.get("/conjoin/v1/inbox", params={"name": "Row corrected"}).json()["items"]
    assert (len(items), letters(shop)) == (1, [])
    shop.client.delete(f"/conjoin/v1/inbox/messages/{items[0]['key']}").raise_for_status()


def test_incident_whose_cause_is_still_there_is_not_called_resolved(shop: ConsoleServer, browser: Browser) -> None:
    instance = shop.create("returns", reason="still")
    page = browser.http.get(f"/console/instances/{instance}").text
    found = re.search(r"/incidents/(\d+)/resolve", page)
    assert found is not None
    path = f"/console/instances/{instance}/incidents/{found[1]}/resolve"
    refused = browser.submit(path, variables="{no")
    assert (refused.status_code, ">{no</textarea>" in refused.text) == (400, True)
    again = browser.submit(path, variables='{"orderNumber": 7}')
    assert (again.status_code, "It was tried again, and failed again" in again.text) == (400, True)
    assert '{"orderNumber": 7}</textarea>' in unescape(again.text)
    now = re.search(r"/incidents/(\d+)/resolve", again.text)
    assert now is not None
    done = browser.submit(path.replace(found[1], now[1]), variables='{"orderId": "still-1"}')
    assert "The incident is resolved." in browser.after(done)


def test_incidents_are_resolved_together_and_those_that_fail_again_are_told(
    shop: ConsoleServer, browser: Browser
) -> None:
    instances = [shop.create("returns", reason=f"many {number}") for number in range(3)]
    for instance in instances[:2]:
        scope = f"/v2/element-instances/{instance}/variables"
        shop.client.put(scope, json={"variables": {"orderId": f"many-{instance}"}}).raise_for_status()
    incidents = [
        it["key"] for it in shop.client.get("/conjoin/v1/incidents").json()["items"] if it["instance_key"] in instances
    ]
    nothing = browser.submit("/console/incidents/rehearse", filter_element="wait")
    assert "Nothing is selected" in browser.after(nothing)
    counted = text_of(browser.submit("/console/incidents/rehearse", selected=incidents))
    assert "Resolve 3 incidents?" in counted
    assert "a value is missing or wrong (3)" in counted
    told = browser.after(browser.submit("/console/incidents/resolve", selected=incidents))
    assert "2 of 3 incidents resolved. 1 failed again:" in told
    listed = browser.http.get("/console/incidents").text
    assert [instance in listed for instance in instances] == [False, False, True]
    browser.submit(f"/console/instances/{instances[2]}/cancel")


def test_incidents_have_an_age_and_names_and_are_found_by_what_is_seen(shop: ConsoleServer, browser: Browser) -> None:
    instance = shop.create("returns", reason="aged")
    page = browser.http.get("/console/incidents?type=EXTRACT_VALUE_ERROR&element=wait&process=returns")
    row = next(it for it in re.findall(r"<tr>.*?</tr>", page.text, re.DOTALL) if instance in it)
    assert "A value is missing or wrong" in row
    assert "Returns" in row
    assert "<time" in row
    assert 'value="EXTRACT_VALUE_ERROR" selected' in page.text
    browser.submit(f"/console/instances/{instance}/cancel")


def test_history_names_elements_waits_and_timers(shop: ConsoleServer, browser: Browser) -> None:
    instance = shop.create("claims", sum=500, orderId="claim-77")
    shop.work("check")
    text = text_of(browser.http.get(f"/console/instances/{instance}")).split("History")[1]
    assert re.search(r"\d\d:\d\d:\d\d\.\d{3}", text)
    returned = shop.create("returns", orderId="return-77")
    page = text_of(browser.http.get(f"/console/instances/{returned}"))
    assert "for a message “Goods returned” with key return-77" in page
    browser.submit(f"/console/instances/{instance}/cancel")


def test_jobs_tasks_and_the_server_have_pages(shop: ConsoleServer, browser: Browser) -> None:
    jobs = text_of(browser.http.get("/console/jobs?state=ready"))
    assert "waits for a worker" in jobs
    assert "User tasks" in text_of(browser.http.get("/console/tasks"))
    assert "sweep-0" in text_of(browser.http.get("/console/server"))


def test_messages_are_filtered_by_tenant(shop: ConsoleServer, browser: Browser) -> None:
    shop.publish("Of a tenant", "t-1", tenant="acme")
    assert "Of a tenant" in text_of(browser.http.get("/console/messages?tenant=acme"))
    assert "No message matches" in text_of(browser.http.get("/console/messages?tenant=other"))
    lost = text_of(browser.http.get("/console/messages?lost=yes"))
    assert "discarded" in lost
    assert "its id is known already" not in lost.split("Published")[-1]
