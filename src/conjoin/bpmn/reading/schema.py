"""Validation with the XSD of BPMN 2.0, kept in `xsd/`, in words that name no namespace.

The schema knows the shape of a file and nothing of what runs; that is for the rules.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from threading import Lock

from lxml import etree

from conjoin.bpmn.document import local_name, owner_id
from conjoin.bpmn.reading.xml import Tree, Xml
from conjoin.errors import Problem

_NAMESPACE = re.compile(r"\{[^{}]*\}")
_ELEMENT = re.compile(r"^Element '(?P<name>[^']*)'[:,] ")
_EXPECTATION = ". Expected is "
_EXPECTED = re.compile(r"\. Expected is (one of )?\( (?P<names>.*) \)\.$")
_STEP = re.compile(r"/([^/\[]+)(?:\[(\d+)\])?")
_ONE_AT_A_TIME = Lock()
_MOST_EXPECTED = 4
_MOST_VIOLATIONS = 100
_PATTERN_VALUE = re.compile(r"'(?P<value>[^']*)' is not a valid value of the atomic type 'xs:ID'")
_NAME = re.compile(r"[^\W\d][\w.-]*")


@cache
def _schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(Path(__file__).parent / "xsd" / "BPMN20.xsd"))


def violations(tree: Tree) -> Iterator[Problem]:
    """The violations of the schema, each on the line where its element begins."""
    schema = _schema()
    # The log belongs to the schema, which all threads share.
    with _ONE_AT_A_TIME:
        errors = [] if schema.validate(tree.root) else list(schema.error_log)
    for error in errors[:_MOST_VIOLATIONS]:
        # libxml2 calls a repeated id invalid; the rule `element_ids` says it better, and for all of them.
        invalid_id = _PATTERN_VALUE.search(error.message)
        if invalid_id is None or not _NAME.fullmatch(invalid_id["value"]):
            yield _problem(tree, error)


def _problem(tree: Tree, error: etree._LogEntry) -> Problem:
    element = _element_at(tree, error.path)
    return Problem(
        file=tree.file,
        line=error.line if element is None else tree.lines[element],
        element="" if element is None else element.get("id") or owner_id(element),
        rule="schema",
        text=_in_words(error.message),
        advice="The file does not follow the schema of BPMN 2.0: open it in a modeler and save it again.",
    )


def _element_at(tree: Tree, path: str | None) -> Xml | None:
    """The element of a path as libxml2 writes it: `/bpmn:definitions/bpmn:process[2]`, or `/*/*[2]` without prefix."""
    if not path:
        return None
    element = tree.root
    for name, number in _STEP.findall(path.partition("/@")[0])[1:]:
        fitting = [child for child in element if name in ("*", _prefixed(child))]
        place = int(number or 1) - 1
        if place >= len(fitting):
            return None
        element = fitting[place]
    return element


def _prefixed(element: Xml) -> str:
    return f"{element.prefix}:{local_name(element)}" if element.prefix else local_name(element)


def _in_words(message: str) -> str:
    """libxml2's sentence without namespaces, and without a list of expected elements that nobody reads."""
    text = _ELEMENT.sub(r"<\g<name>>: ", _NAMESPACE.sub("", message))
    # It is the last of them: others are quoted from the file, and each would be compared with all that follows.
    expected = _EXPECTED.match(text, max(text.rfind(_EXPECTATION), 0))
    if expected:
        names = expected["names"].split(", ")
        hint = f" but {' or '.join(names)}" if len(names) <= _MOST_EXPECTED else ""
        text = text[: expected.start()] + hint
    return text.replace("This element", "this element").rstrip(". ")
