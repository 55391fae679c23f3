"""A server on PostgreSQL: texts as long as they may be, and the loss of its lock.

The texts have four bytes a character and do not compress: an index of the database would not hold them as they are.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from conjoin.runtime.opening import create_broker
from conjoin.store import open_store
from tests.bpmn.snippets import BEGIN, END, PAID, catch, extended, model, timer
from tests.gateway.robust.serving import ServingProcess

LONGEST_S = 60.0
SEED = 20261117
INBOX = '[inbox]\npoll_interval = "200ms"\npoll_initial_delay = "200ms"\n[inbox.channels.orders]\n'
SOON = f'<intermediateCatchEvent id="soon">{timer("timeDuration", "PT1S")}</intermediateCatchEvent>\n'
WORK = extended("serviceTask", "work", '<zeebe:taskDefinition type="=kind"/>')
ALARM = '<intermediateCatchEvent id="alarm"><signalEventDefinition signalRef="s"/></intermediateCatchEvent>\n'
SIGNAL = '<signal id="s" name="=alarm"/>'


def named(name: str, content: bytes) -> tuple[str, bytes]:
    return f"{name}.bpmn", content.replace(b'process id="order"', f'process id="{name}"'.encode())


MODELS = [
    named("late", model(BEGIN + SOON + catch("paid") + END, "begin>soon soon>paid paid>end", PAID)),
    named("worked", model(BEGIN + SOON + WORK + END, "begin>soon soon>work work>end")),
    named("alarmed", model(BEGIN + SOON + ALARM + END, "begin>soon soon>alarm alarm>end", SIGNAL)),
]


def long_text(number: int) -> str:
    return "".join(map(chr, Random(SEED + number).choices(range(0x10000, 0x110000), k=32_768)))


@pytest.fixture(scope="module")
def url(postgres_server: Any) -> Iterator[str]:
    url = postgres_server.new_database()
    with closing(create_broker(url, 2)) as broker:
        broker.deploy(MODELS)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="module")
def rest(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "conjoin.toml").write_text(INBOX)
    served = ServingProcess(folder / "store", url=url)
    with httpx.Client(base_url=served.rest, timeout=LONGEST_S) as client:
        yield client
    assert served.stop() == 0


def eventually(holds: Callable[[], Any]) -> Any:
    until = time.monotonic() + LONGEST_S
    while not (found := holds()):
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.05)
    return found


def created(rest: httpx.Client, process: str, **variables: Any) -> str:
    answer = rest.post("/v2/process-instances", json={"processDefinitionId": process, "variables": variables})
    assert answer.status_code == 200, answer.text[:500]
    return str(answer.json()["processInstanceKey"])


def is_over(rest: httpx.Client, instance: str) -> bool:
    return bool(rest.get(f"/v2/process-instances/{instance}").raise_for_status().json()["state"] == "COMPLETED")


def publish(rest: httpx.Client, key: str, **more: Any) -> Any:
    answer = rest.post("/conjoin/v1/messages", json={"name": "paid", "key": key, "ttl": "1h", **more})
    assert answer.status_code in (200, 409), answer.text[:500]
    return answer.json()


def test_a_long_key_behind_a_timer_is_awaited_and_the_others_too(rest: httpx.Client) -> None:
    key = long_text(1)
    instances = {it: created(rest, "late", orderId=it) for it in (key, "o-1")}
    for it in instances:
        publish(rest, it)
    for instance in instances.values():
        assert eventually(lambda it=instance: is_over(rest, it))  # type: ignore[misc]
    assert rest.get("/health/ready").status_code == 200


def test_a_nul_character_in_a_key_behind_a_timer_stops_no_other_timer(rest: httpx.Client) -> None:
    poisoned = created(rest, "late", orderId="\0")
    keys = [f"nul-{number}" for number in range(4)]
    others = [created(rest, "late", orderId=key) for key in keys]
    for key in keys:
        publish(rest, key)
    for instance in others:
        assert eventually(lambda it=instance: is_over(rest, it))  # type: ignore[misc]
    body = {"filter": {"processInstanceKey": poisoned}}
    assert eventually(lambda: rest.post("/v2/incidents/search", json=body).json()["items"])


def test_long_names_and_ids_are_kept_apart(rest: httpx.Client) -> None:
    key, name = long_text(2), long_text(3)
    first, again, other = (publish(rest, key, name=name, id=long_text(number)) for number in (4, 4, 5))
    assert first["verdict"] == other["verdict"] == "buffered"
    assert again["title"] == "ALREADY_EXISTS"


def test_a_long_job_type_is_worked_on(rest: httpx.Client) -> None:
    kind = long_text(6)
    instance = created(rest, "worked", kind=kind)

    def jobs() -> Any:
        body = {"type": kind, "timeout": 60_000, "maxJobsToActivate": 5, "requestTimeout": -1}
        return rest.post("/v2/jobs/activation", json=body).json()["jobs"]

    [job] = eventually(jobs)
    rest.post(f"/v2/jobs/{job['jobKey']}/completion", json={})
    assert eventually(lambda: is_over(rest, instance))


def test_a_long_signal_is_heard(rest: httpx.Client) -> None:
    alarm = long_text(7)
    instance = created(rest, "alarmed", alarm=alarm)

    def heard() -> bool:
        assert rest.post("/v2/signals/broadcast", json={"signalName": alarm, "variables": {}}).status_code == 200
        return is_over(rest, instance)

    assert eventually(heard)


def test_the_inbox_takes_long_keys(rest: httpx.Client, url: str) -> None:
    key = long_text(8)
    instances = {it: created(rest, "late", orderId=it) for it in (key, "o-2")}
    for it in instances:
        eventually(lambda it=it: is_awaited(url, it))  # type: ignore[misc]
        answer = rest.post("/conjoin/v1/inbox/orders", json={"name": "paid", "key": it})
        assert answer.status_code == 202, answer.text[:500]
    for instance in instances.values():
        assert eventually(lambda it=instance: is_over(rest, it))  # type: ignore[misc]


def test_a_server_whose_lock_was_cut_takes_it_again_or_does_not_write(rest: httpx.Client, url: str) -> None:
    with closing(open_store(url)) as other:
        cut(url)
        eventually(lambda: is_held(url))
        cut(url)
        with taken_alone(other, url):
            eventually(lambda: rest.get("/health/ready").status_code == 503)
            refused = rest.post("/conjoin/v1/messages", json={"name": "paid", "key": "o-3", "ttl": "1h"})
            assert refused.status_code == 503
            assert "in use by conjoin store reshard" in refused.text
        eventually(lambda: rest.get("/health/ready").status_code == 200)
        eventually(lambda: is_held(url))
        assert publish(rest, "o-4")["verdict"] == "buffered"


def taken_alone(other: Any, url: str) -> Any:
    """Before the server does, however often it must be cut."""
    from contextlib import ExitStack

    from conjoin.errors import StoreInUse

    stack = ExitStack()

    def taken() -> bool:
        try:
            stack.enter_context(other.held("conjoin store reshard", alone=True))
        except StoreInUse:
            cut(url)
            return False
        return True

    eventually(taken)
    return stack


def is_awaited(url: str, key: str) -> bool:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        return bool(
            connection.execute("select 1 from conjoin.subscription where correlation_key = %s", (key,)).fetchall()
        )


def cut(url: str) -> None:
    _sessions(url, "pg_terminate_backend(pid, 10000)")


def is_held(url: str) -> bool:
    return bool(_sessions(url, "pid"))


def _sessions(url: str, wanted: str) -> list[Any]:
    """Of the server's lock."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(
            f"select {wanted} from pg_stat_activity where application_name = 'conjoin serve'"
            " and datname = current_database()".encode()
        ).fetchall()
