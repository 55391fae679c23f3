"""Which store a command works on: flags, environment, file, default; and what is said when there is none."""

from pathlib import Path

import pytest

from conjoin.cli.invocation import address_of
from conjoin.cli.printing import shown
from tests.cli.command import Command

COMMANDS = [
    "deploy order.bpmn",
    "create order",
    "cancel 1",
    "set-variables 1 --variables {}",
    "resolve 1",
    "publish paid",
    "correlate-message paid",
    "signal fire",
    "activate ship",
    "complete 1",
    "fail 1 --retries 1",
    "throw-error 1 --errorCode e",
    "update-retries 1",
    "policy set paid dedup=7d",
    "policy list",
    "tick",
    "status",
]
URL = "postgresql://me@there/orders"


@pytest.mark.parametrize("line", COMMANDS)
def test_without_a_store_each_command_says_how_to_make_one(line: str, command: Command) -> None:
    Path("order.bpmn").touch()
    told = "there is no store in {0}: make one with conjoin store init --data {0}"
    assert command.cannot(line) == told.format("conjoin-data")
    assert command.cannot(f"{line} --data elsewhere") == told.format("elsewhere")
    assert not Path("conjoin-data").exists()


def test_flag_counts_before_environment_before_file_before_default(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert address_of(None, None) == Path("conjoin-data")
    Path("conjoin.toml").write_text('data = "of-file"')
    assert address_of(None, None) == Path("of-file")
    monkeypatch.setenv("CONJOIN_DATA", "of-environment")
    assert address_of(None, None) == Path("of-environment")
    assert address_of("of-flag", None) == Path("of-flag")


def test_store_counts_before_data_unless_data_is_a_flag(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONJOIN_DATA", "of-environment")
    assert address_of(None, URL) == URL
    monkeypatch.setenv("CONJOIN_STORE", URL)
    assert address_of(None, None) == URL
    assert address_of("of-flag", None) == Path("of-flag")


def test_two_stores_at_once_and_addresses_that_are_none_are_refused(command: Command) -> None:
    told = command.cannot(f"status --data here --store {URL}")
    assert told == "--data and --store name two stores: give one of them"
    assert command.cannot("status --store here").startswith("flag --store: store = 'here': ")
    assert command.cannot("status --data ''").startswith("flag --data: data = '': ")


def test_commands_work_on_the_store_that_is_named(shop: Command) -> None:
    shop.tells("init --data other --shards 2")
    shop.tells("deploy order.bpmn --data other")
    shop.tells('create order --data other --variables \'{"orderId": "o-1"}\'')
    assert shop.open() == {}
    assert shop.json("status --data other")["open"]["instances"] == 1


def test_password_of_a_url_is_never_shown() -> None:
    assert shown("postgresql://me:secret@there:5432/orders") == "postgresql://me@there:5432/orders"
    assert shown("postgresql://me:se@cret@there/orders") == "postgresql://me@there/orders"
    assert shown("postgresql://there/orders?user=me&password=secret") == "postgresql://there/orders"
    assert shown("postgresql:///orders") == "postgresql:///orders"
    assert shown(Path("a@b")) == "a@b"
