"""What is said of a key names nobody outside the roles of whoever asks: near misses, locks, candidates, starts."""

from collections.abc import Iterator

import pytest

from tests.bpmn.snippets import END, catch, message, model
from tests.gateway.grpc_client import HOUR_MS
from tests.gateway.models import with_message
from tests.gateway.security.secured import Secured, secured

STARTED = model(
    '<startEvent id="begin"><messageEventDefinition messageRef="start_message"/></startEvent>' + catch("wait") + END,
    "begin>wait wait>end",
    message("start_message", "secret-start") + message("paid_message", "secret-wait"),
).replace(b'<process id="order"', b'<process id="secret-started"')
ROLES = {
    "readers": {"actions": ["read", "publish", "correlate"], "messages": ["order-*"], "processes": ["order-*"]},
    "by_process": {"actions": ["read"], "processes": ["order-*"]},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    server = secured(tmp_path_factory.mktemp("scope"), ROLES)
    admin = server.calls("admin")
    for name, content in {
        "order-a": with_message("order-a"),
        "secret-b": with_message("secret-b"),
        # It waits for a message of the role's, but is no process of the role's.
        "secret-c": with_message("secret-c").replace(b'name="secret-c"', b'name="order-c"'),
        "secret-started": STARTED,
    }.items():
        admin.deploy(content, f"{name}.bpmn")
    for name in ("order-a", "secret-b", "secret-c"):
        for _ in range(2):
            admin.CreateProcessInstance(bpmnProcessId=name, version=-1, variables='{"orderId": "o-1"}')
    admin.PublishMessage(name="secret-start", correlationKey="o-1", timeToLive=HOUR_MS)
    admin.close()
    yield server
    server.stop()


def test_explanations_and_refusals_name_nobody_outside_the_role(server: Secured) -> None:
    answers = []
    with server.http("readers") as http:
        for name in ("order-x", "order-c", "order-a", "order-secret", "order-b"):
            for key in ("o-1", "o-2", "O-1 "):
                message = {"name": name, "key": key}
                if (name, key) == ("order-c", "o-1"):
                    # Somebody would take it, and who takes a message is told to whoever may send it.
                    continue
                answers.append(http.post("/conjoin/v1/explain", json=message).raise_for_status().text)
                rest = {"name": name, "correlationKey": f"{key}z"}
                answers.append(http.post("/v2/messages/correlation", json=rest).text)
                published = http.post("/conjoin/v1/messages", json=message | {"key": f"{key}y", "ttl": "1h"}).json()
                key_of = published["message"]["key"]
                answers.append(http.get(f"/conjoin/v1/messages/{key_of}/explain").raise_for_status().text)
                answers.append(http.get(f"/console/messages/{key_of}").raise_for_status().text)
    named = [it for it in answers if "secret-" in it.replace("order-secret", "")]
    assert named == []
    with server.http("admin") as http:
        told = http.post("/conjoin/v1/explain", json={"name": "order-x", "key": "o-1"}).text
    assert "secret-b" in told, "whoever may see everything is told who else waits"


@pytest.mark.parametrize("who", ["readers", "by_process"])
def test_status_and_searches_show_nothing_outside_the_role(server: Secured, who: str) -> None:
    with server.http(who) as http:
        pages = [http.get("/conjoin/v1/status").raise_for_status().json()["processes"]]
        pages += [
            http.post(f"/v2/{what}/search", json={}).raise_for_status().json()["items"]
            for what in (
                *("message-subscriptions", "correlated-message-subscriptions", "process-definitions"),
                *("process-instances", "element-instances", "variables", "incidents", "jobs"),
            )
        ]
    assert [page for page in pages if "'secret-" in str(page).replace("'messageName': 'secret-", "")] == []
    assert "order-a" in pages[0]
    starts = [it for it in pages[1] if it["messageSubscriptionType"] == "START_EVENT"]
    assert starts == []


def test_correlation_refused_for_several_counts_them_and_names_none(server: Secured) -> None:
    with server.http("admin") as http:
        http.put("/conjoin/v1/policies/order-c", json={"cardinality": "one"})
    with server.http("readers") as http:
        refused = http.post("/v2/messages/correlation", json={"name": "order-c", "correlationKey": "o-1"})
    assert "secret" not in refused.text
