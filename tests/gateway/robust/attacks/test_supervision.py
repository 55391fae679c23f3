"""Poison in a store, a runaway and a clock that jumps: the rest goes on, health is green, and a person is told.

The poison lies in the store when the server starts, as an earlier version may have left it: an instance that cannot be
read, with a timer; an order between two shards that nobody knows; a message of the inbox whose content is damaged. Each
has a store of its own, so that nothing stands still but by it.
"""

import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from conjoin.fault_points import CLOCK_VARIABLE
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance
from conjoin.runtime.opening import create_broker
from tests.bpmn.snippets import BEGIN, END, PAID, catch, model
from tests.gateway.robust.serving import ServingProcess

WAIT_S = 240
INBOX = '[inbox]\npoll_interval = "200ms"\n[inbox.channels.orders]\n'
WAIT = (
    '<intermediateCatchEvent id="wait"><timerEventDefinition><timeDuration>PT1S</timeDuration>'
    "</timerEventDefinition></intermediateCatchEvent>"
)
JOB = '<serviceTask id="job"><extensionElements><zeebe:taskDefinition type="t"/></extensionElements></serviceTask>'
CALL = (
    '<callActivity id="call"><extensionElements><zeebe:calledElement processId="=p"/></extensionElements>'
    "</callActivity>"
)


def named(name: str, content: bytes) -> bytes:
    return content.replace(b'process id="order"', f'process id="{name}"'.encode())


MODELS = [
    ("timers.bpmn", named("timers", model(BEGIN + WAIT + END, "begin>wait wait>end"))),
    ("late.bpmn", named("late", model(BEGIN + JOB + catch("paid") + END, "begin>job job>paid paid>end", PAID))),
    ("again.bpmn", named("again", model(BEGIN + WAIT + CALL + END, "begin>wait wait>call call>end"))),
    ("endless.bpmn", named("endless", model(BEGIN + CALL + END, "begin>call call>end"))),
]


def poison(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def nothing(broker: Broker) -> dict[int, list[str]]:
    return {}


def instance_with_a_timer(broker: Broker) -> dict[int, list[str]]:
    created = broker.create_instance("timers", {})
    assert isinstance(created, CreatedInstance)
    statement = f"update instance set body = '[' where key = {created.key}"
    return {broker.homes.shard_of_record(created.key): [statement]}


def mail_of_the_first_shard(broker: Broker) -> dict[int, list[str]]:
    sent = "insert into outbox (seq, receiver, counter, command) select sent + 1, 1, 0, '[\"Nonsense\"]' from shard"
    return {0: [sent, "update shard set sent = sent + 1"]}


class Served(NamedTuple):
    process: ServingProcess
    folder: Path
    http: httpx.Client


@contextmanager
def serving(folder: Path, poisoned: Callable[[Broker], dict[int, list[str]]]) -> Iterator[Served]:
    (folder / "conjoin.toml").write_text(INBOX)
    with closing(create_broker(folder / "store", 2)) as broker:
        broker.deploy(MODELS)
        statements = poisoned(broker)
    for shard, its in statements.items():
        poison(folder / f"store/shard-{shard:02}.db", *its)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CLOCK_VARIABLE, str(folder / "clock"))
        process = ServingProcess(folder / "store")
    try:
        with httpx.Client(base_url=process.rest, timeout=WAIT_S) as http:
            yield Served(process, folder, http)
        assert process.stop() == 0
    finally:
        process.kill()


@pytest.fixture(scope="module")
def poisoned_timer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("timer"), instance_with_a_timer) as served:
        yield served


@pytest.fixture
def poisoned_mail(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, mail_of_the_first_shard) as served:
        yield served


@pytest.fixture
def clean(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, nothing) as served:
        yield served


def until(condition: Callable[[], Any]) -> Any:
    give_up = time.monotonic() + WAIT_S
    while not (found := condition()):
        assert time.monotonic() < give_up
        time.sleep(0.05)
    return found


def start(http: httpx.Client, process_id: str, **variables: object) -> str:
    body = {"processDefinitionId": process_id, "variables": variables}
    return str(http.post("/v2/process-instances", json=body).raise_for_status().json()["processInstanceKey"])


def is_over(http: httpx.Client, instance: str) -> bool:
    return bool(http.get(f"/v2/process-instances/{instance}").raise_for_status().json()["state"] == "COMPLETED")


def set_aside(http: httpx.Client, **wanted: str) -> list[Any]:
    return list(http.get("/conjoin/v1/set-aside", params=wanted).raise_for_status().json()["items"])


def ready(http: httpx.Client) -> Any:
    return http.get("/health/ready").json()


def check_timers(http: httpx.Client) -> None:
    started = [start(http, "timers") for _ in range(6)]
    until(lambda: all(is_over(http, instance) for instance in started))


def test_a_timer_that_cannot_fire_stops_no_other(poisoned_timer: Served) -> None:
    http = poisoned_timer.http
    check_timers(http)
    item = until(lambda: set_aside(http, kind="timer"))[0]
    assert "DecodeError" in item["reason"]
    assert http.post(f"/conjoin/v1/set-aside/{item['key']}/retry").status_code == 409
    assert http.delete(f"/conjoin/v1/set-aside/{item['key']}").status_code == 204
    assert set_aside(http, kind="timer", state="waiting") == []
    check_timers(http)
    assert until(lambda: ready(http)["status"] == "UP")


def test_what_went_wrong_is_logged_with_its_time_and_counted(poisoned_timer: Served) -> None:
    """The same goes for health: it was seen there while it failed, and the jobs go on."""
    served, _, http = poisoned_timer
    line = r"^\d{4}-\d\d-\d\dT\S+ ERROR \S+: shard-\d failed while carrying out .*: \w+Error: "
    until(lambda: re.search(line, served.complaints, re.MULTILINE))
    counted = r'^conjoin_background_failures_total{job="shard-\d"} [1-9]'
    until(lambda: re.search(counted, http.get("/metrics").text, re.MULTILINE))
    jobs = {job["name"] for job in ready(http)["jobs"]}
    assert {"shard-0", "shard-1", "sweep-0", "sweep-1", "mail", "inbox"} <= jobs


def test_mail_that_nobody_can_take_stops_no_other(poisoned_mail: Served) -> None:
    http = poisoned_mail.http
    started = [start(http, "late") for _ in range(8)]
    wanted = {"type": "t", "maxJobsToActivate": 8, "timeout": 60_000, "worker": "w", "requestTimeout": 10_000}
    done: list[str] = []
    while len(done) < len(started):
        for job in http.post("/v2/jobs/activation", json=wanted).raise_for_status().json()["jobs"]:
            done.append(f"o-{len(done)}")
            answer = {"variables": {"orderId": done[-1]}}
            http.post(f"/v2/jobs/{job['jobKey']}/completion", json=answer).raise_for_status()
    for key in done:
        http.post("/v2/messages/publication", json={"name": "paid", "correlationKey": key, "timeToLive": 60_000})
    until(lambda: all(is_over(http, instance) for instance in started))
    [item] = until(lambda: set_aside(http, kind="mail"))
    assert "Nonsense" in item["reason"]
    until(lambda: re.search(r"^conjoin_set_aside [1-9]", http.get("/metrics").text, re.MULTILINE))


def test_a_process_that_calls_itself_behind_a_timer_is_carried_out_once(clean: Served) -> None:
    served, _, http = clean
    before = served.peak_mb
    runaway = start(http, "again", p="endless")
    for _ in range(3):
        check_timers(http)
    assert served.peak_mb < before + 500
    [item] = until(lambda: set_aside(http, instance=runaway))
    assert (item["instance_key"], item["attempts"], item["next_try_at"]) == (runaway, 1, None)
    assert "no end in sight" in item["reason"]
    assert served.peak_mb < before + 500
    assert until(lambda: ready(http)["status"] == "UP")


def test_a_clock_that_jumps_stops_neither_timers_nor_deadlines_nor_figures(clean: Served) -> None:
    _, folder, http = clean

    def expires(key: str) -> None:
        message = {"name": "none", "key": key, "ttl": "1s", "wait_ms": 30_000}
        assert http.post("/conjoin/v1/messages", json=message).raise_for_status().json()["verdict"] == "expired"

    (folder / "clock").write_text("-3600")
    check_timers(http)
    expires("back")
    (folder / "clock").write_text("3600")
    start(http, "timers")
    (folder / "clock").write_text("0")
    check_timers(http)
    expires("ahead")
    figures = http.get("/metrics").text
    jumps = re.search(r"^conjoin_clock_jumps_total (\S+)", figures, re.MULTILINE)
    assert jumps is not None
    assert float(jumps[1]) >= 1
    # What is over by its deadline is told as expired before the sweep has written it.
    expired = 'conjoin_verdicts_total{reason="nobody_waited",verdict="expired"} 2.0'
    assert until(lambda: expired in http.get("/metrics").text.splitlines())
    assert ready(http)["status"] == "UP"


def test_a_message_of_the_inbox_that_cannot_be_read_stops_no_other(clean: Served) -> None:
    _, folder, http = clean

    def received(id_: str) -> str:
        row = {"id": id_, "name": "none", "key": id_, "variables": {"n": 1}}
        assert http.post("/conjoin/v1/inbox/orders", json=row).json()["persisted"] == 1
        [item] = http.get("/conjoin/v1/inbox", params={"id": id_}).json()["items"]
        return str(item["key"])

    def attempts(key: str) -> int:
        return int(http.get(f"/conjoin/v1/inbox/messages/{key}").json()["attempts"])

    poisoned = received("poison")
    for file in folder.glob("store/shard-*.db"):
        poison(file, f"update inbox_content set about = '[' where key = {poisoned}")
    others = [received(f"good-{number}") for number in range(6)]
    until(lambda: all(attempts(key) for key in others))
    assert until(lambda: ready(http)["status"] == "UP")
