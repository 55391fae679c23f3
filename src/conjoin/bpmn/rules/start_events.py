"""Every scope knows where it begins: S9 for a process, L13 and S5 for what is inside."""

from conjoin.bpmn.document import Document, Found


def start_events(document: Document) -> Found:
    for scope in document.scopes:
        starts = scope.starts
        if scope.scope is None:
            if not starts:
                yield scope, "the process has no start event", "Add one."
            for extra in [start for start in starts if not start.events][1:]:
                text = "the process has a second none start event"
                yield extra, text, "Keep one: a created instance must know where to begin."
        elif scope.tag == "subProcess" and len(starts) != 1:
            text = f"the {scope.words} has {len(starts) or 'no'} start event{'s' if len(starts) > 1 else ''}"
            yield scope, text, "Give it exactly one."
