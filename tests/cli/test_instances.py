"""conjoin model deploy, create, cancel, set-variables, resolve: what they do, and what they say when they cannot."""

import io
from pathlib import Path

import pytest

from tests.bpmn.snippets import BEGIN, END, model
from tests.cli.command import ORDER, Command

NO_START = model(END).replace(b'id="order"', b'id="broken"')


def test_models_are_deployed_all_or_none(shop: Command) -> None:
    Path("order.bpmn").write_bytes(ORDER.replace(b"<process", b"<!-- changed --><process"))
    Path("broken.bpmn").write_bytes(NO_START)
    said = shop("deploy order.bpmn broken.bpmn")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("conjoin: INVALID_ARGUMENT: broken.bpmn:")
    assert shop.json("status")["processes"] == {"order": 1, "reminder": 1, "alarm": 1}


def test_same_model_again_is_no_new_version_and_a_changed_one_is(shop: Command) -> None:
    assert shop.tells("deploy order.bpmn").startswith("unchanged: order version 1 (order.bpmn)")
    Path("order.bpmn").write_bytes(ORDER.replace(b"<process", b"<!-- changed --><process"))
    (process,) = shop.json("deploy order.bpmn")["processes"]
    assert (process["process_id"], process["version"], process["is_new"]) == ("order", 2, True)


def test_files_that_cannot_be_read_are_all_named(shop: Command) -> None:
    said = shop("deploy nowhere.bpmn order.bpmn conjoin-data")
    assert (said.code, said.err.splitlines()) == (
        2,
        ["conjoin: nowhere.bpmn: No such file or directory", "conjoin: conjoin-data: Is a directory"],
    )


def test_version_is_chosen_and_minus_one_is_the_latest(shop: Command) -> None:
    Path("order.bpmn").write_bytes(model(BEGIN + END, "begin>end"))
    shop.tells("deploy order.bpmn")
    with_key = '--variables \'{"orderId": "o-1"}\''
    assert shop.json(f"create order {with_key} --version 1")["version"] == 1
    assert shop.json("create order --version -1")["version"] == 2
    assert shop.json("create order")["version"] == 2
    assert shop.refuses("create order --version 3").startswith("NOT_FOUND: ")


def test_tenants_do_not_see_each_other(shop: Command) -> None:
    shop.tells("deploy order.bpmn --tenantId shop-2")
    assert shop.json('create order --tenantId shop-2 --variables \'{"orderId": "o-1"}\'')["version"] == 1
    assert shop.json("publish paid --key o-1")["verdict"] == "discarded"
    assert shop.json("publish paid --key o-1 --tenantId shop-2")["verdict"] == "correlated"


def test_variables_come_from_a_file_or_from_the_standard_input(shop: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("order.json").write_text('{"orderId": "of-file", "price": 10.00}')
    shop.tells("create order --variables @order.json")
    shop.tells("correlate-message paid --key of-file")
    (job,) = shop.json("activate ship")["jobs"]
    assert shop.tells(f"complete {job['key']}")
    monkeypatch.setattr("sys.stdin", io.StringIO('{"orderId": "of-stdin"}'))
    shop.tells("create order --variables -")
    assert shop.json("publish paid --key of-stdin")["verdict"] == "correlated"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("{", "--variables: is not JSON: "),
        ("[1]", "--variables: is not an object"),
        ("'{\"a\": NaN}'", "--variables: is not JSON: "),
        ("@nowhere.json", "--variables: nowhere.json: No such file or directory"),
        ("''", "--variables: is not JSON: "),
    ],
)
def test_variables_that_are_no_object_are_named(given: str, told: str, shop: Command) -> None:
    lines = ("create order", "publish paid", "correlate-message paid", "complete 1", "set-variables 1", "signal fire")
    for line in lines:
        assert shop.cannot(f"{line} --variables {given}").startswith(told)
    assert shop.open() == {}


def test_cancelled_instance_waits_no_more(shop: Command) -> None:
    instance = shop.order()
    assert shop.tells(f"cancel instance {instance}") == f"cancelled instance {instance}"
    assert shop.open() == {}
    assert shop.refuses(f"cancel {instance}").startswith("NOT_FOUND: ")


def test_incident_is_resolved_when_its_cause_is_mended(shop: Command) -> None:
    instance = shop.json("create order")["key"]
    first = shop.incident()
    assert shop.tells(f"resolve {first}") == f"resolved incident {first}"
    second = shop.incident()
    assert second != first
    told = shop.tells(f'set variables {instance} --variables \'{{"orderId": "o-1"}}\'')
    assert told == f"set orderId of {instance}"
    assert shop.refuses(f"resolve {first}").startswith("NOT_FOUND: ")
    shop.tells(f"resolve incident {second}")
    assert shop.open() == {"instances": 1, "subscriptions": 1}


@pytest.mark.parametrize("line", ["cancel x", "resolve 1.5", "complete ''", "set-variables 1", "create", "fail 1"])
def test_keys_are_numbers_and_what_is_needed_must_be_given(line: str, shop: Command) -> None:
    assert shop.cannot(line)


@pytest.mark.parametrize(
    "line",
    ["create nobody", "cancel 7", "resolve 7", "complete 7", "fail 7 --retries 1", "update-retries 7"],
)
def test_what_is_not_there_is_refused_with_its_code(line: str, shop: Command) -> None:
    assert shop.refuses(line).startswith("NOT_FOUND: ")
