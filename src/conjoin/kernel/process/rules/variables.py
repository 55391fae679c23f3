"""Variables: what an element sees, where values are written, and the mappings into and out of an element.

A variable is seen from its scope inwards, the innermost of a name wins. A value that is merged goes to the nearest
scope that has the name already, with another value, else to the instance (H3, N4).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conjoin.kernel.plan import CostMeter, VariableMapping
from conjoin.kernel.process.events import VariablesWritten
from conjoin.kernel.process.state import ElementInstance
from conjoin.kernel.process.step import IO_MAPPING_ERROR, Failure, Step
from conjoin.kernel.process.values import stored_value
from conjoin.kernel.storable import MOST_BYTES, TOO_LARGE, size_of, unstorable

_ASSERTION = re.compile(r"=\s*assert\s*\(")
"""Null is what an expression answers where it fails, and mostly a legal value; of an assertion it is a failure."""


class ScopeView(Mapping[str, Any]):
    """Nested scopes as one mapping, the innermost first; nothing is copied."""

    __slots__ = ("frames", "meter")

    def __init__(self, frames: Sequence[Mapping[str, Any]], meter: CostMeter | None = None) -> None:
        self.frames = frames
        self.meter = meter

    def __getitem__(self, name: str) -> Any:
        for frame in self.frames:
            if name in frame:
                return frame[name]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(name in frame for frame in self.frames)

    def get(self, name: str, default: Any = None) -> Any:
        for frame in self.frames:
            if name in frame:
                return frame[name]
        return default

    def __iter__(self) -> Iterator[str]:
        return iter(flattened(self))

    def __len__(self) -> int:
        return len(flattened(self))


def flattened(view: Mapping[str, Any]) -> dict[str, Any]:
    """One plain mapping, as a worker gets it."""
    if not isinstance(view, ScopeView):
        return dict(view)
    values: dict[str, Any] = {}
    for frame in reversed(view.frames):
        values.update(frame)
    return values


def document_of(it: ElementInstance) -> dict[str, Any]:
    """Everything that an element sees, in one mapping of its own."""
    frames: list[Mapping[str, Any]] = []
    place: ElementInstance | None = it
    while place is not None:
        frames.append(place.variables or {})
        place = place.scope
    return flattened(ScopeView(frames))


def visible(step: Step, it: ElementInstance | None, inner: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """What an expression sees from an element instance, what this step wrote included; `inner` is closer still."""
    written = step.written
    if inner is None and written is None and it is not None and it.scope is None:
        return it.variables or {}
    frames = [inner] if inner else []
    while it is not None:
        if written is not None and it.key in written:
            frames.append(written[it.key])
        if it.variables:
            frames.append(it.variables)
        it = it.scope
    return frames[0] if len(frames) == 1 else ScopeView(frames)


def together(view: Mapping[str, Any], expressions: int) -> Mapping[str, Any]:
    """For so many expressions of one element, which may cost together what one may."""
    if expressions < 2:
        return view
    return ScopeView(view.frames if isinstance(view, ScopeView) else (view,), CostMeter())


def write(step: Step, scope: ElementInstance, values: Mapping[str, Any]) -> None:
    """Write on exactly this scope."""
    step.out.append(VariablesWritten(scope.key, values))
    if step.written is None:
        step.written = {scope.key: values}
    else:
        step.written[scope.key] = {**step.written.get(scope.key, {}), **values}


def merge(step: Step, scope: ElementInstance, values: Mapping[str, Any]) -> None:
    """Each value goes to the nearest scope that has its name, else to the instance."""
    if not values:
        return
    while scope.scope is not None and not scope.variables and (step.written is None or scope.key not in step.written):
        scope = scope.scope
    if scope.scope is None:
        write(step, scope, values)
        return
    homes: dict[int, tuple[ElementInstance, dict[str, Any]]] = {}
    for name, value in values.items():
        home = _home_of(step, scope, name, value)
        homes.setdefault(home.key, (home, {}))[1][name] = value
    for home, its_values in homes.values():
        write(step, home, its_values)


def _home_of(step: Step, scope: ElementInstance, name: str, value: Any) -> ElementInstance:
    """A scope that holds exactly this value already is passed over: Zeebe's, and visible one scope further out."""
    while scope.scope is not None:
        written = step.written.get(scope.key) if step.written else None
        own = written if written and name in written else scope.variables or {}
        if name in own and not (type(own[name]) is type(value) and own[name] == value):
            return scope
        scope = scope.scope
    return scope


def mapped(
    mappings: Sequence[VariableMapping], view: Mapping[str, Any], at: int, onto_existing: bool
) -> dict[str, Any]:
    """The results of mappings in their order; later ones see earlier ones, the first failure ends all (N3, N6).

    With `onto_existing` a path such as `by.name` is set inside the object `by` that is already visible.
    """
    results: dict[str, Any] = {}
    seen = ScopeView((results, *view.frames) if isinstance(view, ScopeView) else (results, view), CostMeter())
    # How large the objects become that mappings write into, and the path that was written last. Each value is measured
    # once, when it is put there.
    inside: dict[str, tuple[int, str]] = {}
    for mapping in mappings:
        (name, *path), where = mapping.target, ".".join(mapping.target)
        try:
            value = stored_value(mapping.source, seen, at, f"mapping of {where}")
        except Failure as failure:
            raise Failure(IO_MAPPING_ERROR, failure.text) from None
        if value is None and _ASSERTION.match(mapping.source.text):
            raise Failure(IO_MAPPING_ERROR, f"{mapping.source.text} for {where} does not hold")
        if path:
            there = seen.get(name) if onto_existing or name in results else None
            size = (inside[name][0] if name in inside else size_of(there)) + size_of(value)
            if size > MOST_BYTES:
                raise _unstorable_mapping(where, TOO_LARGE)
            inside[name] = size, where
            value = _put(there, path, value)
        else:
            inside.pop(name, None)
        results[name] = value
    for name, (_, where) in inside.items():
        problem = unstorable(results[name])
        if problem is not None:
            raise _unstorable_mapping(where, problem)
    return results


def _unstorable_mapping(where: str, problem: str) -> Failure:
    return Failure(IO_MAPPING_ERROR, f"the mapping of {where} cannot be stored: it {problem}")


def _put(there: Any, path: Sequence[str], value: Any) -> dict[str, Any]:
    """A copy of an object with a value at a path inside it."""
    copy = dict(there) if isinstance(there, Mapping) else {}
    name, *rest = path
    copy[name] = _put(copy.get(name), rest, value) if rest else value
    return copy
