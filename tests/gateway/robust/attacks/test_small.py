"""Small requests that once kept everybody waiting for minutes: blanks in a duration, a model with much to complain
about, numbers of thousands of digits, numbers of the same hash, policies of many names. Whoever sends them is answered,
and so are others."""

import json
import sys
import time
from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

import httpx
import pytest

from tests.bpmn.snippets import BEGIN, END, model, script, timer
from tests.gateway.robust.attacks.test_budgets import (
    LONGEST_ANSWER_S,
    SOON_S,
    deploy,
    incidents,
    others_publish,
    start,
    until,
)
from tests.gateway.robust.serving import ServingProcess

BLANKS = "1" + " " * 200_000 + "x"
NDJSON = {"content-type": "application/x-ndjson"}
INBOX = "[inbox.channels.orders]\n"
LONG = "1." + "3" * 4_000
ALIKE = [number * sys.hash_info.modulus for number in range(1, 100_001)]
COSTLY = {
    "powers": "=for x in 1..100000 return n ** n",
    "products": "=for x in 1..100000 return n * n",
    "exact powers": "=for x in 1..100000 return 1000000000000000000000000000000007 ** 512",
    "texts": "=for x in 1..100000 return string(n)",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServingProcess]:
    folder = tmp_path_factory.mktemp("small")
    (folder / "conjoin.toml").write_text(INBOX)
    process = ServingProcess(folder / "store")
    yield process
    assert process.stop() == 0
    assert "Traceback" not in process.complaints


@pytest.fixture(scope="module")
def http(served: ServingProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.rest, timeout=SOON_S) as client:
        yield client


def test_blanks_in_a_duration_are_refused_at_once(served: ServingProcess, http: httpx.Client) -> None:
    message = {"name": "x", "key": "k", "ttl": BLANKS}
    with others_publish(served) as taken:
        for path in ("/conjoin/v1/messages", "/conjoin/v1/explain"):
            assert http.post(path, json=message).status_code == 400
        line = http.post("/conjoin/v1/messages/bulk", content=json.dumps(message), headers=NDJSON)
        assert "error" in line.json()
        for answers in ({"time_to_live": BLANKS}, {"dedup": BLANKS}):
            assert http.put("/conjoin/v1/policies/x", json=answers).status_code == 400
        http.post("/conjoin/v1/inbox/orders", json=message)
    assert max(taken) < LONGEST_ANSWER_S


@pytest.mark.parametrize("text", ["{" * 40_000, ". Expected is ( " * 2_500], ids=["braces", "expectations"])
def test_a_model_with_much_to_complain_about_is_refused_at_once(
    served: ServingProcess, http: httpx.Client, text: str
) -> None:
    wrong = "".join(f'<task id="t{number}" isForCompensation="{text}"/>\n' for number in range(50))
    with others_publish(served) as taken:
        refused = deploy(http, model(BEGIN + wrong + END, "begin>end"))
    assert refused.status_code == 400
    assert max(taken) < LONGEST_ANSWER_S


def costly_model(process_id: str, expression: str) -> bytes:
    wait = f'<intermediateCatchEvent id="soon">{timer("timeDuration", "PT0.1S")}</intermediateCatchEvent>\n'
    body = BEGIN + wait + script("work", quoteattr(expression)[1:-1]) + END
    content = model(body, "begin>soon soon>work work>end")
    return content.replace(b'process id="order"', f'process id="{process_id}"'.encode())


@pytest.mark.parametrize("what", COSTLY)
def test_numbers_of_thousands_of_digits_behind_a_timer_are_an_incident(
    served: ServingProcess, http: httpx.Client, what: str
) -> None:
    process_id = what.replace(" ", "-")
    deploy(http, costly_model(process_id, COSTLY[what])).raise_for_status()
    body = f'{{"processDefinitionId":"{process_id}","variables":{{"n":{LONG}}}}}'
    with others_publish(served) as taken:
        sent = http.post("/v2/process-instances", content=body, headers={"content-type": "application/json"})
        instance = sent.raise_for_status().json()["processInstanceKey"]
        until(lambda: bool(incidents(http, instance)))
    assert "was stopped: it " in incidents(http, instance)[0]
    assert max(taken) < LONGEST_ANSWER_S


def test_numbers_of_the_same_hash_are_told_apart_at_once(served: ServingProcess, http: httpx.Client) -> None:
    deploy(http, costly_model("alike", "=count(distinct values(lst))")).raise_for_status()
    with others_publish(served) as taken:
        began = time.monotonic()
        instance = start(http, "alike", lst=ALIKE)
        until(lambda: http.get(f"/v2/process-instances/{instance}").json()["state"] == "COMPLETED")
    assert time.monotonic() - began < SOON_S / 2
    assert max(taken) < LONGEST_ANSWER_S


def test_policies_of_many_names_keep_nobody_waiting(served: ServingProcess, http: httpx.Client) -> None:
    with others_publish(served) as taken:
        for number in range(300):
            http.put(f"/conjoin/v1/policies/name-{number}", json={"dedup": "7d"}).raise_for_status()
        began = time.monotonic()
        deploy(http, costly_model("after", "=1")).raise_for_status()
        assert time.monotonic() - began < LONGEST_ANSWER_S / 5
    assert max(taken) < LONGEST_ANSWER_S / 5
