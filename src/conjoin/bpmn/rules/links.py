"""Every link throw event finds one catch event of its name in its own scope."""

from collections import Counter
from collections.abc import Iterator

from conjoin.bpmn.document import Document, Node
from conjoin.errors import Problem

RULE = "links"


def links(document: Document) -> Iterator[Problem]:
    for scope in document.scopes:
        linked = [node for node in scope.children if node.event and node.event.type == "link"]
        caught = Counter(_name(node) for node in linked if node.tag == "intermediateCatchEvent")
        for node in linked:
            yield from _link(document, node, caught)


def _link(document: Document, node: Node, caught: Counter[str]) -> Iterator[Problem]:
    name = _name(node)
    if not name:
        yield document.problem(node, RULE, "the link has no name", "Give both ends of the link the same name.")
    elif node.tag == "intermediateCatchEvent" and caught[name] > 1:
        text = f"there are {caught[name]} link catch events with the name '{name}' in its scope"
        yield document.problem(node, RULE, text, "Keep one: a link may have many sources, but one target.")
    elif node.tag == "intermediateThrowEvent" and not caught[name]:
        text = f"no link catch event in its scope has the name '{name}'"
        yield document.problem(node, RULE, text, "Add one, or correct the name.")


def _name(node: Node) -> str:
    return (node.event.name or "") if node.event else ""
