"""The whole life of an order, through the command alone, in our words and in those of zbctl."""

from pathlib import Path

import pytest

from tests.cli.command import ORDER, Command

OURS = {
    "deploy": "deploy order.bpmn",
    "create": "create order",
    "publish": "publish paid",
    "activate": "activate ship",
    "fail": "fail",
    "update": "update-retries",
    "resolve": "resolve",
    "complete": "complete",
}
ZBCTL = {
    "deploy": "deploy resource order.bpmn",
    "create": "create instance order",
    "publish": "publish message paid",
    "activate": "activate jobs ship",
    "fail": "fail job",
    "update": "update retries",
    "resolve": "resolve incident",
    "complete": "complete job",
}


@pytest.mark.parametrize("words", [OURS, ZBCTL], ids=["ours", "zbctl"])
def test_order_is_deployed_created_paid_shipped_and_done(words: dict[str, str], command: Command) -> None:
    Path("order.bpmn").write_bytes(ORDER)
    told = command.tells("init --shards 2")
    assert told == "made a store in conjoin-data: 2 shards, profile zeebe\nNext: conjoin model deploy order.bpmn"
    assert command.tells(words["deploy"]) == "deployed order version 1 (order.bpmn), key 2"

    created = command.tells(f"""{words["create"]} --variables '{{"orderId": "o-1", "price": 9.90}}'""")
    instance = created.split()[2]
    assert created == f"created instance {instance} of order version 1"
    assert command.open() == {"instances": 1, "subscriptions": 1}

    published = command.tells(f"{words['publish']} --correlationKey o-1 --ttl 1h --messageId p-1 --variables '{{}}'")
    message, sentence = published.splitlines()
    assert message.startswith("message ")
    waiting = f"process order (instance {instance} at paid) was already waiting for 'paid' with key 'o-1'"
    assert sentence == f"Correlated: {waiting}."

    activated = command.tells(f"{words['activate']} --maxJobsToActivate 5 --worker w-1 --timeout 1m")
    job = activated.split()[1]
    place = f"job {job} of instance {instance} of order at ship"
    assert activated.splitlines() == [
        f"{place}; yours until 2030-01-01T00:01:00Z, retries 3",
        '    {"orderId":"o-1","price":9.90}',
    ]
    assert command.tells(f"{words['fail']} {job} --retries 0 --errorMessage oh") == f"failed job {job}, no retries left"
    assert command.open() == {"instances": 1, "jobs": 1, "incidents": 1}
    incident = command.incident()
    assert command.tells(f"{words['update']} {job} --retries 2") == f"job {job} has 2 retries"
    assert command.tells(f"{words['resolve']} {incident}") == f"resolved incident {incident}"

    assert command.job("ship") == job
    assert command.tells(f"{words['complete']} {job}") == f"completed job {job}"
    assert command.open() == {}


def test_each_command_answers_with_one_json_object(shop: Command) -> None:
    instance = shop.order()
    assert shop.json(f'set-variables {instance} --variables \'{{"orderId": "o-2"}}\'') == {
        "key": instance,
        "set": ["orderId"],
    }
    taken = shop.json("correlate-message paid --key o-1")
    assert taken["instance_key"] == instance
    job = shop.job("ship")
    assert shop.json(f"fail {job} --retries 1") == {"key": job, "retries": 1}
    assert shop.json(f"update-retries {job}") == {"key": job, "retries": 3}
    assert shop.json(f"throw-error {job} --errorCode sold-out") == {"key": job, "error_code": "sold-out"}
    assert shop.json(f"complete {shop.job('refund')}")["completed"] is True
    assert shop.json(f"cancel {shop.order()}")["cancelled"] is True
    assert shop.json("signal fire") == {"signal": "fire", "broadcast": True}
    assert shop.json("tick")["ticked"] is True
    assert shop.json("policy set paid dedup=7d") == {"name": "paid", "policy": {"dedup": "7d"}, "catalog_version": 2}


def test_refusal_is_one_json_object_too(shop: Command) -> None:
    said = shop("complete 4711 --json")
    assert (said.code, said.err) == (1, "")
    assert said.out == '{"refused":"NOT_FOUND","text":"nothing with key 4711 was found"}\n'
