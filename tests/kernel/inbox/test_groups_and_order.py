"""Which messages are one batch, and who comes first in it."""

from decimal import Decimal
from itertools import combinations
from types import MappingProxyType

import pytest

from conjoin.kernel.inbox import InboxMessage
from conjoin.kernel.inbox.groups import group_key_of, order_of
from conjoin.kernel.inbox.message import Hint
from tests.kernel.inbox.simulator import make, preset


def group(hint: Hint, key: int = 1, tenant: str = "<default>") -> str:
    return group_key_of(make(key, hint=hint, tenant_id=tenant))


ALIKE = [
    Hint("paid", "order-7"),
    Hint("paid", "order-7", variables={"a": 1}, message_id="x"),
    Hint("sent", "order-7"),
]
"""One group by default: tenant and correlation key, whatever their names."""

APART = [
    Hint("paid", "order-7"),
    Hint("paid", "order-8"),
    Hint("paid", "order-7", tenant_id="acme"),
    Hint(group="order-7"),
    Hint(business_key="order-7"),
    Hint(business_key="order-8"),
    Hint(business_key="order-7", process_definition_id="order"),
    Hint(process_instance_id="order-7"),
    Hint(execution_id="order-7"),
    Hint(correlation_variables={"order": 7}),
    Hint(correlation_variables={"order": "7"}),
    Hint(correlation_variables={"order": 7, "item": 1}),
    Hint("paid", 'order-7","x'),
]


def test_messages_of_one_tenant_and_key_are_one_group() -> None:
    assert len({group(hint, number) for number, hint in enumerate(ALIKE)}) == 1
    assert group(ALIKE[0], tenant="acme") != group(ALIKE[0])


@pytest.mark.parametrize(("one", "other"), list(combinations(APART, 2)))
def test_messages_for_different_targets_are_different_groups(one: Hint, other: Hint) -> None:
    assert group(one) != group(other)


def test_messages_of_different_names_for_one_instance_of_a_remote_engine_are_one_group() -> None:
    one = Hint("paid", business_key="7", correlation_variables={"a": 1, "b": 2})
    other = Hint("sent", business_key="7", correlation_variables={"b": 2, "a": 1})
    assert group(one, 1) == group(other, 2)


@pytest.mark.parametrize(
    "hint", [Hint(), Hint("paid"), Hint("paid", is_start=True), Hint("paid", process_definition_id="order")]
)
def test_a_message_that_does_not_say_whom_it_is_for_is_a_group_of_its_own(hint: Hint) -> None:
    assert group(hint, 1) != group(hint, 2)


def test_a_grouping_key_of_its_own_stands_over_everything() -> None:
    assert group(Hint("paid", "1", group="g"), 1) == group(Hint("sent", "2", business_key="b", group="g"), 2)


@pytest.mark.parametrize("hint", [Hint("paid", "1"), Hint("paid", business_key="b"), Hint("paid", group="g")])
def test_messages_for_different_systems_are_never_one_group(hint: Hint) -> None:
    groups = {group_key_of(make(1, hint=hint, target=target)) for target in ("", "camunda-7", "camunda-8")}
    assert len(groups) == 3


def test_a_variable_of_a_type_unknown_to_json_still_makes_a_group() -> None:
    variables = {"price": Decimal("1.50")}
    frozen = MappingProxyType(variables)
    assert group(Hint(correlation_variables=variables)) == group(Hint(correlation_variables=frozen))


def ordered(order: str, *messages: InboxMessage) -> list[int]:
    return [message.key for message in sorted(messages, key=order_of(preset(order=order)))]


def test_by_default_the_earlier_event_comes_first_then_the_place_in_the_source() -> None:
    late, early, third, second = make(1, at=9), make(2, at=1), make(3, at=5, position=8), make(4, at=5, position=7)
    assert ordered("event_time", late, early, third, second) == [2, 4, 3, 1]


def test_messages_are_ordered_by_id_where_it_is_asked_for() -> None:
    assert ordered("message_id", make(1, message_id="b", at=1), make(2, message_id="a", at=9)) == [2, 1]


def test_by_an_expression_numbers_come_before_texts_and_messages_without_a_value_come_last() -> None:
    values = [None, "b", 10, "a", 2, 2.5, float("nan"), True]
    messages = [make(key, sort_value=value) for key, value in enumerate(values)]
    assert ordered("= seq", *messages) == [7, 4, 5, 2, 3, 1, 0, 6]


@pytest.mark.parametrize("order", ["event_time", "message_id", "= seq"])
def test_every_order_is_total_and_does_not_depend_on_the_order_of_reading(order: str) -> None:
    alike = [make(key, message_id="same", position=1) for key in range(5)]
    assert ordered(order, *reversed(alike)) == ordered(order, *alike) == [0, 1, 2, 3, 4]
