"""The document: what a BPMN file says, as nodes that know their flows, scopes, boundary events and messages.

It decides nothing; `rules/` judge it and `compile.py` makes plans of what they let pass.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from conjoin.bpmn.names import BPMN, CATCHING, DEFINITION, FLEANS, FLOW_NODES, SCOPES, WORDS, ZEEBE
from conjoin.bpmn.reading.xml import Tree, Xml
from conjoin.errors import Problem
from conjoin.kernel.policies import Policies


class ModelDialect(NamedTuple):
    """What the models of a profile may leave out. All False is Zeebe: what it refuses is refused."""

    bare_keys: bool = False
    """A correlation key may be the bare name of a variable."""
    keyless: bool = False
    """A message may have no correlation key, as in Camunda 7."""
    lenient: bool = False
    """What examples in documents leave out is added (`leniency.py`), with a warning."""


DIALECTS: dict[str, ModelDialect] = {
    "zeebe": ModelDialect(),
    "zeebe-0.2x": ModelDialect(bare_keys=True),
    "correlate": ModelDialect(bare_keys=True, keyless=True, lenient=True),
    "fleans": ModelDialect(bare_keys=True, keyless=True, lenient=True),
}
"""By profile; the names are those of `kernel/policies.py`."""


@dataclass(slots=True, eq=False, repr=False)
class ModelPart:
    """Whatever in the file a problem can point at."""

    xml: Xml
    line: int

    def __repr__(self) -> str:
        # Nodes and flows hold each other, so the usual text would be the whole document many times over.
        return f"<{self.tag} {self.id!r} on line {self.line}>"

    @property
    def id(self) -> str:
        return self.xml.get("id") or ""

    @property
    def name(self) -> str | None:
        name: str | None = self.xml.get("name")
        return name

    @property
    def tag(self) -> str:
        return local_name(self.xml)

    def extensions(self, name: str) -> list[Xml]:
        """The `zeebe:` elements of this name among its extension elements."""
        return self.xml.findall(f"{{{BPMN}}}extensionElements/{{{ZEEBE}}}{name}") or []

    def extension(self, name: str) -> Xml | None:
        return next(iter(self.extensions(name)), None)


Found = Iterator[tuple[ModelPart, str, str]]
"""What a rule finds: a part of the file, what is wrong with it, and advice how to fix it."""


@dataclass(slots=True, eq=False, repr=False)
class SequenceFlow(ModelPart):
    """A sequence flow; an end that does not exist is None."""

    source: "Node | None" = None
    target: "Node | None" = None

    @property
    def condition(self) -> str | None:
        return text_of(self.xml.find(f"{{{BPMN}}}conditionExpression"))


@dataclass(slots=True, eq=False, repr=False)
class MessageElement(ModelPart):
    """A message of the file."""

    @property
    def keys(self) -> list[list[str]]:
        """The correlation keys of its subscriptions, by namespace: the first that has one counts."""
        found = (self.xml.findall(f"{{{BPMN}}}extensionElements/{{{space}}}subscription") for space in (ZEEBE, *FLEANS))
        keys = ([attribute(xml, "correlationKey") for xml in each] for each in found)
        given = [[key for key in each if key is not None] for each in keys]
        return [each for each in given if each]

    @property
    def key(self) -> str | None:
        """The first that is not blank."""
        return next((key for each in self.keys for key in each if key.strip()), None)


@dataclass(slots=True, eq=False, repr=False)
class Event(ModelPart):
    """An event definition; `type` is `message`, `timer` and so on."""

    refers_to: ModelPart | None = None
    """The message, signal or error that it names, if that exists."""

    @property
    def type(self) -> str:
        return self.tag.removesuffix(DEFINITION)

    @property
    def message(self) -> MessageElement | None:
        return self.refers_to if self.type == "message" and isinstance(self.refers_to, MessageElement) else None


@dataclass(slots=True, eq=False, repr=False)
class Node(ModelPart):
    """A flow node, or a process. The lists are in document order."""

    scope: "Node | None" = None
    children: list["Node"] = field(default_factory=list)
    flows: list[SequenceFlow] = field(default_factory=list)
    """The sequence flows written directly in this scope."""
    events: list[Event] = field(default_factory=list)
    incoming: list[SequenceFlow] = field(default_factory=list)
    outgoing: list[SequenceFlow] = field(default_factory=list)
    boundaries: list["Node"] = field(default_factory=list)
    attached_to: "Node | None" = None
    message: MessageElement | None = None
    """Of a receive or send task; that of an event is with its definition."""

    @property
    def event(self) -> Event | None:
        return self.events[0] if self.events else None

    @property
    def event_type(self) -> str | None:
        return self.events[0].type if self.events else None

    @property
    def starts(self) -> list["Node"]:
        """The start events directly in this scope."""
        return [child for child in self.children if child.tag == "startEvent"]

    @property
    def targets(self) -> list["Node"]:
        """Where its sequence flows lead, as far as that exists."""
        return [flow.target for flow in self.outgoing if flow.target]

    @property
    def is_event_subprocess(self) -> bool:
        return self.tag == "subProcess" and self.flag("triggeredByEvent", False)

    @property
    def catches_link(self) -> bool:
        return self.tag == "intermediateCatchEvent" and self.event_type == "link"

    @property
    def throws_link(self) -> bool:
        return self.tag == "intermediateThrowEvent" and self.event_type == "link"

    @property
    def interrupts(self) -> bool:
        """Of a boundary event or the start event of an event subprocess; true for all others."""
        if self.tag == "boundaryEvent":
            return self.flag("cancelActivity", True)
        return self.tag != "startEvent" or self.flag("isInterrupting", True)

    @property
    def starts_process(self) -> bool:
        """A start event of the process itself, at which an instance begins."""
        return self.tag == "startEvent" and self.scope is not None and self.scope.scope is None

    @property
    def caught(self) -> MessageElement | None:
        """The message that it waits for, if it does."""
        if self.tag == "receiveTask":
            return self.message
        return self.event.message if self.tag in CATCHING and self.event else None

    @property
    def awaited(self) -> ModelPart | None:
        """The message or signal that it waits for, if it does."""
        return self.event.refers_to if self.event and self.event.type == "signal" else self.caught

    @property
    def correlation_key(self) -> str | None:
        """The key of what it waits for, as the author wrote it; None if there is none, as in models of Camunda 7.

        `zeebe:subscription` counts before `fleans:subscription`, and both before an attribute of the event (Fleans).
        """
        message = self.caught
        if message is not None and message.key is not None:
            return message.key
        places = [self.xml, *(event.xml for event in self.events)]
        keys = (place.get(f"{{{space}}}correlationKey") for place in places for space in FLEANS)
        return next((key for key in keys if key and key.strip()), None)

    @property
    def loop(self) -> Xml | None:
        """Its multi-instance marker."""
        return self.xml.find(f"{{{BPMN}}}multiInstanceLoopCharacteristics")

    @property
    def words(self) -> str:
        """Its kind as a person would call it: `message catch event`, `event subprocess`."""
        if self.is_event_subprocess:
            return "event subprocess"
        kind = WORDS.get(self.tag, self.tag)
        return f"{self.event_type} {kind}" if self.event_type else kind

    def flag(self, name: str, default: bool) -> bool:
        return read_flag(self.xml.get(name), default)

    def mappings(self, name: str) -> list[Xml]:
        """Its variable mappings, `input` or `output`, in the order in which they are written."""
        mapping = self.extension("ioMapping")
        return [] if mapping is None else list(mapping.iterchildren(f"{{{ZEEBE}}}{name}"))

    def within(self) -> Iterator["Node"]:
        """Every flow node inside it, at any depth, in document order."""
        for child in self.children:
            yield child
            yield from child.within()


@dataclass(slots=True, eq=False)
class Document:
    """A file, and under which rules it is read."""

    tree: Tree
    dialect: ModelDialect
    policies: Policies
    left_out: tuple[tuple[ModelPart, str, str], ...] = ()
    """What was added where its author left it out: a warning for each."""
    processes: list[Node] = field(default_factory=list)
    """The executable ones."""
    roots: dict[str, ModelPart] = field(default_factory=dict)
    """Messages, errors and signals by id."""

    @property
    def nodes(self) -> Iterator[Node]:
        """Every flow node of every executable process."""
        for process in self.processes:
            yield from process.within()

    @property
    def flows(self) -> Iterator[SequenceFlow]:
        for scope in self.scopes:
            yield from scope.flows

    @property
    def scopes(self) -> Iterator[Node]:
        for process in self.processes:
            yield process
            yield from (node for node in process.within() if node.tag in SCOPES)

    @property
    def root(self) -> ModelPart:
        return self.part(self.tree.root)

    def problem(self, part: ModelPart, rule: str, text: str, advice: str) -> Problem:
        """A problem on the line of a part, named by the element that the part belongs to."""
        return Problem(self.tree.file, part.line, owner_id(part.xml), rule, text, advice)

    def part(self, xml: Xml) -> ModelPart:
        return ModelPart(xml, self.tree.lines[xml])


_OWNERS = FLOW_NODES | {"process", "sequenceFlow", "message", "error", "signal", "definitions"}


def owner_id(xml: Xml) -> str:
    """The id of the nearest element around it that an author gives names to."""
    while xml is not None and bpmn_name(xml) not in _OWNERS:
        xml = xml.getparent()
    return "" if xml is None else xml.get("id") or ""


def local_name(xml: Xml) -> str:
    return str(xml.tag).rpartition("}")[2]


def bpmn_name(xml: Xml) -> str:
    """The name of an element of BPMN itself; empty for those of other namespaces."""
    space, _, name = str(xml.tag)[1:].rpartition("}")
    return name if space == BPMN else ""


def plain(reference: str | None) -> str:
    """A reference without its namespace prefix."""
    return (reference or "").rpartition(":")[2]


def attribute(xml: Xml | None, name: str) -> str | None:
    """An attribute of an extension element, written with its prefix or without; None if there is no element."""
    if xml is None:
        return None
    value: str | None = xml.get(name)
    return xml.get(f"{{{ZEEBE}}}{name}") if value is None else value


def read_flag(value: str | None, default: bool) -> bool:
    return default if value is None else value.strip() in ("true", "1")


def text_of(xml: Xml | None) -> str | None:
    """The text of an element without the space around it; None if there is no element."""
    return None if xml is None else "".join(xml.itertext()).strip()
