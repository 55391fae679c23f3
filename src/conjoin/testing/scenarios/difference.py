"""The difference of two outcomes, one line each, for a person.

With several shards the order between correlation keys is not defined: then instances are matched by their content
and by everything that refers to them, and the jobs of a step compare as a set.
"""

from collections.abc import Iterator
from typing import Any

from conjoin.testing.scenarios.outcome import Outcome, as_json

_MISSING = object()
_LONGEST = 160


def differences(expected: Outcome, actual: Outcome, shards: int = 1) -> list[str]:
    """Empty when both are the same."""
    if shards > 1:
        expected, actual = in_order_of_content(expected), in_order_of_content(actual)
    return list(_walk("", expected, actual))


def _walk(path: str, expected: Any, actual: Any) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in [*expected, *(name for name in actual if name not in expected)]:
            inner = f"{path}.{name}" if path else str(name)
            yield from _walk(inner, expected.get(name, _MISSING), actual.get(name, _MISSING))
    elif _are_lists_of_things(expected, actual):
        for index in range(max(len(expected), len(actual))):
            pair = (things[index] if index < len(things) else _MISSING for things in (expected, actual))
            yield from _walk(f"{path}[{index}]", *pair)
    elif not _is_same(expected, actual):
        yield f"{path}: expected {_text(expected)}, got {_text(actual)}"


def _are_lists_of_things(*values: Any) -> bool:
    """Lists whose parts are worth a line of their own; a list of states or of names is compared as a whole."""
    return all(isinstance(value, list) for value in values) and any(
        isinstance(part, (dict, list)) for value in values for part in value
    )


def _is_same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _text(value: Any) -> str:
    if value is _MISSING:
        return "nothing"
    text = as_json(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def in_order_of_content(outcome: Outcome) -> Outcome:
    """The same outcome with its instances in an order that does not depend on when they came to be.

    Whatever refers to an instance refers to it alone, so two outcomes are the same if each instance of one has a
    partner in the other with the same content and the same mentions.
    """
    contents = [as_json(_sorted(instance)) for instance in outcome["instances"]]
    mentions: list[list[str]] = [[] for _ in contents]
    for number, mention in _mentions(outcome):
        mentions[number].append(mention)
    order = sorted(range(len(contents)), key=lambda number: (contents[number], sorted(mentions[number])))
    new = {old: index for index, old in enumerate(order)}
    return {
        "steps": [_renumbered_step(step, new) for step in outcome["steps"]],
        "instances": [outcome["instances"][number] for number in order],
        "messages": [{**m, "correlated": _renumbered(m["correlated"], new)} for m in outcome["messages"]],
        "subscriptions": _renumbered(outcome["subscriptions"], new),
        "jobs": _renumbered(outcome["jobs"], new),
    }


def _mentions(outcome: Outcome) -> Iterator[tuple[int, str]]:
    for index, step in enumerate(outcome["steps"]):
        if "instance" in step:
            yield step["instance"], f"answer {index}"
        for job in step.get("jobs", ()):
            yield job["instance"], f"step {index} {as_json(_sorted({**job, 'instance': 0}))}"
    for index, message in enumerate(outcome["messages"]):
        for number, element in message["correlated"]:
            yield number, f"message {index} {element}"
    for kind in ("subscriptions", "jobs"):
        for number, *rest in outcome[kind]:
            yield number, f"{kind} {as_json(rest)}"


def _renumbered_step(step: Outcome, new: dict[int, int]) -> Outcome:
    renumbered = dict(step)
    if "instance" in step:
        renumbered["instance"] = new[step["instance"]]
    if "jobs" in step:
        jobs = [{**job, "instance": new[job["instance"]]} for job in step["jobs"]]
        renumbered["jobs"] = sorted(jobs, key=lambda job: as_json(_sorted(job)))
    return renumbered


def _renumbered(rows: list[list[Any]], new: dict[int, int]) -> list[list[Any]]:
    return sorted([new[number], *rest] for number, *rest in rows)


def _sorted(value: Any) -> Any:
    """The same value with the names of its objects in order."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(part) for part in value] if isinstance(value, list) else value
