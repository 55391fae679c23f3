"""conjoin store init: a new store, its shards, its profile and its policies; never over another."""

from pathlib import Path

import pytest

from tests.cli.command import ORDER, Command

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("cores", "shards"), [(1, 2), (2, 2), (8, 8)])
def test_store_has_as_many_shards_as_there_are_cores_but_two_at_least(
    cores: int, shards: int, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    told = command.json("init")
    assert told == {"store": "conjoin-data", "shards": shards, "profile": "zeebe", "unique_business_ids": False}
    assert len(command.json("status")["shards"]) == shards


def test_directory_is_made_and_the_next_command_names_it(command: Command) -> None:
    told = command.tells("init --data deep/inside --shards 1 --profile fleans")
    assert told.splitlines() == [
        "made a store in deep/inside: 1 shard, profile fleans",
        "Next: conjoin model deploy order.bpmn --data deep/inside",
    ]
    assert command.json("status --data deep/inside")["profile"] == "fleans"


def test_business_ids_are_unique_where_the_store_was_made_so(command: Command) -> None:
    told = command.tells("init --shards 1 --unique-business-ids").splitlines()[0]
    assert told == "made a store in conjoin-data: 1 shard, profile zeebe, unique business ids"
    assert command.json("status")["unique_business_ids"] is True
    assert command.tells("status").splitlines()[0] == "conjoin-data: profile zeebe, unique business ids"
    Path("order.bpmn").write_bytes(ORDER)
    command.tells("deploy order.bpmn")
    command.tells('create order --businessId b-1 --variables \'{"orderId": "o-1"}\'')
    refused = command.refuses('create order --businessId b-1 --variables \'{"orderId": "o-2"}\'')
    assert "of order has the business id 'b-1'" in refused


@pytest.mark.parametrize("shards", ["", "--shards 2"])
def test_unique_business_ids_need_one_shard(shards: str, command: Command) -> None:
    told = command.cannot(f"init {shards} --unique-business-ids")
    assert told == "unique business ids need a store with 1 shard: which instance holds an id is known within one shard"
    assert not Path("conjoin-data").exists()


def test_store_that_is_there_is_not_touched(shop: Command) -> None:
    shop.order()
    assert shop.cannot("init") == "conjoin-data holds a store already: open it, or choose another place"
    assert shop.open() == {"instances": 1, "subscriptions": 1}


def test_policies_of_the_file_become_those_of_the_store(command: Command) -> None:
    Path("conjoin.toml").write_text('profile = "correlate"\n[policies.paid]\ndedup = "7d"\nexpected = "off"')
    command.tells("init --shards 1")
    Path("conjoin.toml").unlink()
    told = command.json("policy list")
    assert (told["profile"], told["policies"]) == ("correlate", {"paid": {"dedup": "7d", "expected": "off"}})


def test_policies_that_make_no_sense_make_no_store(command: Command) -> None:
    Path("conjoin.toml").write_text('[policies."*"]\ndedup = "soon"')
    assert command.cannot("init").startswith("policy '*': dedup: 'soon' is not ")
    assert not Path("conjoin-data").exists()


@pytest.mark.parametrize(("line", "told"), [("--shards 0", "--shards"), ("--profile camunda", "flag --profile")])
def test_what_cannot_be_is_named(line: str, told: str, command: Command) -> None:
    assert told in command.cannot(f"init {line}")
    assert not Path("conjoin-data").exists()


def test_store_of_the_older_pages_takes_the_bare_name_of_a_variable(command: Command) -> None:
    Path("order.bpmn").write_bytes(ORDER.replace(b'correlationKey="=orderId"', b'correlationKey="orderId"'))
    command.tells("init --data today --shards 1")
    assert "is not an expression" in command.refuses("deploy order.bpmn --data today")
    command.tells("init --shards 1 --profile zeebe-0.2x")
    command.tells("deploy order.bpmn")
    orders = [command.json('create order --variables \'{"orderId": "0000-123"}\'')["key"] for _ in range(2)]
    command.tells("publish message paid --correlationKey 0000-123")
    jobs = command.json("activate ship --max 10")["jobs"]
    assert len(orders) == len(jobs) == 2


def test_deployment_says_what_was_left_out(command: Command) -> None:
    Path("printed.bpmn").write_bytes((EXAMPLES / "documents/camunda7_style.bpmn").read_bytes())
    command.tells("init --shards 1 --profile fleans")
    told = command.tells("deploy printed.bpmn").splitlines()
    assert told[0].startswith("deployed orderProcess version 1")
    assert [line.split(": ")[0] for line in told[1:]] == ["warning"] * 5
    assert len(command.json("deploy printed.bpmn")["warnings"]) == 5
