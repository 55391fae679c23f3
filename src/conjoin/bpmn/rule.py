"""What a rule is: it takes a document, however wrong, and yields what it finds. It never raises.

Rules and warnings are functions; the name of the function is the name of the rule.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps

from conjoin.bpmn.document import Document, Found, Node
from conjoin.errors import Problem

Rule = Callable[[Document], Found]


def each_node(rule: Callable[[Document, Node], Found]) -> Rule:
    """A rule about one flow node, applied to all of them."""

    @wraps(rule)
    def of_document(document: Document) -> Found:
        for node in document.nodes:
            yield from rule(document, node)

    return of_document


def problems_of(document: Document, rules: Iterable[Rule]) -> Iterator[Problem]:
    for rule in rules:
        for part, text, advice in rule(document):
            yield document.problem(part, rule.__name__, text, advice)
