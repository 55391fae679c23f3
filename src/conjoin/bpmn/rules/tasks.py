"""Tasks and what is written on them: jobs, scripts, calls, mappings, loops, and all expressions."""

import re

from conjoin.bpmn.analysis.expression_sites import sites
from conjoin.bpmn.document import Document, Found, Node, attribute
from conjoin.bpmn.expressions import compiled, is_expression
from conjoin.bpmn.names import BPMN, THROWING, ZEEBE
from conjoin.bpmn.rule import each_node
from conjoin.feel import FeelSyntaxError
from conjoin.times.iso8601 import read_instant

_JOB = '<zeebe:taskDefinition type="..."/>'
_LARGEST_PRIORITY = 100
_PATH = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*(\.[a-zA-Z_][a-zA-Z0-9_]*)*")
_RESERVED = ("null", "true", "false", "function", "if", "then", "else", "for", "between", "instance", "of")


@each_node
def jobs(document: Document, node: Node) -> Found:
    """What works outside has a job type; a message that is sent is a job too (S8)."""
    definition = node.extension("taskDefinition")
    sends = node.tag in THROWING and node.event_type == "message"
    if definition is not None:
        part = document.part(definition)
        if not (attribute(definition, "type") or "").strip():
            yield part, "the job type is empty", "Name the type of worker that does the work."
        if attribute(definition, "retries") == "":
            yield part, "the number of retries is empty", "Write a number, or leave it out for 3."
        if node.extension("script") is not None:
            yield part, f"the {node.words} has both a script and a job type", "Keep one of them."
    elif _has_other_work(node):
        return
    elif sends or node.tag in ("serviceTask", "sendTask"):
        yield node, f"the {node.words} has no job type", f"Add {_JOB}: a worker of that type does the work."
    elif node.tag in ("scriptTask", "businessRuleTask"):
        text = f"the {node.words} has neither a script nor a job type"
        yield node, text, f"Add <zeebe:script .../> with a FEEL expression, or {_JOB}."


def _has_other_work(node: Node) -> bool:
    """What is not run here is named by another rule; it is not also called missing."""
    if any(node.extension(name) is not None for name in ("script", "calledDecision", "publishMessage")):
        return True
    return any(event.extension("publishMessage") is not None for event in node.events)


@each_node
def task_headers(document: Document, node: Node) -> Found:
    """The headers of a job have names, each of its own."""
    seen: set[str] = set()
    for headers in node.extensions("taskHeaders"):
        for xml in headers.iterchildren(f"{{{ZEEBE}}}header"):
            key = attribute(xml, "key") or ""
            if not key:
                yield document.part(xml), "a task header has no key", "Give it a name."
            elif key in seen:
                yield document.part(xml), f"the task header '{key}' is written twice", "Keep one of them."
            seen.add(key)


@each_node
def user_tasks(document: Document, node: Node) -> Found:
    """What a user task says to people is of the right kind where it is written out: dates, a priority up to 100."""
    for xml in node.extensions("taskSchedule"):
        for name in ("dueDate", "followUpDate"):
            value = attribute(xml, name)
            if value and not is_expression(value) and read_instant(value) is None:
                text = f"the {name} '{value}' is not a date that can be read"
                yield document.part(xml), text, "Write it like 2030-01-31T08:00:00Z, or as an expression."
    for xml in node.extensions("priorityDefinition"):
        value = attribute(xml, "priority") or ""
        is_priority = value.isascii() and value.isdigit() and int(value) <= _LARGEST_PRIORITY
        if not is_expression(value) and not is_priority:
            text = f"the priority '{value}' is not a number from 0 to {_LARGEST_PRIORITY}"
            yield document.part(xml), text, "Write a number, or an expression."


@each_node
def scripts(document: Document, node: Node) -> Found:
    """A script says what it computes and where the result goes."""
    for script in node.extensions("script"):
        part = document.part(script)
        if node.tag not in ("scriptTask", "businessRuleTask"):
            yield part, f"a {node.words} does not run a script", "Make it a script task."
        for name in ("expression", "resultVariable"):
            if not (attribute(script, name) or "").strip():
                yield part, f"the script has no {name}", f"Write its {name}."


@each_node
def calls(document: Document, node: Node) -> Found:
    """A call activity says which process it calls."""
    if node.tag == "callActivity" and not (attribute(node.extension("calledElement"), "processId") or "").strip():
        text = "the call activity does not say which process it calls"
        yield node, text, 'Add <zeebe:calledElement processId="..."/>.'


@each_node
def mappings(document: Document, node: Node) -> Found:
    """A mapping has a source, and a target that is a path of names."""
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


@each_node
def multi_instance(document: Document, node: Node) -> Found:
    """Multi-instance runs over a collection, and what it collects has both a name and a value."""
    if node.loop is None:
        return
    part = document.part(node.loop)
    loop = part.extension("loopCharacteristics")
    if part.xml.find(f"{{{BPMN}}}loopCardinality") is not None:
        advice = "Run over a collection, such as =for i in 1..n return i."
        yield part, "<loopCardinality> is not run here", advice
    elif not attribute(loop, "inputCollection"):
        advice = 'Add <zeebe:loopCharacteristics inputCollection="=items"/>.'
        yield part, "multi-instance without an input collection", advice
    else:
        names = ("outputCollection", "outputElement")
        given, missing = [it for it in names if attribute(loop, it)], [it for it in names if not attribute(loop, it)]
        if given and missing:
            text = f"multi-instance has an {given[0]} but no {missing[0]}"
            yield document.part(loop), text, "Write both, or neither."


def expressions(document: Document) -> Found:
    """Every expression can be read, and stands wherever a plain text would make no sense."""
    for site in sites(document):
        if is_expression(site.text):
            try:
                compiled(site.text)
            except FeelSyntaxError as error:
                text = f"{site.what} cannot be read: {site.text}"
                yield site.part, text, f"The expression behind the equals sign, {error}."
        elif site.must_be_expression:
            text = f"{site.what} is the plain text '{site.text}'" if site.text else f"{site.what} is empty"
            yield site.part, text, f"Begin it with an equals sign: ={site.text or '...'}"
