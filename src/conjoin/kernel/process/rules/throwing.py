"""Throwing an error: who catches it, from the inside out, through call activities too.

In each scope an event subprocess is asked before the boundary events; a catch of exactly this code before one that
catches every error.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from conjoin.kernel.plan import Element, ErrorDefinition
from conjoin.kernel.process.state import ACTIVE, ElementInstance, LoopBody, Scope
from conjoin.kernel.process.step import UNHANDLED_ERROR_EVENT, Failure, Step


class Catcher(NamedTuple):
    it: ElementInstance
    catch: Element


def catcher_of(step: Step, it: ElementInstance, code: str) -> Catcher | None:
    for place in _outwards(step, it):
        for candidates in (_event_subprocesses(place), _boundaries(place)):
            catch = _matching(candidates, code, step.at)
            if catch is not None:
                return Catcher(place, catch)
    return None


def uncaught(code: str) -> Failure:
    text = f"an error was thrown with the code {code!r}, and no boundary event or event subprocess catches it"
    return Failure(UNHANDLED_ERROR_EVENT, text)


def _outwards(step: Step, it: ElementInstance) -> Iterator[ElementInstance]:
    place: ElementInstance | None = it
    while place is not None:
        yield place
        place = place.scope if place.scope is not None else step.state.elements.get(place.instance.parent_key)


def _event_subprocesses(it: ElementInstance) -> Iterable[Element]:
    if not isinstance(it, Scope) or isinstance(it, LoopBody):
        return ()
    if it.state != ACTIVE or it.pending is not None or it.interrupted or it.ending:
        return ()
    return [part.start for part in it.element.event_subprocesses if part.start is not None]


def _boundaries(it: ElementInstance) -> Iterable[Element]:
    # The boundary events of a multi-instance activity are those of its body.
    return () if isinstance(it.scope, LoopBody) or it.trigger is not None else it.element.boundaries


def _matching(catches: Iterable[Element], code: str, at: int) -> Element | None:
    any_error = None
    for catch in catches:
        if not isinstance(catch.event, ErrorDefinition):
            continue
        if catch.event.code is None:
            any_error = any_error or catch
        elif catch.event.code({}, at) == code:
            return catch
    return any_error
