"""Variables that are hidden by their names are shown to nobody, on no page and in no answer; workers get them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from conjoin.gateway.search import SEARCHES
from conjoin.runtime.visibility.hiding import Hiding
from tests.gateway.grpc_client import HOUR_MS
from tests.gateway.models import with_job
from tests.gateway.security.secured import secured

SECRETS = {"card": "SECRET-1", "customer": [{"Password2": {"old": "SECRET-2"}, "name": "Anna"}], "amount": 40}


def test_names_are_hidden_at_any_depth_and_nothing_else_is() -> None:
    hidden = {"card": "(hidden)", "customer": [{"Password2": "(hidden)", "name": "Anna"}], "amount": 40}
    assert Hiding(["card", "*password*"]).of(SECRETS) == hidden
    assert Hiding().of(SECRETS) is SECRETS


def test_no_answer_and_no_page_shows_what_is_hidden(tmp_path: Path) -> None:
    server = secured(tmp_path, {}, redact=["card", "*password*"])
    admin = server.calls("admin")
    admin.deploy(with_job("after"))
    text = json.dumps({**SECRETS, "orderId": "o-1"})
    started = admin.CreateProcessInstance(bpmnProcessId="after", version=-1, variables=text).processInstanceKey
    published = admin.PublishMessage(name="m", correlationKey="k", timeToLive=HOUR_MS, variables=text).key
    with server.http("admin") as http:
        addresses = [
            *(f"/conjoin/v1/messages/{published}", f"/conjoin/v1/messages/{published}/explain"),
            *("/conjoin/v1/messages", f"/console/messages/{published}", f"/console/send?name=n&like={published}"),
            *(f"/console/instances/{started}", "/console/messages?variables=amount+=+40"),
        ]
        pages = [http.get(address).raise_for_status().text for address in addresses]
        pages.append(http.post("/v2/variables/search", json={}).raise_for_status().text)
        looked_for = http.get("/console/messages?variables=card+=+SECRET-1")
    assert not any("SECRET" in page for page in pages)
    assert sum("(hidden)" in page for page in pages) >= 5
    assert "enter the real value" in pages[4]
    assert looked_for.status_code == 400
    [job] = next(iter(admin.ActivateJobs(type="after", worker="w", timeout=60_000, maxJobsToActivate=1))).jobs
    assert "SECRET-1" in job.variables
    admin.close()
    server.stop()


def _same_for_right_and_wrong(http: httpx.Client, ask: Callable[[str], dict[str, Any]], path: str) -> bool:
    right, wrong = (http.post(path, json=ask(guess)) for guess in ("SECRET", "NOTHIS"))
    assert right.status_code == wrong.status_code == 200, (path, right.text)
    return bool(right.json() == wrong.json())


def test_no_search_tells_a_right_guess_from_a_wrong_one(tmp_path: Path) -> None:
    server = secured(tmp_path, {}, redact=["card", "*password*"])
    admin = server.calls("admin")
    admin.deploy(with_job("guess"))
    text = json.dumps({**SECRETS, "orderId": "o-1"})
    admin.CreateProcessInstance(bpmnProcessId="guess", version=-1, variables=text)
    [job] = next(iter(admin.ActivateJobs(type="guess", worker="w", timeout=60_000, maxJobsToActivate=1))).jobs
    admin.FailJob(jobKey=job.key, retries=0, errorMessage="card SECRET-1 was declined")
    admin.PublishMessage(name="m", correlationKey="k", timeToLive=HOUR_MS, variables=text)
    with server.http("admin") as http:
        for search in SEARCHES.values():
            path = f"/v2/{search.name}/search"
            for name, field in search.filter_fields.items():
                if "$like" in field.kind.operators:
                    assert _same_for_right_and_wrong(
                        http, lambda guess, name=name: {"filter": {name: {"$like": f"*{guess}*"}}}, path
                    ), (path, name)
            for name in search.sort_fields:
                assert "SECRET" not in http.post(path, json={"sort": [{"field": name}]}).raise_for_status().text
        for name in ("card", "customer"):
            for operator in ("$like", "$eq", "$neq"):
                values = {"$like": "*{}*", "$eq": '"{}-1"', "$neq": '"{}-1"'}

                def ask(guess: str, name: str = name, operator: str = operator, value: str = values[operator]) -> Any:
                    return {"filter": {"variables": [{"name": name, "value": {operator: value.format(guess)}}]}}

                assert _same_for_right_and_wrong(http, ask, "/v2/process-instances/search"), (name, operator)
        whole = json.dumps(SECRETS["customer"])
        pages = [
            http.get("/console/messages", params={"variables": f"customer = {it}"}).raise_for_status().text
            for it in (whole, whole.replace("SECRET", "NOTHIS"))
        ]
        assert pages[0].replace("SECRET", "NOTHIS") == pages[1]
        shown = http.post("/v2/process-instances/search", json={"filter": {"variables": [{"name": "amount"}]}})
        assert len(shown.json()["items"]) == 1
        assert "(hidden) was declined" in http.post("/v2/incidents/search", json={}).text
        assert "(hidden) was declined" in http.get("/console/incidents").text
    admin.close()
    server.stop()


def test_inbox_shows_payloads_headers_and_hints_without_what_is_hidden(tmp_path: Path) -> None:
    server = secured(tmp_path, {}, redact=["card", "*password*"])
    with server.http("admin") as http:
        row = {"id": "1", "name": "m", "key": "k", "variables": SECRETS}
        http.post("/conjoin/v1/inbox/orders", json=row).raise_for_status()
        [item] = http.get("/conjoin/v1/inbox").json()["items"]
        one = f"/conjoin/v1/inbox/messages/{item['key']}"
        shown = http.get(one).raise_for_status().text
        page = http.get(f"/console/inbox/{item['key']}").raise_for_status().text
        assert ("SECRET" in shown, "SECRET" in page) == (False, False)
        assert "(hidden)" in shown
        refused = http.put(one, json={"payload": http.get(one).json()["payload"]})
        assert (refused.status_code, "write out what is (hidden)" in refused.text) == (400, True)
        for name in ("pause", "resume"):
            assert http.post(f"{one}/{name}").status_code == 200
    server.stop()


def test_payload_that_is_no_json_is_hidden_as_a_whole() -> None:
    hiding = Hiding(["card"])
    assert hiding.payload(b"<card>SECRET</card>") == b"(hidden)"
    assert json.loads(hiding.payload(b'[{"card": "SECRET", "n": 1}]')) == [{"card": "(hidden)", "n": 1}]
    assert Hiding().payload(b"<card>SECRET</card>") == b"<card>SECRET</card>"


def test_texts_do_not_quote_what_is_hidden_not_even_cut_off() -> None:
    hiding = Hiding(["card"])
    card = "4111-1111-2222-3333"
    assert hiding.text(f"{card} and {card[:12]}... declined", {"card": card}) == "(hidden) and (hidden)... declined"
    assert hiding.text("41117777 declined, 7 left", [{"card": {"number": 41117777, "n": 7}}]) == (
        "(hidden) declined, 7 left"
    )
    assert hiding.text("Anna paid", {"name": "Anna"}) == "Anna paid"


def test_lines_of_a_history_hide_what_was_there_before() -> None:
    hiding = Hiding(["card"])
    assert (
        hiding.line('POST http://h/m {"a":{"card":"old"},"n":1}') == 'POST http://h/m {"a":{"card":"(hidden)"},"n":1}'
    )
    assert hiding.line("it answered {no json: 4111-1111", {"card": "4111-1111"}) == "it answered {no json: (hidden)"
    assert Hiding().line('{"card":"x"}') == '{"card":"x"}'
