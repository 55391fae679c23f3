"""Values that no store can hold, each as it once went through: one request, row or expression stops nobody else."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.grpc_client import Client
from tests.gateway.robust.nasty_models import nasty_model
from tests.gateway.robust.nasty_values import nested
from tests.gateway.robust.serving import ServingProcess
from tests.gateway.robust.test_nasty_values import GOOD, GOOD_MODELS, activated, deploy, finish, start

HOUR_MS = 3_600_000
LONGEST_S = 60.0
ENDLESS = "1e99999999999999999999999"
NDJSON = "application/x-ndjson"
INBOX = """
[inbox]
poll_interval = "200ms"
poll_initial_delay = "200ms"
[inbox.channels.payments]
"""
POISONS: dict[str, tuple[str, Any]] = {
    "retries beyond 64 bits": ("retries", 11111111111111111111),
    "retries of two signs": ("retries", "--5"),
    "a duration without end": ("duration", "PT999999999999999999H"),
    "a billion years": ("duration", "P999999999Y"),
    "half a pair of surrogates": ("script_json", '"\\ud800"'),
    "half a pair as a key": ("key_json", '"\\ud800"'),
    "NUL as a key": ("key", "\0"),
    "NUL as a job type": ("job_type", "\0"),
    "a number of a gigabyte": ("script_json", "1e999999999"),
    "nesting without end": ("mapping_json", nested(199)),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingProcess]:
    folder = tmp_path_factory.mktemp("values")
    (folder / "conjoin.toml").write_text(INBOX)
    process = ServingProcess(folder / "store")
    yield process
    assert process.stop() == 0
    assert process.complaints == ""


@pytest.fixture(scope="module")
def rest(served: ServingProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.rest, timeout=LONGEST_S) as client:
        models = {nasty_model(consumer, hold) for consumer, _ in POISONS.values() for hold in ("timer", "mail")}
        deploy(client, [*GOOD_MODELS, *sorted(models)])
        yield client


def post(rest: httpx.Client, path: str, body: str, type_: str = "application/json") -> httpx.Response:
    return rest.post(path, content=body.encode(), headers={"content-type": type_})


def eventually(holds: Callable[[], Any]) -> Any:
    until = time.monotonic() + LONGEST_S
    while not (found := holds()) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def incidents(rest: httpx.Client, instance: str) -> list[dict[str, Any]]:
    asked = {"filter": {"processInstanceKey": instance}}
    found: list[dict[str, Any]] = rest.post("/v2/incidents/search", json=asked).json()["items"]
    return found


def created(rest: httpx.Client, process: str, variables: dict[str, Any]) -> str:
    answer = rest.post("/v2/process-instances", json={"processDefinitionId": process, "variables": variables})
    assert answer.status_code == 200, answer.text
    key: str = answer.json()["processInstanceKey"]
    return key


@pytest.mark.parametrize("number", ["1e1000000", "1e200000", "-1e1000000", ENDLESS, "1e100000000", "9" * 5_000])
@pytest.mark.parametrize("field", ["ttl", "key", "id", "published_at", "variables"])
def test_a_number_without_end_is_refused_at_once(rest: httpx.Client, field: str, number: str) -> None:
    value = f'{{"n":{number}}}' if field == "variables" else number
    body = f'{{"name":"x","{field}":{value}}}'
    for path in ("/conjoin/v1/messages", "/conjoin/v1/explain"):
        assert post(rest, path, body).status_code == 400
    [line] = post(rest, "/conjoin/v1/messages/bulk", body + "\n", NDJSON).text.splitlines()
    assert "error" in json.loads(line)


@pytest.mark.parametrize(
    "value", [ENDLESS, "1e1000000", nested(300), '"\\ud800"'], ids=["endless", "huge", "deep", "half"]
)
def test_a_variable_that_cannot_be_stored_is_refused_on_all_edges(
    served: ServingProcess, rest: httpx.Client, value: str
) -> None:
    variables = f'{{"n":{value}}}'
    bodies = {
        "/v2/messages/publication": f'{{"name":"x","correlationKey":"k","variables":{variables}}}',
        "/v2/messages/correlation": f'{{"name":"x","correlationKey":"k","variables":{variables}}}',
        "/v2/process-instances": f'{{"processDefinitionId":"good-timer","variables":{variables}}}',
        "/v2/signals/broadcast": f'{{"signalName":"s","variables":{variables}}}',
        "/api/workflow/message": f'{{"messageName":"x","correlationKey":"k","variables":{variables}}}',
        "/v2/jobs/1/completion": f'{{"variables":{variables}}}',
        "/v2/element-instances/1/variables": f'{{"variables":{variables}}}',
    }
    for path, body in bodies.items():
        way = "PUT" if path.startswith("/v2/element") else "POST"
        answer = rest.request(way, path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 400, (path, answer.text)
    with closing(Client(served.grpc)) as client:
        for call, fields in {
            "PublishMessage": {"name": "x"},
            "CreateProcessInstance": {"bpmnProcessId": "good-timer"},
            "BroadcastSignal": {"signalName": "s"},
            "SetVariables": {"elementInstanceKey": 1},
            "CompleteJob": {"jobKey": 1},
        }.items():
            assert client.refused(call, variables=variables, **fields)[0] == "INVALID_ARGUMENT", call


def test_a_bad_line_of_bulk_is_answered_and_the_others_are_stored(rest: httpx.Client) -> None:
    lines = [json.dumps({"name": "bulk", "key": f"b-{number}", "ttl": "1h"}) for number in range(7)]
    lines[3:3] = [f'{{"name":"bulk","variables":{{"n":{ENDLESS}}}}}', '{"name":"bulk","ttl":1e5000}']
    lines.append('{"name":"a","key":"k","ttl":"1h","tenant":"no such/tenant !"}')
    told = [
        json.loads(line) for line in post(rest, "/conjoin/v1/messages/bulk", "\n".join(lines), NDJSON).text.splitlines()
    ]
    assert [it["line"] for it in told] == [*range(1, 11)]
    assert [it["line"] for it in told if "error" in it] == [4, 5, 10]
    assert len(rest.get("/conjoin/v1/messages", params={"name": "bulk"}).json()["items"]) == 7


@pytest.mark.parametrize("poison", POISONS)
def test_a_poison_behind_a_timer_is_an_incident(rest: httpx.Client, poison: str) -> None:
    consumer, value = POISONS[poison]
    instance = created(rest, f"{consumer}-timer", {"n": value})
    found = eventually(lambda: incidents(rest, instance) or is_over(rest, instance))
    assert found, "neither an incident nor an end"


def is_over(rest: httpx.Client, instance: str) -> bool:
    return bool(rest.get(f"/v2/process-instances/{instance}").json().get("state") == "COMPLETED")


@pytest.mark.parametrize("poison", POISONS)
def test_a_poison_in_mail_between_shards_is_an_incident(rest: httpx.Client, poison: str) -> None:
    consumer, value = POISONS[poison]
    keys = [f"{poison}-{number}" for number in range(4)]
    instances = [created(rest, f"{consumer}-mail", {}) for _ in keys]
    waiting = list(keys)
    while waiting:
        for job in eventually(lambda: activated(rest, "give-key")):
            rest.post(f"/v2/jobs/{job}/completion", json={"variables": {"key": waiting.pop()}})
    for key in keys:
        sent = {"name": "give-n", "correlationKey": key, "timeToLive": HOUR_MS, "variables": {"n": value}}
        assert rest.post("/v2/messages/publication", json=sent).status_code == 200
    for instance in instances:
        assert eventually(lambda it=instance: incidents(rest, it) or is_over(rest, it))  # type: ignore[misc]


def test_timers_fire_after_a_poison_and_a_restart(tmp_path: Path) -> None:
    """What is in the store stays there: whoever could not live with it could not after a restart either."""
    models = [*GOOD_MODELS, nasty_model("retries", "timer")]
    for is_first in (True, False):
        served = ServingProcess(tmp_path / "store")
        try:
            with httpx.Client(base_url=served.rest, timeout=LONGEST_S) as rest:
                if is_first:
                    deploy(rest, models)
                    poisoned = created(rest, "retries-timer", {"n": 11111111111111111111})
                    assert eventually(partial(incidents, rest, poisoned))
                start(rest, "good-timer")
                assert finish(rest, "good-timer", lambda number: {}, GOOD) == GOOD
                assert rest.get("/health/ready").status_code == 200
        finally:
            served.kill()


def test_a_poison_in_the_inbox_does_not_end_it(rest: httpx.Client) -> None:
    for job in activated(rest, "give-key"):
        rest.post(f"/v2/jobs/{job}/completion", json={"variables": {"key": "stray"}})
    instance = created(rest, "retries-mail", {})
    [job] = eventually(lambda: activated(rest, "give-key"))
    rest.post(f"/v2/jobs/{job}/completion", json={"variables": {"key": "in-1"}})
    rows = [
        {"name": "give-n", "key": "in-1", "variables": {"n": 11111111111111111111}},
        {"name": "give-n", "key": "1e1000000", "variables": {}},
    ]
    lines = [*map(json.dumps, rows), f'{{"name":"x","key":{ENDLESS}}}', '{"name":"x","key":1e1000000}', "{"]
    assert post(rest, "/conjoin/v1/inbox/payments", "\n".join(lines), NDJSON).status_code == 202
    assert eventually(lambda: incidents(rest, instance))
    instance = created(rest, "retries-mail", {})
    [job] = eventually(lambda: activated(rest, "give-key"))
    rest.post(f"/v2/jobs/{job}/completion", json={"variables": {"key": "in-2"}})
    good = json.dumps({"name": "give-n", "key": "in-2", "variables": {"n": 3}})
    assert post(rest, "/conjoin/v1/inbox/payments", good).status_code == 202
    assert eventually(lambda: activated(rest, "nasty-job"))


def test_numbers_of_a_worker_are_bounded(served: ServingProcess, rest: httpx.Client) -> None:
    created(rest, "job_type-timer", {"n": "bounded"})
    [job] = eventually(lambda: activated(rest, "bounded"))
    most = 2**63 - 1
    for path, body in {
        f"/v2/jobs/{job}/failure": '{"retries":1e30}',
        "/v2/jobs/activation": f'{{"type":"bounded","timeout":{2**70},"maxJobsToActivate":1}}',
    }.items():
        assert post(rest, path, body).status_code == 400
    with closing(Client(served.grpc)) as client:
        client.UpdateJobTimeout(jobKey=int(job), timeout=most)
        client.FailJob(jobKey=int(job), retries=2**31 - 1, retryBackOff=most)
    assert rest.get("/health/ready").status_code == 200


def test_a_cursor_that_is_nested_without_end_is_no_cursor(rest: httpx.Client) -> None:
    from base64 import b64encode

    for text in (b"[" * 100_000, b'["x",' + ENDLESS.encode() + b"]", b'["jobs:",1e1000000,7]'):
        asked = {"page": {"after": b64encode(text).decode()}}
        assert rest.post("/v2/jobs/search", json=asked).status_code == 400


def test_a_page_shows_a_number_that_no_float_holds(rest: httpx.Client) -> None:
    body = '{"name":"shown","key":"k","ttl":"1h","variables":{"a":1e999,"b":-1e999,"c":[1.5,1e-999]}}'
    key = post(rest, "/conjoin/v1/messages", body).json()["message"]["key"]
    page = rest.get(f"/console/messages/{key}")
    assert page.status_code == 200
    assert "1E+999" in page.text


def test_after_all_of_it_timers_and_mail_of_others_go_through(rest: httpx.Client) -> None:
    """Control where it runs alone; after the others it is what they had ended."""
    start(rest, "good-timer")
    assert finish(rest, "good-timer", lambda number: {}, GOOD) == GOOD
    start(rest, "good-mail")
    assert finish(rest, "good-key", lambda number: {"key": f"good-{number}"}, GOOD) == GOOD
    for number in range(GOOD):
        sent = {"name": "good", "correlationKey": f"good-{number}", "timeToLive": HOUR_MS}
        assert rest.post("/v2/messages/publication", json=sent).status_code == 200
    assert finish(rest, "good-mail", lambda number: {}, GOOD) == GOOD
    assert rest.get("/health/ready").status_code == 200
