"""Permissions by message name, process, job type and action; what was done by operators stands in the audit."""

import json
import logging
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from conjoin.gateway.security.authentication.callers import KnownCaller, password_hash, read_callers, write_callers
from conjoin.gateway.security.authorized_service import TOUCHED
from conjoin.runtime.client_api.calls import Calls
from tests.gateway.grpc_client import HOUR_MS
from tests.gateway.models import with_job, with_message
from tests.gateway.security.secured import Secured, secured

ROLES = {
    "billing": {"actions": ["publish", "correlate"], "messages": ["order-*", "paid"]},
    "orders": {"actions": ["deploy", "create", "operate", "read"], "processes": ["order", "order-*"]},
    "shipping": {"actions": ["work"], "jobs": ["ship-*"]},
    "watching": {"actions": ["read"]},
}
PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("permissions")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Secured]:
    server = secured(folder, ROLES)
    admin = server.calls("admin")
    for name in ("order-a", "order-b", "billing-a"):
        admin.deploy(with_message(name), f"{name}.bpmn")
    for name in ("ship-it", "pay-it"):
        admin.deploy(with_job(name), f"{name}.bpmn")
    admin.close()
    yield server
    server.stop()


def _status(server: Secured, who: str, call: str, **fields: Any) -> str:
    client = server.calls(who)
    try:
        return client.refused(call, **fields)[0]
    except AssertionError:
        return "OK"
    finally:
        client.close()


@pytest.mark.parametrize(
    ("who", "call", "fields", "expected"),
    [
        ("billing", "PublishMessage", {"name": "order-placed"}, "OK"),
        ("billing", "PublishMessage", {"name": "paid"}, "OK"),
        ("billing", "PublishMessage", {"name": "unpaid"}, "PERMISSION_DENIED"),
        ("billing", "PublishMessage", {"name": "order-"}, "OK"),
        ("billing", "PublishMessage", {"name": "an order-"}, "PERMISSION_DENIED"),
        ("billing", "CreateProcessInstance", {"bpmnProcessId": "order-a", "version": -1}, "PERMISSION_DENIED"),
        ("orders", "CreateProcessInstance", {"bpmnProcessId": "order-a", "version": -1}, "OK"),
        ("orders", "CreateProcessInstance", {"bpmnProcessId": "billing-a", "version": -1}, "PERMISSION_DENIED"),
        ("orders", "DeployResource", {"resources": [{"name": "o.bpmn", "content": with_message("order-b")}]}, "OK"),
        (
            *("orders", "DeployResource"),
            {"resources": [{"name": "b.bpmn", "content": with_message("billing-b")}]},
            "PERMISSION_DENIED",
        ),
        ("orders", "DeployResource", {"resources": [{"name": "b.bpmn", "content": b"no xml"}]}, "INVALID_ARGUMENT"),
        ("shipping", "ActivateJobs", {"type": "pay-it", "worker": "w", "maxJobsToActivate": 1}, "PERMISSION_DENIED"),
        ("watching", "PublishMessage", {"name": "paid"}, "PERMISSION_DENIED"),
        ("watching", "Topology", {}, "OK"),
    ],
)
def test_role_allows_its_actions_on_what_its_patterns_name(
    server: Secured, who: str, call: str, fields: dict[str, Any], expected: str
) -> None:
    assert _status(server, who, call, **fields) == expected


def test_keys_are_checked_by_the_process_and_the_job_type_behind_them(server: Secured) -> None:
    admin, orders, shipping = (server.calls(name) for name in ("admin", "orders", "shipping"))
    ours, other = admin.start("o-1", "order-a"), admin.start("b-1", "billing-a")
    status, text = orders.refused("CancelProcessInstance", processInstanceKey=other)
    assert (status, "operate process 'billing-a' in tenant '<default>'" in text) == ("PERMISSION_DENIED", True)
    orders.CancelProcessInstance(processInstanceKey=ours)
    for name in ("ship-it", "pay-it"):
        admin.start("o-2", name)
    [shipped], [paid] = (admin.jobs(name) for name in ("ship-it", "pay-it"))
    assert shipping.refused("CompleteJob", jobKey=paid.key)[0] == "PERMISSION_DENIED"
    shipping.CompleteJob(jobKey=shipped.key)
    for client in (admin, orders, shipping):
        client.close()


def test_reader_of_some_processes_sees_only_those(server: Secured) -> None:
    admin = server.calls("admin")
    seen, unseen = admin.start("o-3", "order-a"), admin.start("b-3", "billing-a")
    admin.close()
    with server.http("orders") as http:
        found = http.post("/v2/process-instances/search", json={"page": {"limit": 1}}).json()
        assert found["page"]["totalItems"] >= 1
        assert all(it["processDefinitionId"].startswith("order") for it in found["items"])
        assert http.get(f"/v2/process-instances/{seen}").status_code == 200
        assert http.get(f"/v2/process-instances/{unseen}").status_code == 404
        names = {it["processDefinitionId"] for it in http.post("/v2/process-definitions/search").json()["items"]}
        assert names == {"order-a", "order-b"}


def test_whoever_may_publish_is_told_what_became_of_it_and_of_bulk_lines_only_those_are_taken(server: Secured) -> None:
    with server.http("billing") as http:
        told = http.post("/conjoin/v1/messages", json={"name": "paid", "key": "x", "ttl": "1h"})
        assert (told.status_code, told.json()["verdict"]) == (200, "buffered")
        assert http.get("/conjoin/v1/messages").status_code == 403
        lines = b'{"name": "paid"}\n{"name": "other"}\n{"name": "order-x"}\n'
        answers = http.post(
            "/conjoin/v1/messages/bulk", content=lines, headers={"content-type": "application/x-ndjson"}
        ).text.splitlines()
    assert [json.loads(line).get("code", "accepted") for line in answers] == ["accepted", "FORBIDDEN", "accepted"]


def test_operators_actions_stand_in_the_audit_without_what_is_secret(server: Secured, folder: Path) -> None:
    audit = folder / "audit.jsonl"
    before = len(audit.read_text().splitlines())
    orders = server.calls("orders")
    instance = orders.start("o-4", "order-a")
    orders.SetVariables(elementInstanceKey=instance, variables='{"iban": "DE-secret"}')
    orders.close()
    with server.http("orders") as http:
        http.post(f"/v2/process-instances/{instance}/cancellation").raise_for_status()
        http.post(f"/v2/process-instances/{instance}/cancellation")
        http.put("/conjoin/v1/policies/paid", json={"dedup": "7d"})
    with server.http("admin") as http:
        said = {"name": "gone", "key": "x", "variables": {"iban": "DE-secret"}}
        key = http.post("/conjoin/v1/messages", json=said).json()["message"]["key"]
        http.delete(f"/conjoin/v1/messages/{key}/payload").raise_for_status()
        told = http.get(f"/conjoin/v1/messages/{key}").json()
        assert (told["verdict"], told["message"]["variables"]) == ("discarded", {})
    records = [json.loads(line) for line in audit.read_text().splitlines()[before:]]
    assert [(it["who"], it["call"].split("/")[-1], it["outcome"]) for it in records] == [
        ("orders", "SetVariables", "done"),
        ("orders", "cancellation", "done"),
        ("orders", "cancellation", "NOT_FOUND"),
        ("orders", "{name}", "FORBIDDEN"),
        ("admin", "payload", "done"),
    ]
    assert records[0]["what"]["elementInstanceKey"] == instance
    assert records[1]["what"] == {"processInstanceKey": str(instance)}
    assert "DE-secret" not in audit.read_text()


def test_person_signs_in_to_the_console_and_what_they_do_has_their_name(server: Secured, folder: Path) -> None:
    admin = server.calls("admin")
    instance = admin.start("o-5", "order-a")
    admin.close()
    auth = ("admin", server.tokens["admin"])
    with httpx.Client(base_url=server.rest, auth=auth) as browser:
        page = browser.get(f"/console/instances/{instance}")
        form = {"token": browser.cookies["conjoin_token"]}
        assert browser.post(f"/console/instances/{instance}/cancel", data=form).status_code == 303
    assert page.status_code == 200
    last = json.loads((folder / "audit.jsonl").read_text().splitlines()[-1])
    assert (last["who"], last["call"], last["what"]) == (
        *("admin", "POST /console/instances/{key}/cancel"),
        {"key": str(instance)},
    )
    with httpx.Client(base_url=server.rest) as stranger:
        refused = stranger.get("/console/messages")
        assert (refused.status_code, refused.headers["www-authenticate"][:5]) == (401, "Basic")


def test_strangers_are_told_nothing_but_that_they_are(
    server: Secured, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = server.tokens["watching"]
    wrong = ["Bearer nonsense", f"Bearer {token[:-1]}x", "Bearer cj_00_x", f"Basic {_basic('watching', 'not-it')}"]
    wrong += [f"Basic {_basic('nobody', 'not-it')}", f"Basic {_basic('admin', token)}", "Basic %%", "Digest x", ""]
    with httpx.Client(base_url=server.rest, timeout=60) as http:
        answers = [http.get("/v2/topology", headers={"authorization": it}) for it in wrong]
        assert {answer.status_code for answer in answers} == {401}
        assert len({answer.json()["detail"] for answer in answers[:6]}) == 1
    client = server.calls(None)
    assert client.refused("Topology")[0] == "UNAUTHENTICATED"
    client.close()
    assert token not in caplog.text
    assert "not-it" not in caplog.text
    assert "nobody" not in caplog.text, "a name that is not known may be a password"
    assert "wrong password for a name that is not known from 127.0.0.1, 1 in a row" in caplog.text


def _basic(name: str, password: str) -> str:
    return b64encode(f"{name}:{password}".encode()).decode()


@pytest.fixture
def changed(tmp_path: Path) -> Iterator[Secured]:
    """One whose callers are somebody else's afterwards."""
    server = secured(tmp_path, ROLES)
    yield server
    server.stop()


def test_file_is_read_again_so_a_password_works_and_a_token_is_over(changed: Secured, tmp_path: Path) -> None:
    path = tmp_path / "callers.json"
    callers = read_callers(path)
    del callers["watching"]
    write_callers(path, {**callers, "alice": KnownCaller(["watching"], password=password_hash(PASSWORD))})
    assert path.stat().st_mode & 0o077 == 0
    give_up = time.monotonic() + 60
    with changed.http("watching") as http:
        while http.get("/v2/topology").status_code != 401:
            assert time.monotonic() < give_up
    with httpx.Client(base_url=changed.rest, auth=("alice", PASSWORD), timeout=60) as alice:
        assert alice.get("/conjoin/v1/messages").status_code == 200
        assert alice.get("/conjoin/v1/messages", auth=("alice", "another")).status_code == 401
    path.write_text("no JSON")
    with changed.http("admin") as http:
        assert http.get("/v2/topology").status_code == 200


def test_page_of_another_site_cannot_use_what_a_browser_knows(server: Secured) -> None:
    admin = server.calls("admin")
    instance = admin.start("o-6", "order-a")
    admin.publish("o-7", ttl_ms=HOUR_MS)
    admin.close()
    with httpx.Client(base_url=server.rest, auth=("admin", server.tokens["admin"])) as browser:
        cancelling = f"/v2/process-instances/{instance}/cancellation"
        assert browser.post(cancelling, headers={"sec-fetch-site": "cross-site"}).status_code == 403
        assert browser.post(cancelling, headers={"sec-fetch-site": "same-origin"}).status_code == 204


def test_every_call_says_what_it_touches() -> None:
    calls = {name: call for name, call in vars(Calls).items() if not name.startswith("_")}
    # `activate_on` is a part of `activate_jobs`; `create_instance` looks up its process first.
    assert {name for name, call in calls.items() if call not in TOUCHED} == {"activate_on", "create_instance"}
