"""Nasty values in every field of every call, and behind timers, jobs and mail: nothing stops, and nothing is a 500.

SECONDS=60 pytest tests/gateway/robust/test_nasty_values.py
"""

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import grpc
import httpx
import pytest

from conjoin.runtime.opening import create_broker
from tests.bpmn.snippets import BEGIN, END, catch, extended, message, model, timer
from tests.gateway.robust.nasty_calls import Answer, call_grpc, call_rest, operations, send
from tests.gateway.robust.nasty_models import every_model
from tests.gateway.robust.nasty_values import any_literal, nasty_object
from tests.gateway.robust.serving import ServingProcess
from tests.gateway.robust.test_fuzz import verified

SECONDS = float(os.environ.get("SECONDS", "15"))
LONGEST_S = 60.0
MOST_KNOWN = 200
GOOD = 12
"""Instances and messages that must go through at the end, on all shards."""
INBOX = """
[inbox]
poll_interval = "1s"
poll_initial_delay = "1s"
[inbox.channels.nasty]
[inbox.channels.mapped.mapping]
name = "= name"
key = "= key"
variables = "= variables"
"""
_NDJSON = "application/x-ndjson"
_BAD_STATUSES = ("500", "UNKNOWN", "INTERNAL")
_JOB = '<zeebe:taskDefinition type="{}"/>'
_IN_TIME = f'<intermediateCatchEvent id="hold">{timer("timeDuration", "PT0.5S")}</intermediateCatchEvent>\n'


def _called(name: str, content: bytes) -> tuple[str, bytes]:
    return name, content.replace(b'<process id="order"', f'<process id="{name}"'.encode())


GOOD_MODELS = [
    _called(
        "good-timer",
        model(
            BEGIN + _IN_TIME + extended("serviceTask", "t", _JOB.format("good-timer")) + END, "begin>hold hold>t t>end"
        ),
    ),
    _called(
        "good-mail",
        model(
            BEGIN
            + extended("serviceTask", "ask", _JOB.format("good-key"))
            + catch("wait", "good_message")
            + extended("serviceTask", "t", _JOB.format("good-mail"))
            + END,
            "begin>ask ask>wait wait>t t>end",
            message("good_message", "good", "=key"),
        ),
    ),
]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Of a database; None: a folder is served."""
    if request.param == "sqlite":
        yield None
        return
    database = request.getfixturevalue("postgres_server")
    url: str = database.new_database()
    create_broker(url, 2).close()
    yield url
    database.drop_database(url)


@pytest.fixture
def server(tmp_path: Path, url: str | None) -> Iterator[ServingProcess]:
    (tmp_path / "conjoin.toml").write_text(INBOX)
    it = ServingProcess(tmp_path / "store", url=url)
    yield it
    it.kill()


class Attack:
    """What several threads do until the time is over, and all that was answered."""

    def __init__(self, server: ServingProcess, seed: int) -> None:
        self.server, self.seed = server, seed
        self.until = time.monotonic() + SECONDS
        self.statuses: Counter[str] = Counter()
        self.bad: list[Answer] = []
        self.slowest_s = 0.0
        self.known: list[str] = []
        """Keys of instances, elements, jobs, incidents and messages that there are, or were."""

    def run(self) -> None:
        parts: list[Callable[[httpx.Client, Random], None]] = [
            *(self._rest, self._rest, self._grpc, self._models, self._lines, self._alive),
        ]
        with ThreadPoolExecutor(len(parts)) as threads:
            ends = [threads.submit(self._part, part, number) for number, part in enumerate(parts)]
            for end in ends:
                end.result()

    def _part(self, part: Callable[[httpx.Client, Random], None], number: int) -> None:
        rng = Random(f"{self.seed}/{number}")
        with httpx.Client(base_url=self.server.rest, timeout=LONGEST_S) as client:
            while time.monotonic() < self.until:
                part(client, rng)

    def _note(self, answer: Answer) -> Answer:
        self.statuses[answer.status or "not waited for"] += 1
        nameless = answer.status.startswith("5") and not answer.request_id
        if answer.status in _BAD_STATUSES or nameless:
            self.bad.append(answer)
        return answer

    def _rest(self, client: httpx.Client, rng: Random) -> None:
        every = operations(client.get("/openapi.json").json())
        for operation in rng.sample(every, len(every)):
            if time.monotonic() < self.until:
                self._note(call_rest(client, operation, rng, self.known))

    def _grpc(self, client: httpx.Client, rng: Random) -> None:
        with grpc.insecure_channel(self.server.grpc) as channel:
            while time.monotonic() < self.until:
                self._note(call_grpc(channel, rng, self.known))

    def _models(self, client: httpx.Client, rng: Random) -> None:
        """Values that come with an instance, from a worker, or in a message from another shard."""
        name, _ = rng.choice(_MODELS)
        body = f'{{"processDefinitionId":"{name}","variables":{nasty_object(rng, "n")}}}'
        self._note(send(client, "post", "/v2/process-instances", body))
        self.known = [*keys_of(client), *self.known[:MOST_KNOWN]]
        key = f"k-{rng.randrange(10**9)}"
        for job in activated(client, "give-key"):
            send(client, "post", f"/v2/jobs/{job}/completion", json.dumps({"variables": {"key": key}}))
            body = (
                f'{{"name":"give-n","correlationKey":"{key}","timeToLive":60000,"variables":{nasty_object(rng, "n")}}}'
            )
            self._note(send(client, "post", "/v2/messages/publication", body))
        for job in activated(client, "give-n"):
            way = rng.choice(("completion", "failure", "error"))
            field = rng.choice(("retries", "retryBackOff", "errorMessage")) if way == "failure" else "errorCode"
            more = "" if way == "completion" else f',"{field}":{any_literal(rng)}'
            self._note(send(client, "post", f"/v2/jobs/{job}/{way}", f'{{"variables":{nasty_object(rng, "n")}{more}}}'))
        for job in activated(client, "nasty-job"):
            change = f'{{"changeset":{{"{rng.choice(("retries", "timeout"))}":{any_literal(rng)}}}}}'
            self._note(send(client, "patch", f"/v2/jobs/{job}", change))

    def _lines(self, client: httpx.Client, rng: Random) -> None:
        """Every line of bulk is answered, and good ones beside bad ones are taken."""
        good = json.dumps({"name": "good-line", "key": f"b-{rng.randrange(10**9)}", "ttl": "1h"})
        names = ("name", "key", "id", "ttl", "variables", "tenant", "business_id", "published_at")
        bad = [
            f'{{"name":"x","{rng.choice(names[1:])}":{any_literal(rng)}}}' if rng.random() < 0.7 else any_literal(rng)
            for _ in range(rng.randint(1, 6))
        ]
        lines = [good, *[line for line in bad if line.strip()], good]
        answer = self._note(send(client, "post", "/conjoin/v1/messages/bulk", "\n".join(lines) + "\n", _NDJSON))
        if answer.status == "200":
            told = [json.loads(line) for line in answer.text.splitlines()]
            if [it.get("line") for it in told] != [*range(1, len(lines) + 1)] or "key" not in told[0] | told[-1]:
                self.bad.append(answer)
        channel = rng.choice(("nasty", "mapped"))
        self._note(send(client, "post", f"/conjoin/v1/inbox/{channel}", "\n".join(lines) + "\n", _NDJSON))
        self._note(send(client, "post", f"/conjoin/v1/inbox/{channel}", any_literal(rng)))

    def _alive(self, client: httpx.Client, rng: Random) -> None:
        begun = time.monotonic()
        client.get("/health/live")
        self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
        time.sleep(0.1)


_MODELS = every_model()


def keys_of(client: httpx.Client) -> Iterator[str]:
    """Of the newest of everything."""
    for what in ("process-instances", "element-instances", "jobs", "incidents", "user-tasks", "message-subscriptions"):
        asked = '{"page":{"limit":5},"sort":[{"field":"processInstanceKey","order":"DESC"}]}'
        answer = send(client, "post", f"/v2/{what}/search", asked)
        for item in json.loads(answer.text)["items"] if answer.status == "200" else ():
            yield from (str(value) for name, value in item.items() if name.endswith("Key") and str(value).isdecimal())


def activated(client: httpx.Client, type_: str) -> list[str]:
    wanted = {"type": type_, "worker": "w", "timeout": 60_000, "maxJobsToActivate": 20, "requestTimeout": -1}
    answer = client.post("/v2/jobs/activation", json=wanted)
    return [job["jobKey"] for job in answer.json().get("jobs", ())] if answer.status_code == 200 else []


def deploy(client: httpx.Client, models: list[tuple[str, bytes]]) -> None:
    for start in range(0, len(models), 20):
        files = [("resources", (f"{name}.bpmn", content)) for name, content in models[start : start + 20]]
        answer = client.post("/v2/deployments", files=files)
        assert answer.status_code == 200, answer.text


def finish(client: httpx.Client, type_: str, variables: Callable[[int], dict[str, Any]], most: int) -> int:
    """Complete so many jobs of a type as they come; how many there were."""
    done, until = 0, time.monotonic() + LONGEST_S
    while done < most and time.monotonic() < until:
        for job in activated(client, type_):
            answer = client.post(f"/v2/jobs/{job}/completion", json={"variables": variables(done)})
            assert answer.status_code == 204, answer.text
            done += 1
        time.sleep(0.05)
    return done


def start(client: httpx.Client, process: str) -> None:
    for _ in range(GOOD):
        answer = client.post("/v2/process-instances", json={"processDefinitionId": process})
        assert answer.status_code == 200, answer.text


def test_nasty_values_stop_nothing(server: ServingProcess, tmp_path: Path, url: str | None, seed: int) -> None:
    attack = Attack(server, seed)
    with httpx.Client(base_url=server.rest, timeout=LONGEST_S) as client:
        deploy(client, [*GOOD_MODELS, *_MODELS])
        attack.run()
        again = f"again: SEED={seed} SECONDS={SECONDS:g}\n{attack.statuses}\n{server.complaints[-4_000:]}"
        assert attack.bad == [], f"{attack.bad[:5]}\n{again}"
        assert attack.statuses["200"] > 0
        assert attack.statuses["400"] > 0
        assert attack.slowest_s < LONGEST_S / 2, again
        start(client, "good-timer")
        assert finish(client, "good-timer", lambda number: {}, GOOD) == GOOD, again
        start(client, "good-mail")
        assert finish(client, "good-key", lambda number: {"key": f"good-{number}"}, GOOD) == GOOD, again
        for number in range(GOOD):
            sent = {"name": "good", "correlationKey": f"good-{number}", "timeToLive": 3_600_000}
            assert client.post("/v2/messages/publication", json=sent).status_code == 200, again
        assert finish(client, "good-mail", lambda number: {}, GOOD) == GOOD, again
        assert client.get("/health/ready").status_code == 200, again
    assert server.stop() == 0, again
    assert server.complaints == "", again
    assert verified(tmp_path / "store", url), again
