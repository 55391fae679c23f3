"""A script says what it computes and where the result goes."""

from conjoin.bpmn.document import Document, Found, Node, attribute
from conjoin.bpmn.rule import each_node


@each_node
def scripts(document: Document, node: Node) -> Found:
    for script in node.extensions("script"):
        part = document.part(script)
        if node.tag not in ("scriptTask", "businessRuleTask"):
            yield part, f"a {node.words} does not run a script", "Make it a script task."
        for name in ("expression", "resultVariable"):
            if not (attribute(script, name) or "").strip():
                yield part, f"the script has no {name}", f"Write its {name}."
