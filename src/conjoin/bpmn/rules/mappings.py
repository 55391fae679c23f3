"""A mapping has a source, and a target that is a path of names."""

import re
from collections.abc import Iterator

from conjoin.bpmn.compile.activities import mapping_elements
from conjoin.bpmn.document import Document, attribute
from conjoin.bpmn.reading.xml import Xml
from conjoin.errors import Problem

RULE = "mappings"
_PATH = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*(\.[a-zA-Z_][a-zA-Z0-9_]*)*")
_RESERVED = ("null", "true", "false", "function", "if", "then", "else", "for", "between", "instance", "of")


def mappings(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        for kind in ("input", "output"):
            for xml in mapping_elements(node, kind):
                yield from _mapping(document, xml, kind)


def _mapping(document: Document, xml: Xml, kind: str) -> Iterator[Problem]:
    source, target = attribute(xml, "source"), attribute(xml, "target") or ""
    part = document.part(xml)
    if not source:
        text = f"an {kind} mapping to '{target}' has no source"
        yield document.problem(part, RULE, text, "Write where its value comes from, such as =orderId.")
    if not target:
        text = f"an {kind} mapping has no target"
        yield document.problem(part, RULE, text, "Name the variable that it writes.")
    elif not _PATH.fullmatch(target) or target in _RESERVED:
        text = f"the target '{target}' of an {kind} mapping is not the name of a variable or a path into one"
        yield document.problem(part, RULE, text, "Use letters, digits and underscores, such as order.customer_id.")
