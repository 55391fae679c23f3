"""The schedule of an inbox on a cluster: a worker is killed in it, and every message is delivered, none twice."""

import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from conjoin.fault_points import VARIABLE as FAULT
from conjoin.runtime.inbox.configuration import read_inbox
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.receiving import Row
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.store import tables as t
from tests.bpmn.snippets import BEGIN, END, PAID, catch, model
from tests.cluster.standalone import Cluster
from tests.cluster.test_cluster import SHARDS, await_open_transaction, said, start
from tests.runtime.targets.servers import answering, running_target

OWN, REMOTE = 400, 40
ORDER = model(BEGIN + catch("paid") + END, "begin>paid paid>end", PAID)


def rows(channel: str, count: int) -> list[Row]:
    return [
        Row(channel, number, json.dumps({"id": f"{channel}-{number}", "name": "paid", "key": f"o-{number}"}).encode())
        for number in range(count)
    ]


def test_worker_that_is_killed_in_a_run_of_the_schedule_loses_nothing_and_repeats_nothing(
    cluster: Cluster, postgres_server: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    url = postgres_server.new_database()
    section: dict[str, Any] = {"page_size": 20, "channels": {"own": {}, "remote": {"target": "erp"}}}
    with running_target() as target, closing(create_broker(url, SHARDS)) as broker:
        target.way = answering(200, '{"messageKey": "7", "tenantId": "<default>"}')
        section["targets"] = {"erp": {"kind": "camunda8", "url": target.url, "calls_in_flight": 4}}
        broker.deploy([("order.bpmn", ORDER)])
        for number in range(OWN):
            broker.create_instance("order", {"orderId": f"o-{number}"})
        settings, channels = read_inbox(section)
        inbox = Inbox(broker, settings, channels)
        assert (inbox.receive_rows("own", rows("own", OWN)).persisted) == OWN
        assert (inbox.receive_rows("remote", rows("remote", REMOTE)).persisted) == REMOTE
        monkeypatch.setenv("CONJOIN_INBOX", json.dumps(section))
        doomed = cluster.add_worker(**{FAULT: "written:4:600"})
        cluster.add_worker()
        command = start("conjoin", "inbox", "run", "--master", cluster.url, "--store", url, "--json")
        try:
            await_open_transaction(url, command)
            cluster.kill(doomed)
            counts = json.loads(said(command))
        finally:
            command.kill()
        # What the killed task had committed is known to the store, and no longer counted.
        assert 0 < OWN + REMOTE - counts["correlated"] <= 100
        called = Counter(json.loads(seen.body)["messageId"] for seen in target.seen)
    assert called == dict.fromkeys((f"remote-{number}" for number in range(REMOTE)), 1)
    with closing(open_broker(url)) as broker:
        states = Counter(row.state for row in broker.store.rows(t.INBOX, {}, None, 10_000))
        taken = Counter(row.message_id for row in broker.store.rows(t.MESSAGE, {"verdict": "correlated"}, None, 10_000))
        ended = Counter(row.state for row in broker.store.rows(t.INSTANCE, {}, None, 10_000))
    assert states == {"done": OWN + REMOTE}
    assert taken == dict.fromkeys((f"own-{number}" for number in range(OWN)), 1)
    assert ended == {"completed": OWN}
