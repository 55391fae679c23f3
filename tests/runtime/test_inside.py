"""What is alive inside an instance, read from its row: scopes, variables with keys that stay, who holds an element."""

from pathlib import Path
from typing import Any
from zlib import crc32

from conjoin.runtime.reading.finding import rows_with
from conjoin.runtime.reading.instances import (
    _SLOTS,
    _slots,
    elements_of,
    instance_holding,
    scope_of_variable,
    variables_of,
    visible_to,
)
from tests.runtime.broker_bench import Bench

NESTED = (Path(__file__).parents[1] / "conformance/golden/models/nested.bpmn").read_bytes()


def row_of(bench: Bench, key: int) -> Any:
    return rows_with(bench.broker, "instance", [key])[key]


def nested(shards: int = 2) -> tuple[Bench, int]:
    bench = Bench(shards)
    bench.deploy(NESTED)
    return bench, bench.start("nested", {"id": "k", "inner": 1})


def test_elements_stand_behind_their_scopes_and_see_the_inner_variables() -> None:
    bench, key = nested()
    elements = elements_of(row_of(bench, key))
    known = {it.key for it in elements[:1]}
    for it in elements[1:]:
        assert it.scope_key in known
        known.add(it.key)
    assert elements[0].key == key
    innermost = elements[-1]
    bench.broker.set_variables(innermost.scope_key, {"inner": 2}, local=True)
    assert visible_to(innermost.key, elements_of(row_of(bench, key)))["inner"] == 2
    assert visible_to(key, elements_of(row_of(bench, key)))["inner"] == 1


def test_key_of_a_variable_stays_while_others_come_and_names_its_scope() -> None:
    bench, key = nested()
    before = {it.name: it.key for it in variables_of(row_of(bench, key))}
    bench.broker.set_variables(key, {f"more-{number}": number for number in range(300)})
    after = {it.name: it.key for it in variables_of(row_of(bench, key))}
    assert before.items() <= after.items()
    assert len(set(after.values())) == len(after) > 300
    assert {scope_of_variable(it) for it in before.values()} == {key}


def test_two_names_with_one_hash_have_keys_of_their_own() -> None:
    by_hash: dict[int, str] = {}
    number = 0
    while True:
        name = f"v{number}"
        first = by_hash.setdefault(crc32(name.encode()) % _SLOTS, name)
        if first != name:
            break
        number += 1
    slots = _slots({first: 1, name: 2})
    assert len(set(slots.values())) == 2
    assert slots[first] == _slots({first: 1})[first]


def test_instance_is_found_by_any_element_in_it() -> None:
    bench, key = nested()
    for it in elements_of(row_of(bench, key)):
        found = instance_holding(bench.broker, it.key)
        assert found is not None
        assert found.key == key
    assert instance_holding(bench.broker, 77) is None
    assert instance_holding(bench.broker, key + 10_000) is None
