"""Too early: whoever will wait for this name with this key is named, wherever it is now; and nobody who will not."""

import pytest

from conjoin.runtime.explain.notes import nobody_in_words
from conjoin.store.explaining_port import LARGEST_BODY
from tests.bpmn.snippets import BEGIN, END, boundary, catch, extended, message, model, service, timer
from tests.runtime.broker_bench import Bench

PAID = message("paid_message", "paid", "=orderId")
EVENT = '<messageEventDefinition messageRef="paid_message"/>'
INSIDE = (
    '<subProcess id="sub"><startEvent id="in"/>'
    + service("pack")
    + '<sequenceFlow id="in_pack" sourceRef="in" targetRef="pack"/>'
    + '<subProcess id="aside" triggeredByEvent="true"><startEvent id="changed" isInterrupting="false">'
    + f"{EVENT}</startEvent></subProcess></subProcess>"
)
MODELS = {
    "a catch event after a task": (
        model(BEGIN + service("work") + catch("paid"), "begin>work work>paid", PAID),
        "paid",
    ),
    "a receive task": (
        model(
            BEGIN + service("work") + '<receiveTask id="paid" messageRef="paid_message"/>', "begin>work work>paid", PAID
        ),
        "paid",
    ),
    "a boundary event": (
        model(
            BEGIN + service("work") + service("ship") + boundary("late", "ship", EVENT), "begin>work work>ship", PAID
        ),
        "late",
    ),
    "an event subprocess of a scope to come": (
        model(BEGIN + service("work") + INSIDE, "begin>work work>sub", PAID),
        "changed",
    ),
    "after an event-based gateway": (
        model(
            BEGIN
            + service("work")
            + '<eventBasedGateway id="either"/>'
            + catch("paid")
            + f'<intermediateCatchEvent id="hour">{timer("timeDuration", "PT1H")}</intermediateCatchEvent>',
            "begin>work work>either either>paid either>hour",
            PAID,
        ),
        "paid",
    ),
    "after a timer": (
        model(
            BEGIN
            + f'<intermediateCatchEvent id="work">{timer("timeDuration", "PT1H")}</intermediateCatchEvent>'
            + catch("paid"),
            "begin>work work>paid",
            PAID,
        ),
        "paid",
    ),
    "after a user task in a subprocess": (
        model(
            BEGIN + '<subProcess id="sub"><startEvent id="in"/><userTask id="work"/>'
            '<sequenceFlow id="in_work" sourceRef="in" targetRef="work"/></subProcess>' + catch("paid") + END,
            "begin>sub sub>paid paid>end",
            PAID,
        ),
        "paid",
    ),
}


@pytest.fixture(params=[1, 3])
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(request.param)


@pytest.mark.parametrize("what", list(MODELS))
def test_who_will_wait_is_named(bench: Bench, what: str) -> None:
    content, element = MODELS[what]
    bench.deploy(content)
    order = bench.start(variables={"orderId": "o-77"})
    bench.start(variables={"orderId": "o-78"})
    [miss] = bench.explain(bench.publish("paid", "o-77")).near_misses
    assert (miss["kind"], miss["instance"], miss["element"], miss["at"]) == ("too_early", order, element, "work")


def test_who_waits_for_something_else_on_this_key_and_then_for_this(bench: Bench) -> None:
    roots = PAID + message("shipped_message", "shipped", "=orderId")
    content = model(BEGIN + catch("paid") + catch("shipped", "shipped_message"), "begin>paid paid>shipped", roots)
    bench.deploy(content)
    order = bench.start(variables={"orderId": "o-77"})
    [miss] = bench.explain(bench.publish("shipped", "o-77")).near_misses
    assert (miss["kind"], miss["instance"], miss["at"]) == ("too_early", order, "paid")
    bench.publish("paid", "o-77")
    bench.publish("shipped", "o-77")
    # It has passed both: the other way round it is too late, not too early.
    assert bench.kinds(bench.publish("paid", "o-77")) == ["closed_before"]


def test_a_key_that_is_a_number_in_the_variables_or_is_made_of_one(bench: Bench) -> None:
    made = message("paid_message", "paid", '="order-" + string(orderId)')
    for roots, sent in ((PAID, "4711"), (made.replace('"=', "'=").replace(')"', ")'"), "order-4711")):
        bench.deploy(model(BEGIN + service("work") + catch("paid"), "begin>work work>paid", roots))
        order = bench.start(variables={"orderId": 4711})
        assert [miss["instance"] for miss in bench.explain(bench.publish("paid", sent)).near_misses] == [order]
        bench.broker.cancel_instance(order)


def test_who_has_the_key_only_as_its_business_id(bench: Bench) -> None:
    made = message("paid_message", "paid", "=prefix + rest")
    bench.deploy(model(BEGIN + service("work") + catch("paid"), "begin>work work>paid", made))
    order = bench.start(variables={"prefix": "or", "rest": "der-9"}, business_id="order-9")
    assert [miss["instance"] for miss in bench.explain(bench.publish("paid", "order-9")).near_misses] == [order]


@pytest.mark.parametrize(
    ("content", "variables"),
    [
        # It has passed the only wait; it never gets there; its key is not known yet; it is another one.
        (model(BEGIN + service("work") + END, "begin>work work>end", PAID), {"orderId": "o-77"}),
        (
            model(
                BEGIN + service("work") + END + service("other") + catch("paid"), "begin>work work>end other>paid", PAID
            ),
            {"orderId": "o-77"},
        ),
        (model(BEGIN + service("work") + catch("paid"), "begin>work work>paid", PAID), {"customer": "o-77"}),
        (
            model(BEGIN + service("work") + catch("paid"), "begin>work work>paid", PAID),
            {"orderId": "o-78", "x": "o-77"},
        ),
    ],
)
def test_who_will_not_wait_for_it_is_not_named(bench: Bench, content: bytes, variables: dict[str, object]) -> None:
    bench.deploy(content)
    bench.start(variables=variables)
    assert "too_early" not in bench.kinds(bench.publish("paid", "o-77"))


def test_who_will_call_a_process_that_waits_for_it(bench: Bench) -> None:
    child = model(BEGIN + catch("paid"), "begin>paid", PAID).replace(b'id="order"', b'id="payment"')
    bench.deploy(child, name="payment.bpmn")
    call = extended("callActivity", "pay", '<zeebe:calledElement processId="payment"/>')
    bench.deploy(model(BEGIN + service("work") + call, "begin>work work>pay"))
    order = bench.start(variables={"orderId": "o-77"})
    [miss] = bench.explain(bench.publish("paid", "o-77")).near_misses
    assert (miss["kind"], miss["instance"], miss["element"], miss["at"]) == ("too_early", order, "paid", "work")


def test_how_far_was_looked_is_told(bench: Bench) -> None:
    bench.deploy(MODELS["a catch event after a task"][0])
    nobody = bench.explain(bench.publish("paid", "o-77")).nobody
    assert nobody is not None
    assert nobody.newest == (5_000 if bench.store.facts.shards == 1 else 10_000)


CATCH = MODELS["a catch event after a task"][0]


def test_who_has_the_key_as_a_text_is_found_among_many_with_its_number(bench: Bench) -> None:
    bench.deploy(CATCH)
    orders = [bench.start(variables={"orderId": f"order-{n}", "total": 4_200 + n, "net": 42}) for n in range(60)]
    bench.deploy(CATCH.replace(b'<process id="order"', b'<process id="log"').replace(b"paid", b"read"), name="log.bpmn")
    for _ in range(60):
        bench.start("log", {"orderId": "order-42"})
    [miss] = bench.explain(bench.publish("paid", "order-42")).near_misses
    assert (miss["kind"], miss["instance"]) == ("too_early", orders[42])


def test_a_number_has_an_end(bench: Bench) -> None:
    made = message("paid_message", "paid", '="order-" + string(number)').replace('"=', "'=").replace(')"', ")'")
    bench.deploy(model(BEGIN + service("work") + catch("paid"), "begin>work work>paid", made))
    order = bench.start(variables={"number": 42})
    for number in range(60):
        bench.start(variables={"number": 4_200 + number})
    [miss] = bench.explain(bench.publish("paid", "order-42")).near_misses
    assert (miss["kind"], miss["instance"]) == ("too_early", order)


@pytest.mark.parametrize("length", [1, 2, 200, 201, 5_000, 32_768])
@pytest.mark.parametrize("letter", ["²", "9", "0", "a", "a-", "٣", "፩", '"', "\\"])
def test_keys_of_any_characters_are_explained(bench: Bench, letter: str, length: int) -> None:
    bench.deploy(CATCH)
    key = (letter * length)[:length]
    order = bench.start(variables={"orderId": key})
    found = bench.explain(bench.publish("paid", key))
    named = [miss["instance"] for miss in found.near_misses]
    # One character is in everybody's variables, and for a long text nobody is searched.
    assert named == ([order] if 2 <= length <= 200 else [])
    assert found.nobody is None or found.nobody.newest is None


def test_who_is_too_large_is_not_looked_into_and_nobody_says_so(bench: Bench) -> None:
    bench.deploy(CATCH)
    bench.start(variables={"orderId": "o-77", "notes": "x" * LARGEST_BODY})
    found = bench.explain(bench.publish("paid", "o-77"))
    assert found.near_misses == []
    told = list(nobody_in_words(found.as_json()["nobody"], "paid"))[-1]
    assert told.startswith("looked into some of the newest ")
    assert told.endswith("but not all: they are too large or too many")
