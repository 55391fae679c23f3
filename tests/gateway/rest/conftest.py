"""A gateway with an inbox on a throw-away store, and an HTTP client of it; each test uses names and keys of its own."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from conjoin.gateway.service import Service
from conjoin.gateway.serving import edges
from conjoin.runtime.inbox.configuration import read_inbox
from conjoin.runtime.inbox.inbox import Inbox
from tests.bpmn.snippets import BEGIN, END, catch, message, model
from tests.gateway.server_thread import QUICK, ServerThread
from tests.testing.order import ORDER

STUCK = model(BEGIN + catch("wait") + END, "begin>wait wait>end", message("paid_message", "stuck", "=missing"))
STUCK = STUCK.replace(b'<process id="order"', b'<process id="stuck"')
PEOPLE = model(
    BEGIN
    + '<userTask id="ask" name="Ask"><extensionElements><zeebe:userTask/>'
    + '<zeebe:assignmentDefinition candidateGroups="=groups"/></extensionElements></userTask>'
    + END,
    "begin>ask ask>end",
).replace(b'<process id="order"', b'<process id="people"')
AT_ONCE = model(BEGIN + END, "begin>end").replace(b'<process id="order"', b'<process id="at-once"')
MODELS = (ORDER, STUCK, PEOPLE, AT_ONCE)


class Rest(httpx.Client):
    """Answers are read; one that is no success is an error, unless it is asked for as a problem."""

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        answer = (
            self.request(method, path, json=body, **more) if body is not None else self.request(method, path, **more)
        )
        assert answer.is_success, (answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def problem(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, str]:
        """Status and detail."""
        if body is not None:
            more["json"] = body
        answer = self.request(method, path, **more)
        assert answer.headers["content-type"] == "application/problem+json", (answer.status_code, answer.text)
        told = answer.json()
        assert set(told) == {"type", "title", "status", "detail", "instance", "requestId"}
        assert (told["type"], told["status"], told["instance"]) == (
            "about:blank",
            answer.status_code,
            path.split("?")[0],
        )
        return answer.status_code, told["detail"]

    def deploy(self, content: bytes, name: str = "model.bpmn", tenant_id: str = "") -> Any:
        answer = self.post(
            "/v2/deployments", files={"resources": (name, content)}, data={"tenantId": tenant_id} if tenant_id else {}
        )
        assert answer.is_success, answer.text
        return answer.json()

    def create(self, process_id: str, variables: dict[str, Any] | None = None, **more: Any) -> str:
        body = {"processDefinitionId": process_id, "variables": variables or {}, **more}
        return str(self.call("POST", "/v2/process-instances", body)["processInstanceKey"])

    def found(self, what: str, filters: dict[str, Any], **more: Any) -> list[Any]:
        return list(self.call("POST", f"/v2/{what}/search", {"filter": filters, **more})["items"])


class RestThread(ServerThread):
    async def _serve(self, runner: Any) -> None:
        self.service = Service(self.broker, runner, self._served.limits)
        settings, channels = read_inbox({"channels": {"orders": {}, "closed": {"enabled": False}}})
        with closing(Inbox(self.broker, settings, channels)) as self.service.inbox:
            async with edges(self.service, self._served) as self.addresses:
                self._ready.set_result(None)
                await self._told.wait()


@pytest.fixture(scope="session")
def rest_server() -> Iterator[RestThread]:
    server = RestThread(3, QUICK)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def rest(rest_server: RestThread) -> Iterator[Rest]:
    with Rest(base_url=rest_server.rest, timeout=30) as client:
        for content in MODELS:
            client.deploy(content)
        yield client
