"""Where the correlation key comes from, in the dialects of Zeebe, Fleans and Camunda 7."""

import pytest

from conjoin.bpmn import judge, read_model
from conjoin.kernel.plan import MessageDefinition
from conjoin.kernel.policies import Policies, read_policies
from tests.bpmn.snippets import BEGIN, END, catch, model

FLOWS = "begin>paid paid>end"


def keyed(extension: str) -> bytes:
    roots = f'<message id="paid_message" name="paid"><extensionElements>{extension}</extensionElements></message>'
    return model(BEGIN + catch("paid") + END, FLOWS, roots)


def on_event(attribute: str, place: str = "intermediateCatchEvent") -> bytes:
    body = catch("paid").replace(f"<{place} ", f"<{place} {attribute} ")
    return model(BEGIN + body + END, FLOWS, '<message id="paid_message" name="paid"/>')


WITHOUT_KEY = model(BEGIN + catch("paid") + END, FLOWS, '<message id="paid_message" name="paid"/>')


def heard(content: bytes, profile: str, policies: Policies | None = None) -> MessageDefinition:
    event = read_model(content, "test.bpmn", profile, policies).plans[0].elements["paid"].event
    assert isinstance(event, MessageDefinition)
    return event


@pytest.mark.parametrize("profile", ["zeebe", "correlate", "fleans"])
@pytest.mark.parametrize(
    "content",
    [
        keyed('<zeebe:subscription correlationKey="=orderId"/>'),
        keyed('<zeebe:subscription zeebe:correlationKey="=orderId"/>'),
        keyed('<fleans:subscription correlationKey="=orderId"/>'),
        keyed('<old_fleans:subscription correlationKey="= orderId"/>'),
        on_event('fleans:correlationKey="=orderId"'),
        on_event('old_fleans:correlationKey="=orderId"', "messageEventDefinition"),
    ],
    ids=["zeebe", "zeebe with a prefix", "fleans", "older fleans", "on the event", "on its definition"],
)
def test_key_is_read_wherever_a_dialect_writes_it(content: bytes, profile: str) -> None:
    key = heard(content, profile).key
    assert key is not None
    assert key({"orderId": "o-1"}, 0) == "o-1"


def test_bare_name_is_refused_in_zeebe_and_a_variable_elsewhere() -> None:
    content = keyed('<zeebe:subscription correlationKey="orderId"/>')
    assert [problem.rule for problem in judge(content).problems] == ["correlation_keys"]
    for profile in ("fleans", "correlate"):
        key = heard(content, profile).key
        assert key is not None
        assert key({"orderId": "o-1"}, 0) == "o-1"


def test_bare_text_that_is_no_name_is_refused_everywhere() -> None:
    content = keyed('<fleans:subscription correlationKey="order 12"/>')
    for profile in ("zeebe", "fleans", "correlate"):
        assert [problem.rule for problem in judge(content, profile=profile).problems] == ["correlation_keys"]


def test_message_without_a_key_is_refused_in_zeebe_whatever_the_policies_say() -> None:
    policies, _ = read_policies("zeebe", {"*": {"match": "business_key"}})
    assert [problem.rule for problem in judge(WITHOUT_KEY, policies=policies).problems] == ["correlation_keys"]


def test_message_without_a_key_passes_elsewhere_if_its_policy_says_by_what_it_is_matched() -> None:
    assert [problem.rule for problem in judge(WITHOUT_KEY, profile="fleans").problems] == ["correlation_keys"]
    policies, _ = read_policies("fleans", {"paid": {"match": "business_key"}})
    event = heard(WITHOUT_KEY, "fleans", policies)
    assert (event.key, event.match) == (None, "business_key")
    assert heard(WITHOUT_KEY, "correlate").match == "variables"


def test_elements_without_a_key_are_not_among_the_waits() -> None:
    assert read_model(WITHOUT_KEY, "test.bpmn", "correlate").plans[0].waits == ()


def test_two_events_may_wait_for_one_message_with_keys_of_their_own() -> None:
    first = catch("paid").replace("<intermediateCatchEvent ", '<intermediateCatchEvent fleans:correlationKey="a" ')
    second = catch("again").replace("<intermediateCatchEvent ", '<intermediateCatchEvent fleans:correlationKey="b c" ')
    content = model(
        BEGIN + first + second + END, "begin>paid paid>again again>end", '<message id="paid_message" name="p"/>'
    )
    [problem] = judge(content, profile="fleans").problems
    assert "'b c'" in problem.text


def test_process_that_does_not_say_whether_it_runs_is_run_by_fleans_only() -> None:
    content = model(BEGIN + END, "begin>end").replace(b' isExecutable="true"', b"")
    assert [problem.rule for problem in judge(content).problems] == ["executable_process"]
    assert [plan.process_id for plan in read_model(content, "test.bpmn", "fleans").plans] == ["order"]
    said = content.replace(b'id="order"', b'id="order" isExecutable="false"')
    assert [problem.rule for problem in judge(said, profile="fleans").problems] == ["executable_process"]
