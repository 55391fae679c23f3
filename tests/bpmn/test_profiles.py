"""Where the correlation key comes from, in the dialects of Zeebe, Fleans and Camunda 7."""

from pathlib import Path

import pytest

from conjoin.bpmn import judge, read_model
from conjoin.bpmn.document import DIALECTS
from conjoin.kernel.plan import MessageDefinition
from conjoin.kernel.policies import PROFILES, Policies, read_policies
from tests.bpmn.snippets import BEGIN, END, PAID, boundary, catch, model, service, timer

DOCUMENTS = Path(__file__).parents[2] / "examples/documents"
CAMUNDA_8 = (DOCUMENTS / "camunda8_style.bpmn").read_bytes()
CAMUNDA_7 = (DOCUMENTS / "camunda7_style.bpmn").read_bytes()

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


@pytest.mark.parametrize("profile", PROFILES)
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
    for profile in ("zeebe-0.2x", "fleans", "correlate"):
        key = heard(content, profile).key
        assert key is not None
        assert key({"orderId": "o-1"}, 0) == "o-1"


def test_bare_text_that_is_no_name_is_refused_everywhere() -> None:
    content = keyed('<fleans:subscription correlationKey="order 12"/>')
    for profile in PROFILES:
        assert [problem.rule for problem in judge(content, profile=profile).problems] == ["correlation_keys"]


def test_message_without_a_key_is_refused_in_zeebe_whatever_the_policies_say() -> None:
    policies, _ = read_policies("zeebe", {"*": {"match": "business_key"}})
    assert [problem.rule for problem in judge(WITHOUT_KEY, policies=policies).problems] == ["correlation_keys"]


def test_message_without_a_key_passes_in_dialects_that_know_it_and_its_policy_says_by_what_it_is_matched() -> None:
    assert [problem.rule for problem in judge(WITHOUT_KEY, profile="zeebe-0.2x").problems] == ["correlation_keys"]
    assert heard(WITHOUT_KEY, "fleans").match == "key"
    assert [warning.rule for warning in judge(WITHOUT_KEY, profile="fleans").warnings] == ["keyless_messages"]
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


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "extension",
    [
        '<zeebe:subscription correlationKey="=orderId"/><fleans:subscription correlationKey="=other"/>',
        '<fleans:subscription correlationKey="=other"/><zeebe:subscription correlationKey="=orderId"/>',
        '<old_fleans:subscription correlationKey="=other"/><fleans:subscription correlationKey="=orderId"/>',
        '<zeebe:subscription/><fleans:subscription correlationKey="=orderId"/>',
        '<zeebe:subscription correlationKey=" "/><fleans:subscription correlationKey="=orderId"/>',
    ],
)
def test_subscription_of_zeebe_counts_before_that_of_fleans(extension: str, profile: str) -> None:
    key = heard(keyed(extension), profile).key
    assert key is not None
    assert key({"orderId": "o-1", "other": "x"}, 0) == "o-1"
    warned = [warning.rule for warning in judge(keyed(extension), profile=profile).warnings]
    assert warned == (["two_dialects"] if extension.count("correlationKey") > 1 else [])


@pytest.mark.parametrize("profile", PROFILES)
def test_blank_key_is_none(profile: str) -> None:
    content = keyed('<zeebe:subscription correlationKey=" "/>')
    if DIALECTS[profile].keyless:
        assert heard(content, profile).key is None
    else:
        assert [problem.rule for problem in judge(content, profile=profile).problems] == ["correlation_keys"]


@pytest.mark.parametrize("profile", ["correlate", "fleans"])
def test_silent_process_does_not_run_beside_one_that_says_so(profile: str) -> None:
    content = model(BEGIN + END, "begin>end").replace(
        b"</process>", b'</process><process id="theirs"><task id="t"/></process>'
    )
    assert [plan.process_id for plan in read_model(content, "test.bpmn", profile).plans] == ["order"]
    empty = content.replace(b' isExecutable="true"', b"").replace(b'<task id="t"/>', b"")
    assert [plan.process_id for plan in read_model(empty, "test.bpmn", profile).plans] == ["order"]


def test_every_profile_has_a_dialect() -> None:
    assert list(DIALECTS) == list(PROFILES)


@pytest.mark.parametrize("profile", ["zeebe", "zeebe-0.2x"])
def test_what_is_left_out_is_refused_in_strict_dialects(profile: str) -> None:
    for printed in (CAMUNDA_8, CAMUNDA_7):
        assert [problem.rule for problem in judge(printed, profile=profile).problems] == ["xml"]
    bare = CAMUNDA_8.replace(b"<definitions", b'<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"')
    assert {problem.rule for problem in judge(bare, profile=profile).problems} == {"schema"}


@pytest.mark.parametrize("profile", ["correlate", "fleans"])
def test_process_without_a_start_event_begins_wherever_no_flow_leads(profile: str) -> None:
    edge = boundary("edge", "work", timer("timeDuration", "PT1H"))
    content = model(catch("paid") + catch("again") + service("work") + edge + END, "paid>end again>end edge>end", PAID)
    plan = read_model(content, "test.bpmn", profile).plans[0]
    start = plan.elements["conjoin_start"]
    assert sorted(flow.target.id for flow in start.outgoing) == ["again", "paid", "work"]


def test_process_that_does_not_say_whether_it_runs_is_run_by_lenient_dialects_only() -> None:
    content = model(BEGIN + END, "begin>end").replace(b' isExecutable="true"', b"")
    assert [problem.rule for problem in judge(content).problems] == ["executable_process"]
    for profile in ("fleans", "correlate"):
        found = read_model(content, "test.bpmn", profile)
        assert [plan.process_id for plan in found.plans] == ["order"]
        assert [note.rule for note in found.notes] == ["left_out"]
    said = content.replace(b'id="order"', b'id="order" isExecutable="false"')
    assert [problem.rule for problem in judge(said, profile="fleans").problems] == ["executable_process"]
