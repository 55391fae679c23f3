"""A model without a diagram is laid out by the browser: every element is drawn, wherever it leads, with its tokens."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.bpmn.snippets import BEGIN, END, boundary, catch, flow, message, model, service, timer
from tests.console.server import CLAIMS, ConsoleServer

HOSTILE = "&lt;img src=x onerror=alert(1)&gt;"
INSIDE = flow("in", "wait") + flow("wait", "out")
NESTED = model(
    BEGIN
    + f'<subProcess id="inside"><startEvent id="in"/>{catch("wait")}<endEvent id="out"/>{INSIDE}</subProcess>'
    + boundary("late", "inside", timer("timeDuration", "P3D"))
    + service("remind").replace('id="remind"', f'id="remind" name="{HOSTILE}"')
    + END,
    "begin>inside inside>end late>remind remind>remind",
    message("paid_message", "Paid"),
).replace(b'<process id="order"', b'<process id="nested"')


@pytest.fixture(scope="module")
def server() -> Iterator[ConsoleServer]:
    made = ConsoleServer()
    yield made
    made.stop()


def drawn(server: ConsoleServer, page: Any, path: str) -> set[str]:
    page.goto(f"{server.rest}{path}")
    page.locator("[data-drawn]").wait_for()
    return set(page.locator("[data-diagram] g.djs-shape").evaluate_all("all => all.map(it => it.dataset.elementId)"))


def key_of(server: ConsoleServer, process: str) -> int:
    return next(it.key for it in server.broker.definitions.by_key.values() if it.process_id == process)


def test_branches_and_loops_are_drawn_with_the_tokens_of_an_instance(server: ConsoleServer, page: Any) -> None:
    server.deploy(CLAIMS, "claims.bpmn")
    created = server.client.post("/v2/process-instances", json={"processDefinitionId": "claims"}).json()
    shapes = {"begin", "check", "valid", "pay", "ask", "answer", "late", "remind", "end"}
    assert drawn(server, page, f"/console/models/{key_of(server, 'claims')}") >= shapes
    drawn(server, page, f"/console/instances/{created['processInstanceKey']}")
    assert page.locator('[data-container-id="check"] .token').text_content() == "1"


def test_what_is_inside_is_drawn_and_names_are_text(server: ConsoleServer, page: Any) -> None:
    server.deploy(NESTED, "nested.bpmn")
    assert drawn(server, page, f"/console/models/{key_of(server, 'nested')}") >= {"inside", "wait", "late", "remind"}
    assert page.locator("[data-diagram] img").count() == 0


def test_every_process_of_a_file_is_drawn_in_a_pool_of_its_own(server: ConsoleServer, page: Any) -> None:
    second = model(BEGIN + service("pack") + END, "begin>pack pack>end")
    second = second.replace(b'<process id="order"', b'<process id="packing" name="Packing"')
    for name in (b"begin", b"end", b"pack"):
        second = second.replace(b'"%s"' % name, b'"%s2"' % name)
    inner = second[second.index(b"<process") : second.index(b"</process>") + len(b"</process>")]
    both = NESTED.replace(b'<process id="nested"', b'<process id="first"').replace(b"</process>", b"</process>" + inner)
    server.deploy(both, "both.bpmn")
    shapes = {"wait", "late", "remind", "begin", "end", "begin2", "pack2", "end2", "_pool_0", "_pool_1"}
    for process in ("first", "packing"):
        assert drawn(server, page, f"/console/models/{key_of(server, process)}") >= shapes
    assert page.locator("[data-diagram] g.djs-connection").count() == 8
    tops = [page.locator(f'[data-element-id="_pool_{number}"]').first.bounding_box()["y"] for number in (0, 1)]
    assert tops[0] < tops[1]
