"""What is meant to make one request cost as much as a crowd: many who wait on a key, large bodies, unknown keys."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from benchmarks.broker.hot_stores import WIDE
from benchmarks.kernel import MODEL
from tests.gateway.robust.serving import ServingProcess

CROWD = 1_000
LONGEST_S = 60.0


class Served:
    def __init__(self, process: ServingProcess) -> None:
        self.process = process
        self._client = httpx.Client(base_url=process.rest, timeout=LONGEST_S)

    def post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        return self._client.post(path, json=body)

    def deploy(self, name: str, content: bytes) -> None:
        answer = self._client.post("/v2/deployments", files={"resources": (name, content)})
        assert answer.status_code == 200, answer.text

    def create(self, process_id: str, variables: dict[str, Any]) -> int:
        answer = self.post("/v2/process-instances", {"processDefinitionId": process_id, "variables": variables})
        assert answer.status_code == 200, answer.text
        return int(answer.json()["processInstanceKey"])

    def publish(self, name: str, key: str) -> dict[str, Any]:
        answer = self.post("/conjoin/v1/messages", {"name": name, "key": key})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    process = ServingProcess(tmp_path_factory.mktemp("hot") / "store")
    served = Served(process)
    served.deploy("order.bpmn", MODEL)
    served.deploy("wide.bpmn", WIDE)
    yield served
    assert process.stop() == 0
    assert process.complaints == ""


def test_a_publish_to_an_instance_that_waits_very_often_does_not_take_its_body_as_often(served: Served) -> None:
    served.create("wide", {"k": "wide", "list": list(range(1_000)), "large": "x" * 1_000_000})
    before_mb = served.process.peak_mb
    for name in ("part", "unheard", "part"):
        served.publish(name, "wide")
    assert served.process.peak_mb - before_mb < 200


def test_those_who_wait_on_one_key_get_their_messages_in_turn_beside_unrelated_ones(served: Served) -> None:
    with ThreadPoolExecutor(16) as pool:
        keys = sorted(pool.map(lambda n: served.create("order", {"orderId": "hot", "n": n}), range(CROWD)))
        beside = [pool.submit(served.create, "order", {"orderId": f"o-{n}"}) for n in range(20)]
        answers = list(pool.map(lambda n: served.publish("paid", "hot"), range(20)))
        unrelated = [(future.result(), served.publish("paid", f"o-{n}")) for n, future in enumerate(beside)]
    told = [str(answer) for answer in answers]
    assert len(unrelated) == 20
    for oldest in keys[:20]:
        assert sum(str(oldest) in text for text in told) == 1, told


@pytest.mark.parametrize("key", [7, 2**51 + 10**9, 2**62])
def test_variables_for_a_key_that_nobody_has_are_refused(served: Served, key: int) -> None:
    answer = httpx.put(
        f"{served.process.rest}/v2/element-instances/{key}/variables", json={"variables": {"n": 1}}, timeout=LONGEST_S
    )
    assert answer.status_code == 404
    assert httpx.get(f"{served.process.rest}/v2/element-instances/{key}", timeout=LONGEST_S).status_code == 404
