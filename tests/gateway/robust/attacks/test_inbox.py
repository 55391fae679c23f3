"""What runs beside requests and takes long, or cannot be read: runs of the inbox, operators' actions, notices."""

import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.robust.serving import ServingProcess
from tests.runtime.targets.servers import FakeTarget, Handler, answering, running_target

LONGEST_S = 90.0
LONGER_THAN_A_READING_S = 17
INTERVAL_S = 3
INBOX = """
[inbox]
poll_interval = "{interval}s"
poll_initial_delay = "0s"
[inbox.channels.orders]
"""
TARGET = """
target = "erp"
[inbox.targets.erp]
kind = "camunda7"
url = "{url}"
"""
NOTIFY = """
[notify]
"*" = {{ url = "{url}", variables = true }}
"""


@contextmanager
def serving(folder: Path, settings: str) -> Iterator[httpx.Client]:
    (folder / "conjoin.toml").write_text(settings)
    process = ServingProcess(folder / "store")
    try:
        with httpx.Client(base_url=process.rest, timeout=LONGEST_S) as http:
            yield http
        assert process.stop() == 0
    finally:
        process.kill()


@pytest.fixture
def called() -> Iterator[FakeTarget]:
    with running_target() as target:
        yield target


def until(condition: Callable[[], Any]) -> Any:
    give_up = time.monotonic() + LONGEST_S
    while not (found := condition()):
        assert time.monotonic() < give_up
        time.sleep(0.05)
    return found


def receive(http: httpx.Client, id_: str) -> str:
    row = {"id": id_, "name": "paid", "key": id_, "business_key": id_, "variables": {"n": 1}}
    assert http.post("/conjoin/v1/inbox/orders", json=row).json()["persisted"] == 1
    [item] = http.get("/conjoin/v1/inbox", params={"id": id_}).json()["items"]
    return str(item["key"])


def test_next_run_begins_an_interval_after_the_end_of_a_long_one(called: FakeTarget, tmp_path: Path) -> None:
    """A run that lasts longer than the interval was followed by the next one at once."""
    calls: list[tuple[float, float]] = []

    def slow(handler: Handler) -> None:
        began = time.monotonic()
        handler.server.over.wait(INTERVAL_S + 1)
        answering(204)(handler)
        calls.append((began, time.monotonic()))

    called.way = slow
    with serving(tmp_path, INBOX.format(interval=INTERVAL_S) + TARGET.format(url=called.url)) as http:
        receive(http, "first")
        until(lambda: called.seen)
        receive(http, "second")
        until(lambda: len(calls) == 2)
    assert calls[1][0] - calls[0][1] > INTERVAL_S - 0.5


def test_an_action_of_the_console_is_not_told_as_failed_while_it_goes_on(tmp_path: Path) -> None:
    """Somebody else writes for longer than a reading may take."""
    with serving(tmp_path, INBOX.format(interval=600)) as http, ExitStack() as held:
        key = receive(http, "kept")
        page = http.get(f"/console/inbox/{key}").text
        found = re.search(r'name="token" value="([^"]+)"', page)
        assert found is not None
        form = {"token": found[1], "operation": "pause"}
        writers = [held.enter_context(closing(sqlite3.connect(it))) for it in tmp_path.glob("store/shard-*.db")]
        for writer in writers:
            writer.execute("begin immediate")
        threads = held.enter_context(ThreadPoolExecutor(1))
        sent = threads.submit(http.post, f"/console/inbox/{key}/operate", data=form)
        told, _ = wait([sent], timeout=LONGER_THAN_A_READING_S)
        for writer in writers:
            writer.execute("rollback")
        assert sent.result().status_code == 303
        assert not told, "nobody knew before"
        assert http.get(f"/conjoin/v1/inbox/messages/{key}").json()["state"] == "paused"


def refusing_the_poison(handler: Handler) -> None:
    """The others are taken: what is refused keeps back all behind it."""
    is_poison = json.loads(handler.server.seen[-1].body)["correlationKey"] == "poison"
    answering(503 if is_poison else 204)(handler)


def test_a_notice_that_cannot_be_read_keeps_back_no_other(called: FakeTarget, tmp_path: Path) -> None:
    """Variables of a message are damaged in the store before its notice is sent."""
    settings = NOTIFY.format(url=called.url)
    with serving(tmp_path, settings) as http:

        def publish(key: str) -> None:
            message = {"name": "none", "key": key, "variables": {"n": 1}}
            http.post("/conjoin/v1/messages", json=message).raise_for_status()

        def told() -> set[str]:
            return {json.loads(seen.body)["correlationKey"] for seen in called.seen}

        def is_heard() -> bool:
            # A receiver hears of what happens after it was first served.
            publish("first")
            time.sleep(0.5)
            return bool(called.seen)

        until(is_heard)
        called.way = refusing_the_poison
        publish("poison")
        until(lambda: "poison" in told())
        for file in tmp_path.glob("store/shard-*.db"):
            with closing(sqlite3.connect(file)) as connection, connection:
                connection.execute("update message set variables = '[' where correlation_key = 'poison'")
        called.way = answering(204)
        keys = {f"good-{number}" for number in range(8)}
        for key in keys:
            publish(key)
        until(lambda: told() >= keys)
