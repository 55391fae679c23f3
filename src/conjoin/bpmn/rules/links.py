"""Every link throw event finds one catch event of its name in its own scope."""

from conjoin.bpmn.analysis.ways import link_catches
from conjoin.bpmn.document import Document, Found


def links(document: Document) -> Found:
    for scope in document.scopes:
        catches = link_catches(scope)
        for node in scope.children:
            if node.event is None or node.event.type != "link":
                continue
            name = node.event.name
            caught = len(catches.get(name, ()))
            if not name:
                yield node, "the link has no name", "Give both ends of the link the same name."
            elif node.catches_link and caught > 1:
                text = f"there are {caught} link catch events with the name '{name}' in its scope"
                yield node, text, "Keep one: a link may have many sources, but one target."
            elif node.throws_link and not caught:
                text = f"no link catch event in its scope has the name '{name}'"
                yield node, text, "Add one, or correct the name."
