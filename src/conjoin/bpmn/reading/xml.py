"""Bytes to an XML tree, hostile bytes included: no DOCTYPE, no entities, no network, limits on size and depth.

Expat walks the text first, because it stops at the first forbidden thing before anything is built, and because it
knows the line on which every element begins. Only what passed goes to lxml. No error of either leaves this module:
what cannot be read is a `Problem`.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias
from xml.parsers import expat

from lxml import etree

from conjoin.bpmn.names import BPMN
from conjoin.errors import ModelError, Problem

MOST_BYTES = 4 * 1024 * 1024
DEEPEST = 200

Xml: TypeAlias = Any
"""An element of lxml, which has no types of its own."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A well-formed XML file: its root and the line on which each element begins."""

    file: str
    root: Xml
    lines: dict[Xml, int]


def parse(content: bytes, file: str) -> Tree:
    """The tree of a file; raises `ModelError` for what is no XML that we read."""
    if len(content) > MOST_BYTES:
        raise _unreadable(file, 1, f"the file has {len(content):,} bytes, and {MOST_BYTES:,} are the most", "Split it.")
    lines = _walk(content, file)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise _unreadable(file, 1, f"the XML cannot be read: {error}", _SAVE_AGAIN) from None
    return Tree(file, root, dict(zip(root.iter(etree.Element), lines, strict=True)))


def check_root(tree: Tree) -> None:
    """Raises `ModelError` for XML that is no BPMN."""
    if tree.root.tag != f"{{{BPMN}}}definitions":
        found = etree.QName(tree.root)
        raise _unreadable(
            tree.file,
            tree.lines[tree.root],
            f"the root is <{found.localname}> of the namespace '{found.namespace or ''}'",
            f"A BPMN 2.0 file has the root <definitions> of the namespace '{BPMN}'.",
        )


_SAVE_AGAIN = "Save the model again as UTF-8, from the modeler that made it."


def _walk(content: bytes, file: str) -> list[int]:
    """The line of every element, in document order."""
    parser = expat.ParserCreate(namespace_separator=" ")
    lines: list[int] = []
    depth = 0

    def refuse(text: str, advice: str) -> None:
        raise _unreadable(file, parser.CurrentLineNumber, text, advice)

    def opened(_tag: str, _attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        lines.append(parser.CurrentLineNumber)
        if depth > DEEPEST:
            refuse(f"elements are nested more than {DEEPEST} deep", "Use call activities instead.")

    def closed(_tag: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    no_doctype = "Remove it: a model needs none, and entities and outside files are never read."
    parser.StartDoctypeDeclHandler = lambda *_declaration: refuse("the file has a DOCTYPE", no_doctype)
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        text = f"the XML is not well-formed: {expat.ErrorString(error.code)} (column {error.offset + 1})"
        raise _unreadable(file, error.lineno, text, _SAVE_AGAIN) from None
    except (LookupError, ValueError) as error:
        # An encoding that Python does not know, or that is wider than a byte.
        raise _unreadable(file, 1, f"the encoding cannot be read: {error}", _SAVE_AGAIN) from None
    return lines


def _unreadable(file: str, line: int, text: str, advice: str) -> ModelError:
    return ModelError([Problem(file, line, "", "xml", text, advice)])
