"""Variables and mappings: where values go, and what an element sees (sections H, J, N)."""

from typing import Any

import pytest

from conjoin.kernel.plan import Element, Literal, ScriptDefinition
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process import work_events as w
from conjoin.kernel.process.rules import variables
from conjoin.kernel.process.rules.variables import ScopeView, flattened, mapped
from conjoin.kernel.process.step import Failure
from tests.kernel.process.plans import Half, Var, catch, maps, row, task


class Failing:
    """An assertion that does not hold: it answers null."""

    text = "=assert(x, x != null)"

    def __call__(self, variables: Any, now: int) -> Any:
        return variables.get("x")


def test_the_innermost_of_a_name_is_seen() -> None:
    view = ScopeView(({"a": 1}, {"a": 2, "b": None}, {"b": 3, "c": 4}))
    assert (view["a"], view.get("b", 9), view["c"], "d" in view, view.get("d", 9)) == (1, None, 4, False, 9)
    assert flattened(view) == {"a": 1, "b": None, "c": 4}
    assert dict(view) == flattened(view)
    assert len(view) == 3


def test_a_job_without_mappings_writes_where_the_name_is_or_on_the_instance() -> None:
    """H3, N5."""
    half = Half(row("p", task("work", inputs=(maps(Literal(0), "x"),))))
    key = half.start(x=1, y=1)
    half.complete("work", x=5, y=6, z=7)
    assert half.variables(key) == {"x": 1, "y": 6, "z": 7}


def test_a_value_that_a_scope_holds_already_passes_to_the_next_one() -> None:
    """Zeebe's own: only a value that differs is kept by the local of its name."""
    half = Half(row("p", task("work", inputs=(maps(Literal(0), "x"),))))
    key = half.start(x=1)
    half.complete("work", x=0)
    assert half.variables(key) == {"x": 0}


def test_true_and_one_are_different_values() -> None:
    half = Half(row("p", task("work", inputs=(maps(Literal(1), "x"),))))
    key = half.start(x=7)
    half.complete("work", x=True)
    assert half.variables(key) == {"x": 7}


def test_with_output_mappings_only_their_results_leave() -> None:
    """N2, N3, N10."""
    outputs = (maps(Var("x"), "a.b"), maps(Var("a"), "copy"), maps(Var("missing"), "none"))
    half = Half(row("p", task("work", outputs=outputs)))
    key = half.start(a={"c": 1})
    half.complete("work", x=5, noise=1)
    assert half.variables(key) == {"a": {"c": 1, "b": 5}, "copy": {"c": 1, "b": 5}, "none": None}


def test_an_input_path_makes_a_new_object() -> None:
    assert mapped((maps(Literal(1), "a.b"), maps(Literal(2), "a.c")), {"a": {"z": 0}}, 0, onto_existing=False) == {
        "a": {"b": 1, "c": 2}
    }


def test_a_path_through_something_that_is_no_object_replaces_it() -> None:
    assert mapped((maps(Literal(1), "a.b.c"),), {"a": {"b": 5, "d": 6}}, 0, onto_existing=True) == {
        "a": {"b": {"c": 1}, "d": 6}
    }


def test_mapping_never_changes_the_object_it_reads() -> None:
    visible = {"a": {"b": {"c": 1}}}
    mapped((maps(Literal(2), "a.b.c"),), visible, 0, onto_existing=True)
    assert visible == {"a": {"b": {"c": 1}}}


def test_an_input_assertion_that_fails_is_an_incident_before_anything_opens() -> None:
    """IO_MAPPING_ERROR: mended and resolved, the element goes on."""
    half = Half(row("p", catch("paid", Var("id"), inputs=(maps(Failing(), "y"),))))
    key = half.start(id="k")
    [incident] = half.told(w.IncidentRaised)
    assert incident.error_type == "IO_MAPPING_ERROR"
    assert incident.text == "=assert(x, x != null) for y does not hold"
    assert half.opened() == []
    half.do(c.SetVariables(key, {"x": 1}, 0))
    half.do(c.ResolveIncident(incident.key, 0))
    assert half.opened() == [("paid", "k")]


def test_an_output_assertion_that_fails_keeps_what_the_job_brought() -> None:
    """M14."""
    half = Half(row("p", task("work", outputs=(maps(Failing(), "y"), maps(Var("z"), "w")))))
    key = half.start()
    half.complete("work", z=3)
    [incident] = half.told(w.IncidentRaised)
    assert half.told(e.InstanceCompleted) == []
    half.do(c.ResolveIncident(incident.key, 0))
    [_, again] = half.told(w.IncidentRaised)
    half.do(c.SetVariables(key, {"x": 1}, 0))
    half.do(c.ResolveIncident(again.key, 0))
    assert half.variables(key) == {"x": 1, "y": 1, "w": 3}
    assert len(half.told(e.InstanceCompleted)) == 1


def test_variables_set_from_outside_go_where_they_are_or_stay_local() -> None:
    half = Half(row("p", task("work", inputs=(maps(Literal(0), "x"),))))
    key = half.start(y=1)
    [it] = [it for it in half.state.elements.values() if it.element.id == "work"]
    half.do(c.SetVariables(it.key, {"x": 5, "y": 6}, 0))
    half.do(c.SetVariables(it.key, {"y": 7}, 0, local=True))
    assert (it.variables, half.variables(key)) == ({"x": 5, "y": 7}, {"y": 6})


def test_a_script_result_is_merged_like_any_other() -> None:
    script = Element("sum", "script_task")
    script.script = ScriptDefinition(Literal(3), "total")
    half = Half(row("p", script))
    assert half.variables(half.start()) == {"total": 3}


@pytest.mark.interpreted
def test_mappings_into_one_object_measure_each_value_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the whole object again for each of them: it may be large, and they may be many."""
    measured: list[Any] = []

    def size_of(value: Any) -> int:
        measured.append(value)
        return 1

    monkeypatch.setattr(variables, "size_of", size_of)
    monkeypatch.setattr(variables, "unstorable", measured.append)
    big = {"z": list(range(100))}
    result = mapped([maps(Literal(1), f"a.b{number}") for number in range(50)], {"a": big}, 0, onto_existing=True)
    assert isinstance(result, dict)
    assert measured.count(big) == 1
    assert measured.count(1) == 50
    assert len(measured) == 52


def test_mappings_that_double_an_object_each_time_fail_soon() -> None:
    doubling = [maps(Var("a"), f"a.v{number}") for number in range(500)]
    with pytest.raises(Failure) as found:
        mapped(doubling, {"a": "x" * 1_000}, 0, onto_existing=False)
    assert "cannot be stored: it is larger than 16 MiB" in found.value.text
