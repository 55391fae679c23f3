"""Messages over REST: published, correlated, refused with the status that clients know."""

import pytest

from tests.gateway.models import started_by_message, with_message
from tests.gateway.rest.conftest import Rest

HOUR_MS = 3_600_000


def publish(rest: Rest, key: str, **more: object) -> str:
    told = rest.call("POST", "/v2/messages/publication", {"name": "paid", "correlationKey": key, **more})
    assert told["tenantId"] == "<default>"
    return str(told["messageKey"])


def test_message_published_early_is_taken_by_the_instance_that_comes_later(rest: Rest) -> None:
    publish(rest, "early", timeToLive=HOUR_MS, variables={"amount": 40})
    instance = rest.create("order", {"orderId": "early"})
    [job] = rest.found("jobs", {"processInstanceKey": instance})
    assert job["type"] == "ship"
    [amount] = rest.found("variables", {"processInstanceKey": instance, "name": "amount"})
    assert amount["value"] == "40"


def test_digits_of_a_variable_stay_as_they_were_sent(rest: Rest) -> None:
    instance = rest.create("order", {"orderId": "digits"})
    body = b'{"name":"paid","correlationKey":"digits","variables":{"exact":0.1234567890123456789012345}}'
    rest.call("POST", "/v2/messages/publication", content=body, headers={"content-type": "application/json"})
    [exact] = rest.found("variables", {"processInstanceKey": instance, "name": "exact"})
    assert exact["value"] == "0.1234567890123456789012345"


def test_second_message_with_the_same_id_is_a_conflict(rest: Rest) -> None:
    publish(rest, "twice", messageId="p-1", timeToLive=HOUR_MS)
    again = {"name": "paid", "correlationKey": "twice", "messageId": "p-1", "timeToLive": HOUR_MS}
    status, detail = rest.problem("POST", "/v2/messages/publication", again)
    assert status == 409
    assert detail.startswith("Command 'PUBLISH' rejected with code 'ALREADY_EXISTS': ")


def test_correlation_names_the_instance_or_finds_nobody(rest: Rest) -> None:
    instance = rest.create("order", {"orderId": "now"})
    told = rest.call("POST", "/v2/messages/correlation", {"name": "paid", "correlationKey": "now"})
    assert told["processInstanceKey"] == instance
    status, detail = rest.problem("POST", "/v2/messages/correlation", {"name": "paid", "correlationKey": "now"})
    assert (status, "'NOT_FOUND'" in detail) == (404, True)


def test_fleans_delivers_to_whoever_waits_and_starts_nobody(rest: Rest) -> None:
    rest.create("order", {"orderId": "fleans"})
    body = {"messageName": "paid", "correlationKey": "fleans", "variables": {}}
    assert rest.call("POST", "/api/workflow/message", body) == {"delivered": True}
    again = rest.post("/api/workflow/message", json=body)
    assert (again.status_code, again.json()) == (404, {"delivered": False})
    start = rest.post("/api/workflow/message", json={"messageName": "opened", "correlationKey": "fleans-start"})
    assert (start.status_code, start.json()) == (404, {"delivered": False})
    assert rest.problem("POST", "/api/workflow/message", {"messageName": " "})[0] == 400


def test_fleans_delivers_to_the_subscription_and_starts_no_other_process(rest: Rest) -> None:
    rest.deploy(with_message("fleans_waits"))
    rest.deploy(started_by_message("fleans_started", "fleans_waits"))
    rest.create("fleans_waits", {"orderId": "both"})
    body = {"messageName": "fleans_waits", "correlationKey": "both"}
    assert rest.call("POST", "/api/workflow/message", body) == {"delivered": True}
    found = rest.call("POST", "/v2/process-instances/search", {"filter": {"processDefinitionId": "fleans_started"}})
    assert found["items"] == []
    told = rest.call("POST", "/v2/messages/correlation", {"name": "fleans_waits", "correlationKey": "both"})
    assert told["processInstanceKey"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"name": "paid", "correlationKei": "x"}, "[correlationKei]"),
        ({"name": "paid", "timeToLive": "1h"}, "[timeToLive]"),
        ({"name": "paid", "timeToLive": 1.5}, "[timeToLive]"),
        ({"name": "paid", "variables": [1]}, "[variables]"),
        ({"name": 7}, "[name]"),
        ({"correlationKey": "x"}, "No name provided"),
        ({"name": "  "}, "No name provided"),
        ({"name": "paid", "tenantId": "no spaces"}, "tenant"),
        ({"name": "paid", "correlationKey": "k\0"}, "NUL"),
        ({"name": "paid", "businessId": "b" * 257}, "business id"),
        ([], "The body cannot be parsed"),
    ],
)
def test_what_is_wrong_with_a_publication_is_named(rest: Rest, body: object, said: str) -> None:
    status, detail = rest.problem("POST", "/v2/messages/publication", body)
    assert status == 400
    assert said in detail


def test_bodies_that_are_no_json_are_refused(rest: Rest) -> None:
    json = {"content-type": "application/json"}
    path = "/v2/messages/publication"
    assert rest.problem("POST", path, content=b"{", headers=json) == (
        400,
        "The body is not JSON: Input data was truncated",
    )
    assert rest.problem("POST", path, content=b"\xff", headers=json)[0] == 400
    assert rest.problem("POST", path, content=b"[" * 100_000, headers=json)[0] == 400
    assert rest.problem("POST", path, headers=json) == (400, "Required request body is missing")
    assert rest.problem("POST", path, content=b"name=paid")[0] == 415
    assert rest.problem("POST", path, content=b'"' + b"x" * 5_000_000 + b'"', headers=json)[0] == 413
    assert rest.problem("GET", "/health/live", headers={"x-long": "x" * 40_000})[0] == 431


def test_chunked_body_that_grows_too_large_is_not_read_to_its_end(rest: Rest) -> None:
    chunks = (b"x" * 1_000_000 for _ in range(6))
    headers = {"content-type": "application/json"}
    assert rest.problem("POST", "/v2/messages/publication", content=chunks, headers=headers)[0] == 413


def test_message_is_sent_in_place_of_a_lost_one_and_both_name_each_other(rest: Rest) -> None:
    lost = rest.call("POST", "/conjoin/v1/messages", {"name": "paid", "key": "instead-1"})["message"]["key"]
    body = {"name": "paid", "key": "instead-2", "replaces": lost}
    again = rest.call("POST", "/conjoin/v1/messages", body)["message"]["key"]
    for one, relation, other in ((lost, "replaced_by", again), (again, "replaces", lost)):
        [found] = rest.call("GET", f"/conjoin/v1/messages/{one}/explain")["related"]
        assert (found["relation"], found["message"]) == (relation, other)
    listed = rest.call("GET", "/conjoin/v1/messages?verdict=discarded&key=instead-1")
    assert listed["items"] == []
    [item] = rest.call("GET", "/conjoin/v1/messages?verdict=discarded&key=instead-1&replaced=true")["items"]
    assert (item["key"], item["replaced_by"]) == (lost, again)


@pytest.mark.parametrize(
    ("replaces", "tenant", "status"),
    [("7", None, 404), ("x", None, 400), (True, None, 400), ("lost", "acme", 400), ("kept", None, 409)],
)
def test_what_cannot_be_replaced_is_refused_before_anything_is_sent(
    rest: Rest, replaces: object, tenant: str | None, status: int
) -> None:
    name = f"refused-{replaces}"
    known = {
        "lost": lambda: rest.call("POST", "/conjoin/v1/messages", {"name": "paid", "key": name})["message"]["key"],
        "kept": lambda: publish(rest, name, timeToLive=HOUR_MS),
    }
    key = known[str(replaces)]() if str(replaces) in known else replaces
    body = {"name": "paid", "key": f"{name}-again", "replaces": key} | ({"tenant": tenant} if tenant else {})
    assert rest.problem("POST", "/conjoin/v1/messages", body)[0] == status
    assert rest.call("GET", f"/conjoin/v1/messages?key={name}-again")["items"] == []
