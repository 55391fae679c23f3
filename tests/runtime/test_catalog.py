"""Deployments: versions, identical content, all or nothing."""

from conjoin.runtime.client_api.answers import Deployment, Refusal
from conjoin.runtime.engine.catalog import DEFAULT_TENANT, Deployments
from tests.testing.order import ORDER


def deploy(catalog: Deployments, *resources: tuple[str, bytes], at: int = 0) -> Deployment:
    answer = catalog.deploy(resources, DEFAULT_TENANT, at)
    assert isinstance(answer, Deployment)
    return answer


def starts(catalog: Deployments) -> list[tuple[str, int]]:
    found = catalog.snapshot(lambda *about: 0).starts_for(DEFAULT_TENANT, "opened", 10)
    return [(start.process_id, start.definition_key) for start in found]


def test_every_process_of_a_file_is_deployed() -> None:
    deployed = deploy(Deployments(), ("order.bpmn", ORDER))
    assert [(p.process_id, p.version, p.is_new) for p in deployed.processes] == [
        ("order", 1, True),
        ("ticket", 1, True),
    ]


def test_identical_content_is_no_new_version() -> None:
    catalog = Deployments()
    first = deploy(catalog, ("order.bpmn", ORDER))
    again = deploy(catalog, ("order.bpmn", ORDER))
    assert [(p.key, p.version, p.is_new) for p in again.processes] == [(p.key, 1, False) for p in first.processes]


def test_changed_content_is_a_new_version_and_the_only_one_that_messages_start() -> None:
    """G7, G9."""
    catalog = Deployments()
    first = deploy(catalog, ("order.bpmn", ORDER))
    assert starts(catalog) == [("ticket", first.processes[1].key)]
    second = deploy(catalog, ("order.bpmn", ORDER.replace(b'id="done"', b'id="over"').replace(b'"done"', b'"over"')))
    assert [p.version for p in second.processes] == [2, 2]
    assert starts(catalog) == [("ticket", second.processes[1].key)]
    without = ORDER.replace(b'<bpmn:messageEventDefinition messageRef="message_opened"/>', b"")
    deploy(catalog, ("order.bpmn", without))
    assert starts(catalog) == []


def test_one_bad_file_refuses_all_and_names_every_problem() -> None:
    catalog = Deployments()
    bad = ORDER.replace(b'sourceRef="begin"', b'sourceRef="nowhere"')
    answer = catalog.deploy([("order.bpmn", ORDER), ("bad.bpmn", bad), ("worse.bpmn", b"<a/>")], DEFAULT_TENANT, 0)
    assert isinstance(answer, Refusal)
    assert answer.code == "INVALID_ARGUMENT"
    assert "bad.bpmn" in answer.text
    assert "worse.bpmn" in answer.text
    assert catalog.definitions.latest(DEFAULT_TENANT, "order") is None


def test_nothing_to_deploy_and_one_process_in_two_files_are_refused() -> None:
    catalog = Deployments()
    assert isinstance(catalog.deploy([], DEFAULT_TENANT, 0), Refusal)
    twice = catalog.deploy([("a.bpmn", ORDER), ("b.bpmn", ORDER)], DEFAULT_TENANT, 0)
    assert isinstance(twice, Refusal)
    assert "the process id 'order' is in a.bpmn already" in twice.text
    assert catalog.definitions.all_latest() == []


def test_older_definitions_come_first_also_when_deployed_in_the_same_instant() -> None:
    """E10: the order of deployment, not of the names."""
    catalog = Deployments()
    for process in (b"zebra", b"ape"):
        model = ORDER.replace(b'id="ticket"', b'id="' + process + b'"').replace(
            b'id="order"', b'id="o_' + process + b'"'
        )
        deploy(catalog, (f"{process.decode()}.bpmn", model))
    assert [process for process, _ in starts(catalog)] == ["zebra", "ape"]


def test_the_file_of_a_definition_is_kept() -> None:
    catalog = Deployments()
    deployed = deploy(catalog, ("order.bpmn", ORDER))
    assert catalog.resource(deployed.processes[0].key) == ("order.bpmn", ORDER)
