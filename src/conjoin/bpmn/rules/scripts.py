"""A script says what it computes and where the result goes."""

from collections.abc import Iterator

from conjoin.bpmn.document import Document, attribute
from conjoin.errors import Problem

RULE = "scripts"


def scripts(document: Document) -> Iterator[Problem]:
    for node in document.nodes:
        for script in node.extensions("script"):
            part = document.part(script)
            if node.tag not in ("scriptTask", "businessRuleTask"):
                text = f"a {node.words} does not run a script"
                yield document.problem(part, RULE, text, "Make it a script task.")
            for name in ("expression", "resultVariable"):
                if not (attribute(script, name) or "").strip():
                    yield document.problem(part, RULE, f"the script has no {name}", f"Write its {name}.")
