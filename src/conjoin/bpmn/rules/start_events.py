"""Every scope knows where it begins: S9 for a process, L13 and S5 for what is inside."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node
from conjoin.errors import Problem

RULE = "start_events"


def start_events(document: Document) -> Iterator[Problem]:
    for scope in document.scopes:
        starts = [child for child in scope.children if child.tag == "startEvent"]
        yield from _of_subprocess(document, scope, starts) if scope.scope else _of_process(document, scope, starts)


def _of_process(document: Document, process: Node, starts: list[Node]) -> Iterator[Problem]:
    if not starts:
        yield document.problem(process, RULE, "the process has no start event", "Add one.")
    for extra in [start for start in starts if not start.events][1:]:
        text = "the process has a second none start event"
        yield document.problem(extra, RULE, text, "Keep one: a created instance must know where to begin.")


def _of_subprocess(document: Document, scope: Node, starts: list[Node]) -> Iterator[Problem]:
    if scope.tag == "subProcess" and len(starts) != 1:
        text = f"the {scope.words} has {len(starts) or 'no'} start event{'s' if len(starts) > 1 else ''}"
        yield document.problem(scope, RULE, text, "Give it exactly one.")
