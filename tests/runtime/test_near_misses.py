"""What came near to taking a message: on its key, and beyond it through the store. One test a kind, and their order."""

from typing import Any

import pytest

from conjoin.kernel.verdicts.near_miss_sentences import near_miss
from conjoin.kernel.verdicts.similar_keys import difference, variants
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain.explain import explain_named
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.runtime.visibility.scope import VisibleScope
from tests.bpmn.snippets import BEGIN, END, boundary, catch, message, model, service
from tests.runtime.broker_bench import HOUR_MS, STOCK, Bench


@pytest.fixture(params=[1, 3])
def bench(request: pytest.FixtureRequest) -> Bench:
    bench = Bench(request.param)
    bench.deploy()
    return bench


def nearest(bench: Bench, key: int) -> dict[str, Any]:
    """The first near miss of a message, with its words."""
    miss = bench.explain(key).near_misses[0]
    return {**miss, "text": near_miss(to_plain(miss))}


def test_a_lock_that_is_held_names_its_holder(bench: Bench) -> None:
    holder = bench.explain(bench.publish("opened", "t-1")).attempts[0].instance
    miss = nearest(bench, bench.publish("opened", "t-1", HOUR_MS))
    assert (miss["kind"], miss["instance"]) == ("lock_held", holder)


def test_same_key_other_name(bench: Bench) -> None:
    order = bench.start()
    miss = nearest(bench, bench.publish("Paid ", "o-1", HOUR_MS))
    assert (miss["kind"], miss["name"], miss["differs"]) == ("other_name", "paid", "case or blanks only")
    assert miss["text"] == (
        f"process order (instance {order} at paid) waits for 'paid' on the same key - "
        "the name differs in case or blanks only"
    )


def test_other_business_id(bench: Bench) -> None:
    bench.start(business_id="b-1")
    miss = nearest(bench, bench.publish(ttl_ms=HOUR_MS, business_id="b-2"))
    assert (miss["kind"], miss["business_id"]) == ("other_business_id", "b-1")


def test_an_instance_without_a_business_id_is_told_as_such(bench: Bench) -> None:
    order = bench.start()
    miss = nearest(bench, bench.publish(ttl_ms=HOUR_MS, business_id="b-2"))
    assert miss["text"] == (
        f"process order (instance {order} at paid) waits for it without a business id - send none to reach anybody"
    )


def test_published_after_the_subscription_closed(bench: Bench) -> None:
    order = bench.start()
    bench.publish()
    bench.wait_ms(1_500)
    miss = nearest(bench, bench.publish(ttl_ms=HOUR_MS))
    assert (miss["kind"], miss["closed_ms_before"], miss["instance"]) == ("closed_before", 1_500, order)


@pytest.mark.parametrize(("ttl_ms", "late_ms"), [(0, 5_000), (2_000, 3_000)])
def test_gone_before_the_subscription_opened(bench: Bench, ttl_ms: int, late_ms: int) -> None:
    message = bench.publish(ttl_ms=ttl_ms)
    bench.wait_ms(5_000)
    bench.broker.tick()
    order = bench.start()
    miss = nearest(bench, message)
    assert (miss["kind"], miss["late_ms"]) == ("expired_before", late_ms)
    assert miss["text"] == (
        f"it was gone {late_ms // 1_000} s before process order (instance {order} at paid) began to wait - "
        "publish it with a longer time to live"
    )


def test_gone_before_a_subscription_that_has_closed_since(bench: Bench) -> None:
    message = bench.publish()
    bench.wait_ms(5_000)
    order = bench.start()
    bench.broker.cancel_instance(order)
    miss = nearest(bench, message)
    assert (miss["kind"], miss["instance"]) == ("expired_before", order)


def test_a_policy_that_keeps_nothing_is_not_mended_by_a_longer_time_to_live(bench: Bench) -> None:
    bench.policy(on_no_match="discard")
    message = bench.publish()
    bench.wait_ms(5_000)
    bench.start()
    assert bench.kinds(message) == []


def test_who_waited_at_the_very_instant_did_not_come_late(bench: Bench) -> None:
    bench.start(business_id="b-1")
    assert bench.kinds(bench.publish(business_id="b-2")) == ["other_business_id"]


def test_taken_by_the_process_through_another_instance(bench: Bench) -> None:
    first, second = bench.start(), bench.start()
    bench.wait_ms(1_000)
    miss = nearest(bench, bench.publish(ttl_ms=HOUR_MS))
    assert (miss["kind"], miss["process"], miss["instance"]) == ("taken_by_process", "order", first)
    assert miss["text"] == (
        f"process order already has it through instance {first}, so instance {second} waits for another one"
    )


def test_other_tenant_waits_on_the_same_key(bench: Bench) -> None:
    bench.deploy(tenant_id="acme")
    order = bench.start(tenant_id="acme")
    miss = nearest(bench, bench.publish(ttl_ms=HOUR_MS))
    assert (miss["kind"], miss["tenant"], miss["instance"]) == ("other_tenant", "acme", order)


def test_other_tenant_could_be_started(bench: Bench) -> None:
    bench.deploy(STOCK.replace(b'name="opened"', b'name="begun"'), "acme")
    message = bench.publish("begun", "t-1", HOUR_MS)
    assert nearest(bench, message)["text"] == (
        "process stock-ticket (at opened) waits for it in tenant 'acme' - publish it there"
    )
    text = near_miss(bench.explain(message).near_misses[1])
    assert text.startswith("no process that is deployed in tenant '<default>' ever waits for this name - ")


@pytest.mark.parametrize(
    ("waits", "sent", "differs", "words"),
    [
        ("o-1", "O-1", "case or blanks only", "the key differs in case or blanks only"),
        ("O-1 ", "o-1", "case or blanks only", "the key differs in case or blanks only"),
        ("o-1", '"o-1"', "quotes only", "the key differs in quotes only"),
        (7, "007", "number", "the same number, written in another way"),
        (7, "7.0", "number", "the same number, written in another way"),
        ("o-7", "7", "prefix", "one of the two keys has a prefix more than the other"),
        (7, "ORD-007", "prefix", "one of the two keys has a prefix more than the other"),
        ("o-7", "o_7", "punctuation only", "the key differs in punctuation only"),
        ("order-7", "ORD-007", "another prefix", "the same with another prefix"),
        ("anna.schmidt@example.com", "anna.schmitd@example.com", "two letters", "is one of the two keys misspelled?"),
        ("Müller-Süd", "Mueller-Sued", "accents or encoding only", "the key differs in accents or encoding only"),
        ("anna@shop.example", "anna%40shop.example", "accents or encoding only", "accents or encoding only"),
        ("order-7", "(order-7)", "punctuation only", "the key differs in punctuation only"),
        (
            "01arz3ndektsv4rrffq69g5fav",
            "01ARZ3NDEKTSV4RRFFQ96G5FAV",
            "two letters",
            "is one of the two keys misspelled?",
        ),
        ("order-77", "order-77-retry", "its end", "was it cut off?"),
        ("customer-north", "custmer-north", "a letter", "is one of the two keys misspelled?"),
        ("4095-1188-2213", "4095-1188", "its end", "was it cut off?"),
        (4095118822137740, "4095118822137704", "two digits", "no other key is so near: is one of the two misspelled?"),
    ],
)
def test_same_name_other_key(bench: Bench, waits: object, sent: str, differs: str, words: str) -> None:
    bench.start(variables={"orderId": waits})
    miss = nearest(bench, bench.publish(key=sent, ttl_ms=HOUR_MS))
    assert (miss["kind"], miss["key"], miss["differs"]) == ("other_key", str(waits), differs)
    assert miss["text"].endswith(words)


def test_of_many_other_keys_the_likeliest_come_first_and_three_at_most(bench: Bench) -> None:
    for number in range(30):
        bench.start(variables={"orderId": f"customer-{number}"})
    for other in ("77", "order-78", "order_77", "'order-77'", "ORDER-77"):
        bench.start(variables={"orderId": other})
    found = bench.explain(bench.publish(key="order-77", ttl_ms=HOUR_MS)).near_misses
    assert [miss["key"] for miss in found] == ["ORDER-77", "'order-77'", "order_77"]


@pytest.mark.parametrize(
    ("waits", "sent"),
    [
        # Numbers that are handed out one after the other differ in a digit by nature, and in two that change places.
        (("order-1105", "order-4096"), "order-4095"),
        (("1034", "1043", "1403"), "1304"),
        (("2251799813685250", "2251799813685255", "2251799813685260"), "2251799813685257"),
        (("inv-2026-0001", "inv-2026-0002"), "inv-2026-0003"),
        # One of several letters, as rooms and tables have them.
        (("room-a", "room-b"), "room-c"),
        (("DE-1001", "DK-1001"), "DL-1001"),
        # Random, and nothing in common.
        (("6f8fc2d0-1497-4df5-92b0-e90c950287e4",), "6024b5b0-8191-4dec-bdac-664c58bb65bb"),
        (("anna.schmidt@example.com",), "bert.schmidt@example.com"),
        (("customer-7",), "order-7"),
    ],
)
def test_a_neighbour_is_no_near_miss(bench: Bench, waits: tuple[str, ...], sent: str) -> None:
    for other in waits:
        bench.start(variables={"orderId": other})
    found = bench.explain(bench.publish(key=sent))
    assert found.near_misses == []
    assert found.nobody is not None
    assert found.nobody.awaited_by == [{"process": "order", "element": "paid", "versions": [1]}]


def test_an_incident_is_named_only_if_its_element_would_have_waited_with_this_key(bench: Bench) -> None:
    bench.deploy(STUCK["a catch event"][0])
    bench.start(variables={"orderId": "o-2"})
    assert bench.kinds(bench.publish(ttl_ms=HOUR_MS)) == []


def test_who_has_stopped_waiting_on_another_key_is_no_near_miss(bench: Bench) -> None:
    bench.broker.cancel_instance(bench.start(variables={"orderId": "O-1"}))
    assert bench.kinds(bench.publish(ttl_ms=HOUR_MS)) == []


def test_no_process_ever_waits_for_the_name(bench: Bench) -> None:
    assert nearest(bench, bench.publish("payed", "o-1", HOUR_MS))["text"] == (
        "no process that is deployed ever waits for this name - did you mean 'paid'?"
    )
    assert nearest(bench, bench.publish("refunded", "o-1", HOUR_MS))["text"] == (
        "no process that is deployed ever waits for this name - is it spelled right?"
    )


def test_a_name_that_is_computed_may_be_any(bench: Bench) -> None:
    computed = message("any", "=event", "=orderId") + message("constant", "=&quot;shipped&quot;", "=orderId")
    bench.deploy(model(BEGIN + catch("a", "any") + catch("b", "constant") + END, "begin>a a>b b>end", computed))
    assert nearest(bench, bench.publish("refunded", "o-1", HOUR_MS))["text"] == (
        "no process that is deployed ever waits for this name, unless process order computes it - is it spelled right?"
    )
    assert bench.kinds(bench.publish("shipped", "o-1", HOUR_MS)) == []


def test_the_start_event_of_an_old_version_waits_for_nothing() -> None:
    bench = Bench()
    bench.deploy(STOCK)
    bench.deploy(STOCK.replace(b'name="opened"', b'name="begun"'))
    assert bench.kinds(bench.publish("opened", "t-1", HOUR_MS)) == ["never_awaited"]


PAID = message("paid_message", "paid", "=missing")
STUCK = {
    "a catch event": (model(BEGIN + catch("stuck") + END, "begin>stuck stuck>end", PAID), "stuck"),
    "a boundary event": (
        model(
            BEGIN + service("stuck") + boundary("late", "stuck", '<messageEventDefinition messageRef="paid_message"/>'),
            "begin>stuck",
            PAID,
        ),
        "stuck",
    ),
    "an event-based gateway": (
        model(
            BEGIN + '<eventBasedGateway id="stuck"/>' + catch("a") + catch("b", "other_message"),
            "begin>stuck stuck>a stuck>b",
            PAID + message("other_message", "other"),
        ),
        "stuck",
    ),
    "an event subprocess": (
        model(
            BEGIN
            + service("work")
            + '<subProcess id="sub" triggeredByEvent="true"><startEvent id="inside"><messageEventDefinition'
            ' messageRef="paid_message"/></startEvent></subProcess>',
            "begin>work",
            PAID,
        ),
        "begin",
    ),
}


@pytest.mark.parametrize("what", list(STUCK))
def test_subscription_that_did_not_open_because_of_an_incident(bench: Bench, what: str) -> None:
    content, element = STUCK[what]
    bench.deploy(content)
    stuck = bench.start()
    miss = nearest(bench, bench.publish(ttl_ms=HOUR_MS))
    assert (miss["kind"], miss["instance"], miss["element"]) == ("incident", stuck, element)
    assert miss["text"].startswith(
        f"process order (instance {stuck} at {element}) should wait for it but does not because of incident "
    )
    assert miss["text"].endswith(" - mend the cause and resolve it")


def test_an_incident_of_an_element_that_waits_for_something_else_is_no_near_miss(bench: Bench) -> None:
    content = STUCK["a catch event"][0].replace(b'name="paid"', b'name="shipped"')
    bench.deploy(content)
    bench.start()
    assert bench.kinds(bench.publish(ttl_ms=HOUR_MS)) == []


def test_what_was_near_when_it_was_decided_is_told_later(bench: Bench) -> None:
    order = bench.start()
    message = bench.publish("Paid", "o-1")
    bench.broker.cancel_instance(order)
    miss = nearest(bench, message)
    assert (miss["kind"], miss["instance"]) == ("other_name", order)


def test_named_explanations_look_at_the_surroundings_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        bench.publish(ttl_ms=HOUR_MS)
    looked = []
    listed = bench.store.rows

    def rows(*asked: Any) -> Any:
        looked.append(asked[0].name)
        return listed(*asked)

    monkeypatch.setattr(bench.store, "rows", rows)
    explain_named(bench.broker, NewMessage("paid", "o-1"))
    # One message each, and what led to the key once for the three and the dry run.
    assert looked.count("instance") <= 1


def test_variants_of_a_key_are_other_ways_to_write_it() -> None:
    assert {"O-1", '"O-1"', "o-1", "1", "O_1", "O1"} <= set(variants(' "O-1" '))
    assert "7" in variants("007.00")
    assert "6f8fc2d0-1497-4df5-92b0-e90c950287e4" in variants("urn:uuid:6F8FC2D014974DF592B0E90C950287E4")
    assert "-7" in variants("-7.0")
    assert variants("") == ('""',)


def test_numbers_are_compared_without_their_zeros() -> None:
    assert difference("0", "-0.0") == "number"
    assert difference("0", "-0.5") == "key"
    assert difference("1e3", "1000") == "key"


class Seeing(VisibleScope):
    """These messages and processes."""

    def __init__(self, messages: set[str], processes: set[str]) -> None:
        self._messages, self._processes = messages, processes

    def sees(self, tenant_id: str, message: str | None = None, process: str | None = None) -> bool:
        return (message is None or message in self._messages) and (process is None or process in self._processes)


def test_who_may_not_be_seen_keeps_nobody_else_from_being_named(bench: Bench) -> None:
    bench.deploy(STOCK, name="stock.bpmn")
    bench.broker.cancel_instance(bench.start("stock"))
    order = bench.start(variables={"orderId": "O-1"})
    sent = bench.publish()
    assert bench.kinds(sent) == ["closed_before"]
    bench.broker.scope = Seeing({"paid"}, {"order"})
    [miss] = bench.explain(sent).near_misses
    assert (miss["kind"], miss["instance"]) == ("other_key", order)


def test_who_waited_for_another_name_is_told_only_to_who_may_see_that_name(bench: Bench) -> None:
    bench.deploy(STOCK.replace(b'name="paid"', b'name="Paid"'), name="stock.bpmn")
    bench.broker.cancel_instance(bench.start("stock", {"orderId": "O-1"}))
    sent = bench.publish()
    told = []
    for names in ({"paid", "Paid"}, {"paid"}):
        bench.broker.scope = Seeing(names, {"order", "stock"})
        found = bench.explain(sent)
        assert found.nobody is not None
        told.append(found.nobody.last_similar)
    assert [it and it["process"] for it in told] == ["stock", None]
