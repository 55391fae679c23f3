"""What senders write is hostile: names, keys and variables are shown harmlessly, whatever they hold, however long."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.bpmn.snippets import BEGIN, END, catch, message, model
from tests.console.server import ConsoleServer

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'
RIGHT_TO_LEFT = "\u202eevil\u2067 \u05e9\u05dc\u05d5\u05dd"
TEMPLATE = "{{ 7 * 7 }}${7 * 7}"
LONG = "x" * 1_000_000
NAMES = [SCRIPT, IMAGE, RIGHT_TO_LEFT, TEMPLATE, "javascript:alert(3)"]


@pytest.fixture(scope="module")
def den() -> Iterator[ConsoleServer]:
    server = ConsoleServer()
    for name in NAMES:
        server.publish(name, name, ttl="1h", id=name, variables={name: name})
    server.publish("long", "k" * 30_000, ttl="1h", variables={"long": LONG})
    content = model(BEGIN + catch("wait") + END, "begin>wait wait>end", message("paid_message", "harmless"))
    server.deploy(content.replace(b'<process id="order"', b'<process id="order" name="&lt;b&gt;bold&lt;/b&gt;"'), "a")
    server.bury(IMAGE, text=SCRIPT)
    server.create("order", orderId=SCRIPT, **{IMAGE: LONG, "rtl": RIGHT_TO_LEFT})
    yield server
    server.stop()


def _paths(den: ConsoleServer) -> list[str]:
    messages = den.client.get("/conjoin/v1/messages").json()["items"]
    instance = den.client.post("/v2/process-instances/search", json={}).json()["items"][0]
    return [
        *("/", "/console/messages", "/console/instances", "/console/models", "/console/incidents"),
        *("/console/jobs", "/console/tasks", "/console/server", "/console/dead-letters"),
        *(f"/console/dead-letters/{it['key']}" for it in den.client.get("/conjoin/v1/dead-letters").json()["items"]),
        *(f"/console/messages/{item['key']}" for item in messages),
        f"/console/instances/{instance['processInstanceKey']}",
        f"/console/models/{instance['processDefinitionKey']}",
    ]


def test_nothing_that_was_sent_runs_or_bursts_the_page(page: Any, den: ConsoleServer) -> None:
    for path in _paths(den):
        page.goto(den.rest + path)
        assert page.locator("main img, main script, main b:text('bold')").count() == 0, path
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280, path
        assert len(page.content()) < 300_000, path
    page.goto(den.rest + "/console/messages")
    shown = page.locator("#list").inner_text()
    assert all(name in shown for name in NAMES)
    assert page.locator("#list bdi", has_text=RIGHT_TO_LEFT).count() > 0


def test_hostile_message_can_be_sent_again_from_its_page(page: Any, den: ConsoleServer) -> None:
    key = den.client.get("/conjoin/v1/messages", params={"name": IMAGE}).json()["items"][0]["key"]
    page.goto(f"{den.rest}/console/messages/{key}")
    page.get_by_role("link", name="Publish again").first.click()
    assert page.get_by_label("Name", exact=True).input_value() == IMAGE
    assert page.get_by_label("Correlation key").input_value() == IMAGE


def test_filters_of_an_address_are_shown_as_text(page: Any, den: ConsoleServer) -> None:
    page.goto(f"{den.rest}/console/messages?name=%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(4)%3E")
    assert page.get_by_label("Name", exact=True).input_value() == '"><img src=x onerror=alert(4)>'
    page.goto(f"{den.rest}/console/find?q=%3Cscript%3Ealert(1)%3C/script%3E")
    assert page.locator("#list tbody tr").count() == 1


def test_what_needs_attention_is_text_also_when_it_comes_while_the_page_is_open(page: Any, den: ConsoleServer) -> None:
    page.goto(den.rest)
    page.locator("[data-attention][data-last]").wait_for()
    for _ in range(2):
        den.bury("{}", text=IMAGE + SCRIPT)
    page.locator("[data-attention] p", has_text="onerror").wait_for()
    assert page.locator("main img, main script").count() == 0
