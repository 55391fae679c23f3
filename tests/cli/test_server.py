"""--server: the same commands through a server, with its roles; and what is said when there is none."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conjoin.client import Client
from conjoin.gateway.security.configuration import read_security
from conjoin.gateway.serving import Served
from conjoin.runtime.inbox.configuration import read_inbox
from conjoin.runtime.inbox.inbox import Inbox
from tests.cli.command import ALARM, ORDER, Command
from tests.gateway.server_thread import ServerThread


@pytest.fixture(scope="module")
def server() -> Iterator[ServerThread]:
    server = ServerThread()
    settings, channels = read_inbox({"channels": {"orders": {}}})
    server.service.inbox = Inbox(server.broker, settings, channels)
    yield server
    server.stop()


@pytest.fixture
def operator(server: ServerThread, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> Command:
    """Without a store; the server is named in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("CONJOIN_SERVER", server.rest)
    for name, content in (("order", ORDER), ("alarm", ALARM)):
        Path(f"{name}.bpmn").write_bytes(content)
    command = Command(capsys)
    command.tells("model deploy order.bpmn alarm.bpmn")
    return command


def lines(operator: Command, line: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in operator.tells(f"{line} --json").splitlines()]


def test_an_order_lives_through_a_server(operator: Command) -> None:
    order = operator.order("s-1")
    assert [it["key"] for it in lines(operator, "instances --process order --state active")] == [order]
    assert [it["instance_key"] for it in lines(operator, "subscriptions --key s-1 --state open")] == [order]
    told = operator.json("message publish paid --key s-1 --variables '{\"amount\": 40}'")
    assert (told["verdict"], [it["instance_key"] for it in told["taken_by"]]) == ("correlated", [order])
    assert told["sentence"] in operator.tells(f"message explain {told['key']}")
    assert 'variables {"amount":40}' in operator.tells(f"message show {told['key']}")
    [listed] = lines(operator, "messages --key s-1")
    assert (listed["key"], listed["verdict"]) == (told["key"], "correlated")
    [job] = lines(operator, f"jobs --instance {order}")
    assert operator.job("ship") == job["key"]
    operator.tells(f"job fail {job['key']} --retries 0 --errorMessage 'no stock'")
    [incident] = lines(operator, f"incidents --instance {order}")
    assert (incident["text"], incident["job_key"]) == ("no stock", job["key"])
    operator.tells(f"instance set-variables {order} --variables '{{\"stock\": 1}}'")
    operator.tells(f"job update-retries {job['key']} --retries 1")
    operator.tells(f"instance resolve {incident['key']}")
    operator.tells(f"job throw-error {operator.job('ship')} --errorCode sold-out")
    operator.tells(f"job complete {operator.job('refund')}")
    assert [it["state"] for it in lines(operator, "instances --process order --state completed")] == ["completed"]
    assert not Path("conjoin-data").exists()


def test_refusals_and_tables_are_those_of_a_store(operator: Command) -> None:
    assert operator.refuses("instance cancel 7").startswith("NOT_FOUND: ")
    assert operator.refuses("message correlate paid --key nobody").startswith("NOT_FOUND: ")
    assert json.loads(operator("instance create nothing --json").out)["refused"] == "NOT_FOUND"
    order = operator.order("s-2")
    header, *rows = operator.tells("instance list --process order").splitlines()
    assert header.split()[:3] == ["key", "process", "id"]
    assert any(row.startswith(order) for row in rows)
    another = operator.order("s-4")
    first, more = lines(operator, "instances --process order --state active --limit 1")
    second, *rest = lines(operator, f"instances --process order --state active --limit 5 --after {more['after']}")
    assert ({first["key"], second["key"]}, rest) == ({order, another}, [])
    operator.tells(f"instance cancel {another}")
    assert operator.tells(f"instance cancel {order}") == f"cancelled instance {order}"
    operator.tells("message signal fire")
    assert lines(operator, "instance list --process alarm")
    assert operator.tells("store set-aside list") == "nothing is set aside"
    assert "order" in operator.tells("model list")


def test_unsent_message_policies_and_files_go_through_a_server(operator: Command) -> None:
    named = operator.json("message explain --name paid --key s-3")
    assert named["dry_run"]["sentence"].startswith("If it were published now")
    assert operator.json("store policy set of-a-server time_to_live=1h")["policy"] == {"time_to_live": "1h"}
    assert "policy of-a-server: time_to_live=1h" in operator.tells("store policy list")
    Path("m.jsonl").write_text('{"name": "of-a-file", "key": "a"}\nnot json\n{"name": "of-a-file", "key": "b"}\n')
    said = operator("message publish --file m.jsonl --json")
    assert (said.code, json.loads(said.out)["published"], "m.jsonl:2: " in said.err) == (1, 2, True)
    assert "--resume" in operator.cannot("message publish --file m.jsonl --resume x")


def test_operator_looks_after_the_inbox_of_a_server(operator: Command, server: ServerThread) -> None:
    with Client(server.rest) as client:
        for number in range(2):
            client.request("POST", "/conjoin/v1/inbox/orders", {"id": f"m-{number}", "name": "paid", "key": "nobody"})
    first, second = (it["key"] for it in lines(operator, "inbox list --channel orders --state waiting"))
    assert operator.tells(f"inbox pause {first}") == "1 messages paused"
    assert operator.json("inbox resume --all --dry-run") == {"changed": 1, "refused": {}, "dry_run": True}
    assert operator.tells("inbox resume --all --yes") == "1 messages resumed"
    assert operator.json(f"inbox set {second} --attempts 1")["attempts"] == 1
    said = operator(f"inbox delete {first} 7")
    assert (said.code, said.out) == (1, "1 messages deleted, 1 not: 1 not found\n")
    assert "--since" in operator.cannot("inbox retry --since 1h --yes")


def test_operator_receives_shows_and_corrects_through_a_server(operator: Command) -> None:
    Path("rows.jsonl").write_text('{"name": "paid", "key": "c-1"}\n\nnonsense\n{"name": "paid", "key": "c-2"}\n')
    assert operator.json("inbox receive orders rows.jsonl --source day") == {
        **{"received": 3, "accepted": 2, "persisted": 2, "dead_lettered": 1}
    }
    assert operator.json("inbox receive orders rows.jsonl --source day")["duplicate"] == 2
    letter, *_ = lines(operator, "dead-letters --source orders")
    assert (letter["part"], letter["position"], letter["row"]) == ("day", 3, "nonsense")
    [item] = lines(operator, "inbox list --key c-2")
    assert item["message_id"] == "day-4"
    order = operator.order("c-9")
    corrected = operator.json(f'inbox correct {item["key"]} --key c-9 --hint \'{{"variables": {{"n": 1}}}}\'')
    assert (corrected["key"], corrected["state"]) == (item["key"], "waiting")
    shown = operator.json(f"inbox show {item['key']}")
    assert (shown["correlation_key"], shown["hint"]["variables"], shown["payload"]) == ("c-9", {"n": 1}, "{}")
    assert [line["kind"] for line in shown["history"]] == ["correct"]
    assert "correct by rest" in operator.tells(f"inbox show {item['key']}")
    Path("payload").write_bytes(b"\xff")
    assert "is not UTF-8" in operator.cannot(f"inbox correct {item['key']} --payload payload")
    assert operator.refuses("inbox show 7").startswith("NOT_FOUND: ")
    assert operator.refuses("inbox correct 7 --key x").startswith("not_found: ")
    operator.tells(f"instance cancel {order}")


def test_row_of_a_table_that_has_no_line_is_reported_and_the_rest_is_received(operator: Command) -> None:
    Path("rows.csv").write_text("name,key\npaid,t-1\npaid\npaid,t-3\n")
    said = operator("inbox receive orders rows.csv --source table --json")
    assert (said.code, json.loads(said.out)) == (1, {"received": 2, "accepted": 2, "persisted": 2, "bad_lines": 1})
    assert said.err == "conjoin: table:2: has 1 values, and the header has 2\n"
    assert [it["message_id"] for it in lines(operator, "inbox list --key t-3")] == ["table-3"]
    assert "There is no channel 'nowhere'" in operator.refuses("inbox receive nowhere rows.csv")


def test_status_is_that_of_the_server(operator: Command, server: ServerThread) -> None:
    order = operator.order("s-9")
    told = operator.json("store status")
    assert (told["store"], told["profile"], told["processes"]["order"]) == (server.rest, "zeebe", 1)
    assert [it["shard"] for it in told["shards"]] == list(range(server.broker.shard_count))
    assert told["open"]["instances"] > 0
    header, *_, last = operator.tells("store status").splitlines()
    assert header == f"{server.rest}: profile zeebe"
    assert (last.split()[0], last.split()[5]) == ("all", "-")
    operator.tells(f"instance cancel {order}")


def test_store_that_a_flag_names_counts_before_the_server_of_the_settings(
    operator: Command, server: ServerThread
) -> None:
    operator.tells("store init --data here --shards 1")
    assert operator.tells("instances --data here") == "no instances"
    told = operator.cannot(f"instances --data here --server {server.rest}")
    assert told == "--server and a store are two places: give one of them"


def test_server_that_is_away_or_no_address_is_one_line(operator: Command) -> None:
    told = operator.cannot("instances --server http://127.0.0.1:1")
    assert told.startswith("GET /conjoin/v1/instances: ")
    assert operator.cannot("instances --server here").startswith("flag --server: server.url = a text: ")
    assert "two ways" in operator.cannot("instances --token t --user me")
    assert operator.cannot("instances --ca gone.pem").startswith("gone.pem: cannot be used: ")


def test_roles_of_the_server_hold_for_commands(operator: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    token = operator.json("tokens add ann --role reader --file callers.json")["token"]
    security = read_security({"callers": "callers.json", "roles": {"reader": {"actions": ["read"]}}})
    server = ServerThread(served=Served(grpc_port=0, rest_port=0, guard=security.guard))
    try:
        monkeypatch.setenv("CONJOIN_SERVER", server.rest)
        assert operator.tells(f"instances --token {token}") == "no instances"
        assert "needs a role that allows to publish" in operator.cannot(f"message publish paid --token {token}")
        monkeypatch.setenv("CONJOIN_TOKEN", "s3cret")
        said = operator("instances")
        assert (said.code, "s3cret" in said.out + said.err) == (2, False)
    finally:
        server.stop()


def test_a_message_is_sent_in_place_of_another_through_a_server(operator: Command) -> None:
    lost = operator.json("publish paid --key replaced-1")["key"]
    again = operator.json(f"publish paid --key replaced-2 --replaces {lost}")["key"]
    [other] = operator.json(f"explain {lost}")["related"]
    assert (other["relation"], other["message"]) == ("replaced_by", again)
    assert "no message with key 7 is known" in operator.refuses("publish paid --key replaced-3 --replaces 7")
    assert lost not in operator.tells("message list --verdict discarded --json")
    assert lost in operator.tells("message list --verdict discarded --replaced --json")
