"""The OpenAPI document, the page, metrics and health."""

import re
from base64 import urlsafe_b64encode
from typing import Any

from starlette.routing import Route

from conjoin.gateway.rest.app import ENDPOINTS, OPEN_ENDPOINTS, make_app
from tests.gateway.rest.conftest import Rest, RestThread


def test_document_has_the_routes_and_nothing_else(rest: Rest, rest_server: RestThread) -> None:
    told = rest.call("GET", "/openapi.json")
    documented = {(method.upper(), path) for path, methods in told["paths"].items() for method in methods}
    service = rest_server.service
    before = list(service.listeners)
    routes = [route for route in make_app(service).routes if isinstance(route, Route)]
    service.listeners[:] = before
    served = {
        (method, route.path)
        for route in routes
        if route.endpoint.__name__ not in ("_missing", "openapi", "docs")
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert documented == served
    assert len(documented) == len(ENDPOINTS) + len(OPEN_ENDPOINTS)


def test_document_is_whole(rest: Rest) -> None:
    told = rest.call("GET", "/openapi.json")
    names = [it["operationId"] for methods in told["paths"].values() for it in methods.values()]
    assert len(names) == len(set(names))
    for reference in re.findall(r'"\$ref":"#/components/schemas/(\w+)"', rest.get("/openapi.json").text):
        assert reference in told["components"]["schemas"]
    for path, methods in told["paths"].items():
        for it in methods.values():
            in_path = [parameter["name"] for parameter in it.get("parameters", ()) if parameter["in"] == "path"]
            assert in_path == re.findall(r"\{(\w+)\}", path)


def test_address_says_which_methods_it_has_even_where_its_last_word_could_be_a_key(rest: Rest) -> None:
    for method, path, allowed in (
        ("GET", "/v2/incidents/search", "POST"),
        ("DELETE", "/conjoin/v1/messages/bulk", "POST"),
        ("DELETE", "/conjoin/v1/messages", "GET, HEAD, POST"),
        ("OPTIONS", "/v2/user-tasks/7", "GET, HEAD"),
    ):
        answer = rest.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed), path


def test_keys_that_no_record_has_are_not_found_however_large(rest: Rest) -> None:
    for key in ("0", "-7", "4076979118", str(2**63), "9" * 25):
        for path in ("/v2/variables", "/v2/element-instances", "/v2/incidents", "/conjoin/v1/messages"):
            assert rest.problem("GET", f"{path}/{key}")[0] == 404, (path, key)
    cursor = urlsafe_b64encode(b'["message",%d]' % 10**30).decode().rstrip("=")
    assert rest.problem("GET", f"/conjoin/v1/messages?cursor={cursor}")[0] == 400


def test_numbers_at_the_ends_of_their_ranges_are_taken_and_the_next_ones_are_not(rest: Rest) -> None:
    document = rest.get("/openapi.json").json()["components"]["schemas"]
    for shape, field, path, more in (
        ("FailJobBody", "retryBackOff", "/v2/jobs/7/failure", {}),
        ("FailJobBody", "retries", "/v2/jobs/7/failure", {}),
        ("PublishMessageBody", "timeToLive", "/v2/messages/publication", {"name": "ranges", "correlationKey": "r"}),
    ):
        [number] = [it for it in document[shape]["properties"][field]["anyOf"] if it["type"] == "integer"]
        for value, is_taken in (
            (number["minimum"], True),
            (number["maximum"], True),
            (number["minimum"] - 1, False),
            (number["maximum"] + 1, False),
        ):
            status = rest.post(path, json={**more, field: value}).status_code
            assert (status != 400) == is_taken, (path, field, value, status)


def test_page_asks_nobody_but_this_server(rest: Rest) -> None:
    page = rest.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "//" not in re.sub(r"<!doctype html>", "", page.text)


def metric(text: str, name: str) -> float:
    [value] = re.findall(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(value)


def test_metrics_count_what_happens(rest: Rest, rest_server: RestThread) -> None:
    def scraped() -> dict[str, Any]:
        text = rest.get("/metrics").text
        names = {
            "accepted": 'conjoin_publishes_total{edge="rest",outcome="accepted"}',
            "discarded": 'conjoin_verdicts_total{reason="ttl_zero",verdict="discarded"}',
            "answered": 'conjoin_publish_seconds_count{edge="rest"}',
            "commits": "conjoin_commit_requests_count",
        }
        return {word: metric(text, name) for word, name in names.items()}

    publication = {"name": "measured", "correlationKey": "m"}
    rest.call("POST", "/v2/messages/publication", publication)
    before = scraped()
    rest.call("POST", "/v2/messages/publication", publication)
    after = scraped()
    assert {word: after[word] - before[word] for word in before} == {
        **{"accepted": 1, "discarded": 1, "answered": 1},
        "commits": after["commits"] - before["commits"],
    }
    assert after["commits"] > before["commits"]
    text = rest.get("/metrics").text
    for gauge in ("buffered_messages", "open_subscriptions", "active_instances", "open_jobs", "open_incidents"):
        assert metric(text, f"conjoin_{gauge}") >= 0
    assert 'conjoin_inbox_messages{state="waiting"}' in text


def test_health(rest: Rest) -> None:
    assert rest.call("GET", "/health/live") == {"status": "UP"}
    assert rest.call("GET", "/health/ready")["status"] == "UP"
