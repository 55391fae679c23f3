"""Every call of the client against a real server, and what becomes of a no."""

import asyncio
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from conjoin.client import AsyncClient, Basic, Bearer, Client, ModelledError, Publication, WorkerJob, WorkerOptions
from conjoin.errors import CallInvalid, NotFound, NotOffered, TookTooLong
from tests.bpmn.snippets import BEGIN, END, model
from tests.cli.command import ALARM
from tests.client.cutting_proxy import CuttingProxy
from tests.gateway.models import with_job
from tests.gateway.server_thread import ServerThread

HOUR_MS = 3_600_000
WITH_PERSON = model(
    BEGIN + '<userTask id="ask"><extensionElements><zeebe:userTask/></extensionElements></userTask>' + END,
    "begin>ask ask>end",
).replace(b'id="order"', b'id="asked"')


def test_early_message_starts_the_work_of_an_instance(client: Client) -> None:
    early = client.publish(Publication("paid", "early", {"amount": Decimal("40.10")}, HOUR_MS))
    assert (early.verdict, early.instances) == ("buffered", ())
    instance = client.create_instance("order", {"orderId": "early"}).process_instance_key
    assert client.variables(instance) == {"orderId": "early", "amount": 40.1}
    [job] = client.activate_jobs(WorkerOptions("ship", wait_ms=5_000))
    assert (job.process_instance_key, job.element_id) == (instance, "ship")
    client.complete_job(job.job_key, {"parcel": 7})
    [ended] = client.instances(processInstanceKey=str(instance))
    assert (ended.state, ended.has_incident) == ("COMPLETED", False)
    assert client.explain(early.key).verdict == "correlated"


def test_waiting_for_a_verdict_ends_when_somebody_takes_the_message(client: Client) -> None:
    instance = client.create_instance("order", {"orderId": "awaited"}).process_instance_key
    fate = client.publish_and_wait(Publication("paid", "awaited"), 5_000)
    assert (fate.verdict, fate.reason, fate.instances) == ("correlated", "waiting_instance", (instance,))
    client.cancel_instance(instance)


def test_correlation_names_the_instance_or_raises(client: Client) -> None:
    instance = client.create_instance("order", {"orderId": "now"}).process_instance_key
    assert client.correlate(Publication("paid", "now")).process_instance_key == instance
    client.cancel_instance(instance)
    with pytest.raises(NotFound) as nobody:
        client.correlate(Publication("paid", "now"))
    assert (nobody.value.code, nobody.value.reason, nobody.value.status) == ("NOT_FOUND", "NOT_FOUND", 404)
    assert nobody.value.sentence.startswith("Command 'CORRELATE' rejected")


def test_unsent_message_is_explained_with_who_comes_near(client: Client) -> None:
    instance = client.create_instance("order", {"orderId": "Near"}).process_instance_key
    told = client.explain(Publication("paid", "near", ttl_ms=HOUR_MS))
    assert told.sentence.startswith("If it were published now")
    assert "other_key" in [it["kind"] for it in told.near_misses]
    client.cancel_instance(instance)


def test_many_are_published_in_their_order_with_what_is_wrong_beside_each(client: Client) -> None:
    some = [Publication("many", "k", {"number": number}, HOUR_MS) for number in range(300)]
    some[7] = Publication("many", "k", business_id="x" * 257)
    lines = list(client.publish_many(iter(some)))
    assert [bool(line.error) for line in lines] == [number == 7 for number in range(300)]
    keys = [line.key for line in lines if line.key]
    assert keys == sorted(keys)
    assert [it.key for it in client.messages(name="many", order="desc")] == keys[::-1]


def test_worker_completes_fails_and_throws_as_its_function_does(client: Client) -> None:
    client.deploy(("by-hand.bpmn", with_job("by-hand")))
    instances = {
        what: client.create_instance("by-hand", {"what": what}).process_instance_key for what in ("do", "fail", "throw")
    }
    seen: list[str] = []

    def handler(job: WorkerJob) -> dict[str, object]:
        seen.append(job.variables["what"])
        if seen[-1] == "fail":
            raise ValueError("no paper")
        if seen[-1] == "throw":
            raise ModelledError("OUT", "nobody catches it")
        return {"done": True}

    def incidents() -> dict[int, str]:
        return {it.process_instance_key: it.error_message for it in client.incidents(processDefinitionId="by-hand")}

    client.work(WorkerOptions("by-hand", wait_ms=100), handler, lambda: "do" in seen and len(incidents()) == 2)
    assert seen.count("fail") == 3
    assert client.variables(instances["do"])["done"] is True
    assert incidents()[instances["fail"]] == "ValueError: no paper"
    assert "OUT" in incidents()[instances["throw"]]


def test_incident_is_resolved_after_its_cause_is_gone(client: Client) -> None:
    client.deploy(("mended.bpmn", with_job("mended")))
    instance = client.create_instance("mended").process_instance_key
    [job] = client.activate_jobs(WorkerOptions("mended", wait_ms=5_000))
    client.fail_job(job.job_key, 0, "no paper")
    [incident] = client.incidents(processInstanceKey=str(instance))
    assert (incident.error_message, incident.job_key) == ("no paper", job.job_key)
    client.update_retries(job.job_key, 1)
    client.set_variables(instance, {"paper": True})
    client.resolve_incident(incident.incident_key)
    [again] = client.activate_jobs(WorkerOptions("mended", wait_ms=5_000))
    assert again.variables["paper"] is True
    client.throw_error(again.job_key, ModelledError("OUT"))


def test_searches_go_on_page_after_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conjoin.client.searches.A_PAGE", 2)
    client.deploy(("paged.bpmn", with_job("paged")))
    created = [client.create_instance("paged", {"a": 1, "b": 2, "c": 3}).process_instance_key for _ in range(5)]
    found = client.instances(processDefinitionId="paged")
    assert sorted(it.process_instance_key for it in found) == sorted(created)
    assert client.variables(created[0]) == {"a": 1, "b": 2, "c": 3}
    sent = [client.publish(Publication("listed", f"k-{number}", ttl_ms=HOUR_MS)).key for number in range(5)]
    assert sorted(it.key for it in client.messages(name="listed")) == sorted(sent)


def test_what_is_wrong_with_a_call_is_raised_as_what_it_is(client: Client) -> None:
    with pytest.raises(CallInvalid, match=r"no message name"):
        client.publish(Publication(" "))
    with pytest.raises(CallInvalid, match="order"):
        list(client.messages(order="up"))
    with pytest.raises(TookTooLong):
        client.run_instance("order", {"orderId": "endless"}, wait_ms=1)
    with pytest.raises(NotFound):
        client.create_instance("order", version=99)
    with pytest.raises(CallInvalid, match=r"model\.bpmn"):
        client.deploy(("model.bpmn", b"<not-a-model/>"))


@pytest.mark.parametrize(
    ("credentials", "header"),
    [
        (Bearer("s3cret"), b"authorization: bearer s3cret"),
        (Basic("me", "s3cret"), b"authorization: basic bwu6cznjcmv0"),
    ],
)
def test_credentials_are_sent_and_not_shown(proxy: CuttingProxy, credentials: Bearer | Basic, header: bytes) -> None:
    with Client(proxy.address, credentials) as client:
        assert list(client.messages(name="nobody's")) == []
    assert header in proxy.seen[0].lower()
    assert "s3cret" not in repr(credentials)


def test_both_clients_have_the_same_calls() -> None:
    def calls(kind: type) -> dict[str, list[str]]:
        functions = inspect.getmembers(kind, inspect.isfunction)
        return {name: [*inspect.signature(it).parameters] for name, it in functions if not name.startswith("_")}

    assert calls(Client) == calls(AsyncClient)
    assert calls(Client)["create_instance"] == ["self", "process_id", "variables", "version", "tenant", "business_id"]
    undescribed = [name for name in calls(Client) if name not in PLAIN and not inspect.getdoc(getattr(Client, name))]
    assert undescribed == []


PLAIN = {
    *("close", "cancel_instance", "resolve_incident", "complete_job", "throw_error", "update_retries", "topology"),
    *("assign_user_task", "unassign_user_task", "complete_user_task", "policies", "retry_set_aside"),
    "delete_set_aside",
}
"""Their names say it all."""


def test_awaited_client_publishes_many_works_and_searches(server: ServerThread) -> None:
    async def story() -> tuple[list[int], list[str]]:
        done: list[str] = []

        async def handler(job: WorkerJob) -> None:
            done.append(job.variables["orderId"])

        async with AsyncClient(server.rest) as client:
            await client.create_instance("order", {"orderId": "awaiting"})
            lines = [line.key async for line in client.publish_many([Publication("paid", "awaiting", ttl_ms=HOUR_MS)])]
            await client.work(WorkerOptions("ship", wait_ms=5_000), handler, lambda: bool(done))
            return lines, [it.verdict async for it in client.messages(key="awaiting")]

    (key,), verdicts = asyncio.run(story())
    assert key > 0
    assert verdicts == ["correlated"]


def test_import_is_light_and_what_is_missing_is_named() -> None:
    program = (
        "import sys, conjoin; assert 'httpx' not in sys.modules and 'msgspec' not in sys.modules;"
        "sys.modules['httpx'] = None; conjoin.Client"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "conjoin.Client needs httpx: pip install 'conjoin[client]'" in ran.stderr


def test_awaited_client_publishes_what_comes_asynchronously(server: ServerThread) -> None:
    async def coming() -> AsyncIterator[Publication]:
        for number in range(3):
            await asyncio.sleep(0)
            yield Publication("coming", f"k-{number}", ttl_ms=HOUR_MS)

    async def story() -> list[str]:
        async with AsyncClient(server.rest) as client:
            return [line.message.key async for line in client.publish_many(coming())]

    assert asyncio.run(story()) == ["k-0", "k-1", "k-2"]


def test_operators_see_jobs_elements_models_policies_and_the_topology(client: Client) -> None:
    client.deploy(("seen.bpmn", with_job("seen")))
    instance = client.create_instance("seen").process_instance_key
    [job] = client.jobs(type="seen")
    assert (job.process_instance_key, job.state, job.worker) == (instance, "CREATED", "")
    elements = client.element_instances(processInstanceKey=str(instance))
    assert job.element_id in {it.element_id for it in elements}
    [model] = client.processes(processDefinitionId="seen")
    assert (model.version, model.resource_name) == (1, "seen.bpmn")
    assert len(client.topology()["brokers"][0]["partitions"]) == 2
    client.set_policy("of-a-test", {"time_to_live": "1h"})
    assert client.policies()["policies"]["of-a-test"] == {"time_to_live": "1h"}
    client.set_policy("of-a-test", {})
    assert list(client.set_aside()) == []
    assert client.request("GET", "/conjoin/v1/messages", query={"name": "nobody's"})["items"] == []
    with pytest.raises(NotFound):
        client.request("POST", "/conjoin/v1/set-aside/7/retry")
    with pytest.raises(NotFound):
        client.retry_set_aside(7)
    with pytest.raises(NotOffered, match="no inbox"):
        client.inbox_message(7)


def test_signal_and_user_task_go_through_the_client(client: Client) -> None:
    client.deploy(("alarm.bpmn", ALARM), ("asked.bpmn", WITH_PERSON))
    client.broadcast_signal("fire", {"where": "cellar"})
    [alarm] = client.instances(processDefinitionId="alarm")
    assert client.variables(alarm.process_instance_key) == {"where": "cellar"}
    client.create_instance("asked")
    [task] = client.user_tasks(processDefinitionId="asked")
    client.assign_user_task(task.user_task_key, "ada")
    assert [it.assignee for it in client.user_tasks(processDefinitionId="asked")] == ["ada"]
    client.unassign_user_task(task.user_task_key)
    client.complete_user_task(task.user_task_key, {"approved": True})
    assert [it.state for it in client.instances(processDefinitionId="asked")] == ["COMPLETED"]
