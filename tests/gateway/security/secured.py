"""A gateway that asks who is there, tenants that have the same of everything, and clients with their tokens."""

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from starlette.routing import BaseRoute

from conjoin.console.app import console_routes
from conjoin.gateway.grpc.wire import SERVICE, WIRE
from conjoin.gateway.security.authentication.callers import (
    KnownCaller,
    id_of_token,
    new_token,
    token_hash,
    write_callers,
)
from conjoin.gateway.security.configuration import Security, read_security
from conjoin.gateway.service import Service
from conjoin.gateway.serving import Served, edges
from conjoin.runtime.inbox.configuration import read_inbox
from conjoin.runtime.inbox.inbox import Inbox
from tests.bpmn.snippets import BEGIN, END, catch, message, model
from tests.gateway.grpc_client import HOUR_MS, Client
from tests.gateway.models import with_job, with_message
from tests.gateway.server_thread import ServerThread

STUCK = model(BEGIN + catch("wait") + END, "begin>wait wait>end", message("paid_message", "stuck", "=missing"))
PEOPLE = model(
    BEGIN + '<userTask id="ask"><extensionElements><zeebe:userTask/></extensionElements></userTask>' + END,
    "begin>ask ask>end",
)
MODELS = {
    "stuck": STUCK.replace(b'<process id="order"', b'<process id="stuck"'),
    "people": PEOPLE.replace(b'<process id="order"', b'<process id="people"'),
    "waits": with_message("waits"),
    "works": with_job("works"),
}
EVERYTHING = ["publish", "correlate", "signal", "deploy", "create", "work", "operate", "configure", "read"]


def known(path: Path, roles: Mapping[str, str]) -> dict[str, str]:
    """A token for each name, by name; the file has their hashes."""
    tokens = {name: new_token() for name in roles}
    callers = {
        name: KnownCaller([roles[name]], f"{id_of_token(token)}:{token_hash(token)}") for name, token in tokens.items()
    }
    write_callers(path, callers)
    return tokens


class TokenClient(Client):
    """Of gRPC."""

    def __init__(self, address: str, token: str | None) -> None:
        self._metadata = None if token is None else (("authorization", f"Bearer {token}"),)
        super().__init__(address)

    def _call(self, method: Any) -> Any:
        make = self._channel.unary_stream if method.server_streaming else self._channel.unary_unary
        answer = WIRE[method.output_type.name].FromString
        how = make(f"/{SERVICE}/{method.name}", lambda request: request.SerializeToString(), answer)
        request = WIRE[method.input_type.name]
        return lambda deadline_s=20.0, **fields: how(request(**fields), timeout=deadline_s, metadata=self._metadata)


class Secured(ServerThread):
    def __init__(self, security: Security, tokens: Mapping[str, str]) -> None:
        self.tokens = tokens
        self.console: list[BaseRoute] = []
        guarded = {"guard": security.guard, "tls": security.tls, "pages": self._pages}
        super().__init__(2, Served(grpc_port=0, rest_port=0, sweep_every_s=0.05, **guarded))
        self.broker.hiding = security.hiding

    def _pages(self, gateway: Any) -> list[BaseRoute]:
        self.console = list(console_routes(gateway))
        return self.console

    async def _serve(self, runner: Any) -> None:
        self.service = Service(self.broker, runner, self._served.limits)
        settings, channels = read_inbox({"channels": {"orders": {}}})
        with closing(Inbox(self.broker, settings, channels)) as self.service.inbox:
            async with edges(self.service, self._served) as self.addresses:
                self._ready.set_result(None)
                await self._told.wait()

    def http(self, name: str | None) -> httpx.Client:
        headers = {} if name is None else {"authorization": f"Bearer {self.tokens[name]}"}
        return httpx.Client(base_url=self.rest, headers=headers, timeout=30)

    def calls(self, name: str | None) -> TokenClient:
        return TokenClient(self.grpc, None if name is None else self.tokens[name])


def secured(folder: Path, roles: Mapping[str, Any], **more: Any) -> Secured:
    """Everybody is called as their role; there is an `admin`, too."""
    tokens = known(folder / "callers.json", {name: name for name in (*roles, "admin")})
    audit = str(folder / "audit.jsonl")
    section = {"callers": str(folder / "callers.json"), "audit": audit, "roles": dict(roles), **more}
    return Secured(read_security(section), tokens)


class Facts:
    """What a tenant has: keys by what they are called in addresses."""

    def __init__(self, server: Secured, tenant: str) -> None:
        self.tenant = tenant
        admin = server.calls("admin")
        files = [{"name": f"{name}.bpmn", "content": content} for name, content in MODELS.items()]
        admin.DeployResource(resources=files, tenantId=tenant)
        create = partial(admin.CreateProcessInstance, version=-1, tenantId=tenant)
        variables = f'{{"orderId": "{tenant}-1", "secret": "{tenant}"}}'
        started = {name: create(bpmnProcessId=name, variables=variables).processInstanceKey for name in MODELS}
        published = admin.PublishMessage(name="paid", correlationKey="o", timeToLive=HOUR_MS, tenantId=tenant)
        with server.http("admin") as http:
            self.keys = {"processInstanceKey": started["waits"], "messageKey": published.key} | {
                key: int(self._first(http, what, key))
                for what, key in (
                    ("element-instances", "elementInstanceKey"),
                    ("incidents", "incidentKey"),
                    ("user-tasks", "userTaskKey"),
                    ("variables", "variableKey"),
                    ("process-definitions", "processDefinitionKey"),
                )
            }
            self.keys["jobKey"] = int(self._first(http, "jobs", "jobKey", type="works"))
        admin.close()

    def _first(self, http: httpx.Client, what: str, key: str, **more: str) -> str:
        filters = {"tenantId": self.tenant, **more}
        items = http.post(f"/v2/{what}/search", json={"filter": filters}).raise_for_status().json()["items"]
        return str(items[-1][key])


def state_of(server: Secured, tenant: str) -> dict[str, Any]:
    """Everything of a tenant that a search finds."""
    with server.http("admin") as http:
        return {
            what: http.post(f"/v2/{what}/search", json={"filter": {"tenantId": tenant}}).json()["items"]
            for what in ("process-instances", "element-instances", "variables", "jobs", "incidents", "user-tasks")
        } | {"messages": http.get("/conjoin/v1/messages", params={"tenant": tenant}).json()["items"]}
