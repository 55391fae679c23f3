"""A mapping has a source, and a target that is a path of names."""

import re

from conjoin.bpmn.document import Document, Found, Node, attribute
from conjoin.bpmn.rule import each_node

_PATH = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*(\.[a-zA-Z_][a-zA-Z0-9_]*)*")
_RESERVED = ("null", "true", "false", "function", "if", "then", "else", "for", "between", "instance", "of")


@each_node
def mappings(document: Document, node: Node) -> Found:
    for kind, xml in [(name, xml) for name in ("input", "output") for xml in node.mappings(name)]:
        source, target = attribute(xml, "source"), attribute(xml, "target") or ""
        part = document.part(xml)
        if not source:
            text = f"an {kind} mapping to '{target}' has no source"
            yield part, text, "Write where its value comes from, such as =orderId."
        if not target:
            yield part, f"an {kind} mapping has no target", "Name the variable that it writes."
        elif not _PATH.fullmatch(target) or target in _RESERVED:
            text = f"the target '{target}' of an {kind} mapping is not the name of a variable or a path into one"
            yield part, text, "Use letters, digits and underscores, such as order.customer_id."
