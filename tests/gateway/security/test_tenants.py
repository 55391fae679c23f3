"""Tenants are isolated, call by call: every call there is, aimed at what another tenant has. A new call needs a line.

Who tries has every right in its own tenant. What belongs to the other is forbidden where the caller names that tenant,
not found where it names a key (in the words for something that does not exist), and not in any list.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from conjoin.gateway.grpc.server import STREAMING, UNARY
from conjoin.gateway.rest.app import ENDPOINTS
from conjoin.gateway.security.authorized_service import PermittedService
from conjoin.gateway.security.rules import RULES
from conjoin.gateway.service import Service
from tests.gateway.security.secured import EVERYTHING, MODELS, Facts, Secured, secured, state_of

THEIRS, OURS = "crimson", "blue"
NOT_A_CALLERS = {"under_way", "stop_waiting", "close"}

FORBIDDEN: dict[str, Any] = {
    "POST /v2/messages/publication": {"name": "paid", "tenantId": THEIRS},
    "POST /v2/messages/correlation": {"name": "waits", "correlationKey": "crimson-1", "tenantId": THEIRS},
    "POST /v2/jobs/activation": {"type": "works", "timeout": 1000, "maxJobsToActivate": 1, "tenantIds": [OURS, THEIRS]},
    "POST /v2/process-instances": {"processDefinitionId": "waits", "tenantId": THEIRS},
    "POST /v2/signals/broadcast": {"signalName": "fire", "tenantId": THEIRS},
    "POST /v2/deployments": {"tenantId": THEIRS},
    "POST /conjoin/v1/messages": {"name": "paid", "tenant": THEIRS},
    "POST /conjoin/v1/explain": {"name": "waits", "key": "crimson-1", "tenant": THEIRS},
    # Of the default tenant, which is nobody's here.
    "POST /api/workflow/message": {"messageName": "waits", "correlationKey": "crimson-1"},
    # What belongs to the whole store.
    "POST /conjoin/v1/inbox/{channel}": {"name": "paid"},
    "GET /conjoin/v1/inbox": None,
    "POST /conjoin/v1/inbox/messages/operations": {"operation": "delete", "dry_run": False},
    "GET /conjoin/v1/inbox/messages/{key}": None,
    "PATCH /conjoin/v1/inbox/messages/{key}": {"attempts": 1},
    "PUT /conjoin/v1/inbox/messages/{key}": {"payload": "{}"},
    "DELETE /conjoin/v1/inbox/messages/{key}": None,
    **{f"POST /conjoin/v1/inbox/messages/{{key}}/{it}": None for it in ("pause", "resume", "retry", "release")},
    "GET /conjoin/v1/set-aside": None,
    "POST /conjoin/v1/set-aside/{key}/retry": None,
    "DELETE /conjoin/v1/set-aside/{key}": None,
    "GET /conjoin/v1/dead-letters": None,
    "GET /conjoin/v1/shards": None,
    "GET /conjoin/v1/policies": None,
    "PUT /conjoin/v1/policies/{name}": {"dedup": "7d"},
    "GET /metrics": None,
}
NOT_FOUND: dict[str, Any] = {
    "POST /v2/jobs/{jobKey}/completion": {},
    "POST /v2/jobs/{jobKey}/failure": {"retries": 0},
    "POST /v2/jobs/{jobKey}/error": {"errorCode": "broken"},
    "PATCH /v2/jobs/{jobKey}": {"changeset": {"retries": 9}},
    "POST /v2/process-instances/{processInstanceKey}/cancellation": None,
    "PUT /v2/element-instances/{elementInstanceKey}/variables": {"variables": {"seen": True}},
    "POST /v2/incidents/{incidentKey}/resolution": None,
    "POST /v2/user-tasks/{userTaskKey}/assignment": {"assignee": "eve"},
    "DELETE /v2/user-tasks/{userTaskKey}/assignee": None,
    "POST /v2/user-tasks/{userTaskKey}/completion": None,
    "GET /v2/process-instances/{processInstanceKey}": None,
    "GET /v2/process-definitions/{processDefinitionKey}": None,
    "GET /v2/process-definitions/{processDefinitionKey}/xml": None,
    "GET /v2/incidents/{incidentKey}": None,
    "GET /v2/user-tasks/{userTaskKey}": None,
    "GET /v2/variables/{variableKey}": None,
    "GET /v2/element-instances/{elementInstanceKey}": None,
    "GET /conjoin/v1/messages/{messageKey}": None,
    "GET /conjoin/v1/messages/{messageKey}/explain": None,
    "DELETE /conjoin/v1/messages/{messageKey}/payload": None,
}
NOT_LISTED: dict[str, Any] = {
    **{
        f"POST /v2/{what}/search": {"page": {"limit": 1000}}
        for what in (
            *("message-subscriptions", "correlated-message-subscriptions", "process-instances", "variables", "jobs"),
            *("process-definitions", "element-instances", "user-tasks", "incidents"),
        )
    },
    "POST /v2/process-instances/{processInstanceKey}/incidents/search": {},
    "POST /v2/element-instances/{elementInstanceKey}/incidents/search": {},
    **{f"GET /conjoin/v1/{what}": None for what in ("messages", "subscriptions", "instances", "incidents", "jobs")},
    "GET /conjoin/v1/status": None,
    "POST /conjoin/v1/messages/bulk": {"name": "paid", "tenant": THEIRS},
}
FOR_ANYBODY: dict[str, Any] = {"GET /v2/topology": None, "GET /v2/status": None, "GET /v2/license": None}
GRPC: dict[str, tuple[str, dict[str, Any]]] = {
    "PublishMessage": ("PERMISSION_DENIED", {"name": "paid", "tenantId": THEIRS}),
    "BroadcastSignal": ("PERMISSION_DENIED", {"signalName": "fire", "tenantId": THEIRS}),
    "DeployResource": (
        "PERMISSION_DENIED",
        {"resources": [{"name": "m.bpmn", "content": MODELS["waits"]}], "tenantId": THEIRS},
    ),
    "DeployProcess": ("PERMISSION_DENIED", {"processes": [{"name": "m.bpmn", "definition": MODELS["waits"]}]}),
    "CreateProcessInstance": ("PERMISSION_DENIED", {"bpmnProcessId": "waits", "tenantId": THEIRS}),
    "CreateProcessInstanceWithResult": (
        "PERMISSION_DENIED",
        {"request": {"bpmnProcessId": "waits", "tenantId": THEIRS}},
    ),
    "ActivateJobs": (
        "PERMISSION_DENIED",
        {"type": "works", "worker": "w", "timeout": 1000, "maxJobsToActivate": 1, "tenantIds": [THEIRS]},
    ),
    "StreamActivatedJobs": ("PERMISSION_DENIED", {"type": "works", "timeout": 1000, "tenantIds": [THEIRS]}),
    "CancelProcessInstance": ("NOT_FOUND", {"processInstanceKey": 0}),
    "SetVariables": ("NOT_FOUND", {"elementInstanceKey": 0, "variables": '{"seen": true}'}),
    "ResolveIncident": ("NOT_FOUND", {"incidentKey": 0}),
    "CompleteJob": ("NOT_FOUND", {"jobKey": 0}),
    "FailJob": ("NOT_FOUND", {"jobKey": 0}),
    "ThrowError": ("NOT_FOUND", {"jobKey": 0, "errorCode": "broken"}),
    "UpdateJobRetries": ("NOT_FOUND", {"jobKey": 0, "retries": 9}),
    "UpdateJobTimeout": ("NOT_FOUND", {"jobKey": 0, "timeout": 9}),
    "Topology": ("OK", {}),
}
CONSOLE: dict[str, int] = {
    **dict.fromkeys(("GET /", "GET /console/events", "GET /console/inbox", "GET /console/inbox/{key}"), 403),
    **{f"POST /console/inbox/{what}": 403 for what in ("rehearse", "operate", "{key}/operate", "{key}/correct")},
    **{f"GET /console/{what}": 200 for what in ("messages", "send", "instances", "incidents", "models")},
    **{f"GET /console/{what}/{{key}}": 404 for what in ("messages", "instances", "models")},
    "GET /console/models/{key}/xml": 404,
    "POST /console/send": 403,
    # The form again, with what is wrong.
    "POST /console/send/rehearse": 200,
    # To a list, and to the page of the instance, which is not found.
    "GET /console/find": 303,
    "POST /console/instances/{key}/cancel": 303,
    # The page again, which is not found.
    **{f"POST /console/instances/{{key}}/{what}": 404 for what in ("variables", "incidents/{incident}/resolve")},
    # Of what was selected nothing is found.
    "POST /console/incidents/rehearse": 200,
    "POST /console/incidents/resolve": 303,
    **{f"GET /console/{what}": 200 for what in ("jobs", "tasks")},
    **dict.fromkeys(("GET /console/server", "GET /console/dead-letters", "GET /console/dead-letters/{key}"), 403),
    **{f"POST /console/dead-letters/{{key}}/{what}": 403 for what in ("rehearse", "retry", "delete")},
    **{f"POST /console/set-aside/{{key}}/{what}": 403 for what in ("retry", "delete")},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder: Path = tmp_path_factory.mktemp("security")
    server = secured(folder, {it: {"actions": EVERYTHING, "tenants": [it]} for it in (THEIRS, OURS)})
    yield server
    server.stop()


@pytest.fixture(scope="module")
def theirs(server: Secured) -> Facts:
    return Facts(server, THEIRS)


@pytest.fixture(scope="module")
def eve(server: Secured) -> Iterator[httpx.Client]:
    with server.http(OURS) as http:
        yield http


@pytest.fixture(autouse=True)
def _nothing_of_theirs_changes(server: Secured, theirs: Facts) -> Iterator[None]:
    before = state_of(server, THEIRS)
    yield
    assert state_of(server, THEIRS) == before


def test_every_call_has_a_rule_and_is_tried_here(server: Secured) -> None:
    rest = {f"{it.method} {it.path}" for it in ENDPOINTS}
    pages = [(method, it.path) for it in server.console if isinstance(it, Route) for method in it.methods or ()]
    console = {f"{method} {path}" for method, path in pages if method != "HEAD"}
    assert set(RULES) == {*UNARY, *STREAMING, *rest, *console}
    assert rest == {*FORBIDDEN, *NOT_FOUND, *NOT_LISTED, *FOR_ANYBODY}
    assert set(GRPC) == {*UNARY, *STREAMING}
    assert console == set(CONSOLE)


def test_every_method_of_the_service_checks_who_calls() -> None:
    public = {name for name in vars(Service) if not name.startswith("_")}
    assert public - set(vars(PermittedService)) == NOT_A_CALLERS


def _asked(http: httpx.Client, call: str, body: Any, keys: Mapping[str, int]) -> httpx.Response:
    method, path = call.split()
    names = {"channel": "orders", "name": "paid", "key": 7, **keys}
    # Two answers differ in nothing else then.
    http.headers["x-request-id"] = "same"
    path = re.sub(r"\{(\w+)\}", lambda found: str(names[found[1]]), path)
    if call == "POST /v2/deployments":
        return http.post(path, files={"resources": ("m.bpmn", MODELS["waits"])}, data=body)
    if call.endswith("/bulk"):
        return http.post(path, content=json.dumps(body), headers={"content-type": "application/x-ndjson"})
    return http.request(method, path, **({} if body is None else {"json": body}))


def _without(text: str, keys: Iterable[int]) -> str:
    return re.sub(r"\b(" + "|".join(map(str, keys)) + r")\b", "KEY", text)


def test_what_names_another_tenant_is_forbidden(eve: httpx.Client) -> None:
    answers = {call: _asked(eve, call, body, {}) for call, body in FORBIDDEN.items()}
    told = {call: (answer.status_code, answer.json().get("title")) for call, answer in answers.items()}
    assert told == dict.fromkeys(FORBIDDEN, (403, "FORBIDDEN"))
    assert not any("\n" in answer.json()["detail"] for answer in answers.values())


def test_what_has_the_key_of_another_tenants_thing_is_told_that_there_is_none(
    eve: httpx.Client, theirs: Facts, server: Secured
) -> None:
    absent = {name: key + 100_000 for name, key in theirs.keys.items()}
    for call, body in NOT_FOUND.items():
        answer, other = _asked(eve, call, body, theirs.keys), _asked(eve, call, body, absent)
        assert (answer.status_code, other.status_code) == (404, 404), (call, answer.text)
        assert _without(answer.text, theirs.keys.values()) == _without(other.text, absent.values())
        assert "No endpoint" not in answer.text
    with server.http("admin") as admin:
        shown = {call: _asked(admin, call, None, theirs.keys).status_code for call in NOT_FOUND if "GET" in call}
    assert set(shown.values()) == {200}


def test_no_list_has_anything_of_another_tenant(eve: httpx.Client, theirs: Facts, server: Secured) -> None:
    for call, body in NOT_LISTED.items():
        answer = _asked(eve, call, body, theirs.keys)
        assert answer.status_code == 200, (call, answer.text)
        # What the caller has said itself may be said again.
        text = answer.text.replace(f"in tenant '{THEIRS}'", "")
        keys = [key for key in theirs.keys.values() if key > 1_000]
        assert not [word for word in (THEIRS, *map(str, keys)) if word in text], (call, text)
    nearly = {"name": "waits", "key": f"{THEIRS}-1", "tenant": OURS}
    assert "other_tenant" not in eve.post("/conjoin/v1/explain", json=nearly).raise_for_status().text
    with server.http("admin") as admin:
        assert "other_tenant" in admin.post("/conjoin/v1/explain", json=nearly).text
    open_jobs = {}
    for name in (THEIRS, OURS):
        with server.http(name) as http:
            open_jobs[name] = http.get("/conjoin/v1/status").json()["open"]["open_jobs"]
    assert open_jobs == {THEIRS: 2, OURS: 0}


def test_what_is_no_tenants_is_told_to_everybody_who_is_known(eve: httpx.Client, server: Secured) -> None:
    assert all(_asked(eve, call, None, {}).is_success for call in FOR_ANYBODY)
    with server.http(None) as stranger:
        calls = {**FOR_ANYBODY, **FORBIDDEN, **NOT_FOUND, **NOT_LISTED}
        keys = dict.fromkeys(re.findall(r"\{(\w+)\}", " ".join(calls)), 7)
        assert {_asked(stranger, call, body, keys).status_code for call, body in calls.items()} == {401}


def test_grpc_keeps_tenants_apart(theirs: Facts, server: Secured) -> None:
    client, stranger = server.calls(OURS), server.calls(None)
    for call, (expected, said) in GRPC.items():
        if expected == "OK":
            assert client.Topology().clusterSize == 1
            continue
        fields = {name: theirs.keys[name] if value == 0 else value for name, value in said.items()}
        status, text = client.refused(call, **fields)
        assert status == expected, (call, text)
        if expected == "NOT_FOUND":
            absent = {name: value + 100_000 if said[name] == 0 else value for name, value in fields.items()}
            other = client.refused(call, **absent)
            told = _without(other[1], [it for it in absent.values() if type(it) is int])
            assert (status, _without(text, theirs.keys.values())) == (other[0], told)
        assert stranger.refused(call, **fields)[0] == "UNAUTHENTICATED"
    client.close()
    stranger.close()


def test_console_keeps_tenants_apart(eve: httpx.Client, theirs: Facts) -> None:
    eve.get("/console/messages")
    form = {"token": eve.cookies["conjoin_token"], "name": "paid", "key": "k", "tenant": THEIRS}
    form["selected"] = str(theirs.keys["incidentKey"])
    statuses = {}
    for call in CONSOLE:
        method, path = call.split()
        what = "message" if "messages" in path else "processDefinition" if "models" in path else "processInstance"
        path = path.replace("{key}", str(theirs.keys[f"{what}Key"]))
        path = path.replace("{incident}", str(theirs.keys["incidentKey"]))
        if method == "POST":
            statuses[call] = eve.post(path, data={**form, "variables": '{"seen": true}'}).status_code
        else:
            answer = eve.get(path, params={"q": theirs.keys["messageKey"]} if path.endswith("find") else {})
            statuses[call] = answer.status_code
            assert THEIRS not in answer.text
    assert statuses == CONSOLE
