"""The document: what a BPMN file says, as nodes that know their flows, scopes, boundary events and messages.

It decides nothing; `rules/` judge it and `compile/` makes plans of what they let pass.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from conjoin.bpmn.names import BPMN, DEFINITION, FLEANS, FLOW_NODES, SCOPES, WORDS, ZEEBE
from conjoin.bpmn.reading.dialects import ModelDialect
from conjoin.bpmn.reading.xml import Tree, Xml
from conjoin.errors import Problem
from conjoin.kernel.policies import Policies


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


@dataclass(slots=True, eq=False, repr=False)
class SequenceFlow(ModelPart):
    """A sequence flow; an end that does not exist is None."""

    source: "Node | None" = None
    target: "Node | None" = None

    @property
    def condition(self) -> str | None:
        return text_of(self.xml.find(f"{{{BPMN}}}conditionExpression"))


@dataclass(slots=True, eq=False, repr=False)
class Event(ModelPart):
    """An event definition; `type` is `message`, `timer` and so on."""

    message: "MessageElement | None" = None

    @property
    def type(self) -> str:
        return self.tag.removesuffix(DEFINITION)


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
    def is_event_subprocess(self) -> bool:
        return self.tag == "subProcess" and self.flag("triggeredByEvent", False)

    @property
    def starts_process(self) -> bool:
        """A start event of the process itself, at which an instance begins."""
        return self.tag == "startEvent" and self.scope is not None and self.scope.scope is None

    @property
    def caught(self) -> MessageElement | None:
        """The message that it waits for, if it does."""
        if self.tag == "receiveTask":
            return self.message
        if self.tag in ("startEvent", "intermediateCatchEvent", "boundaryEvent") and self.event:
            return self.event.message
        return None

    @property
    def words(self) -> str:
        """Its kind as a person would call it: `message catch event`, `event subprocess`."""
        if self.is_event_subprocess:
            return "event subprocess"
        kind = WORDS.get(self.tag, self.tag)
        return f"{self.event_type} {kind}" if self.event_type else kind

    def flag(self, name: str, default: bool) -> bool:
        return read_flag(self.xml.get(name), default)

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
    left_out: tuple[Problem, ...] = ()
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

    def problem(self, part: ModelPart, rule: str, text: str, advice: str) -> Problem:
        """A problem on the line of a part, named by the element that the part belongs to."""
        return Problem(self.tree.file, part.line, owner_id(part.xml), rule, text, advice)

    def part(self, xml: Xml) -> ModelPart:
        return ModelPart(xml, self.tree.lines[xml])

    def message(self, xml: Xml) -> MessageElement | None:
        found = self.referred(xml, "messageRef")
        return found if isinstance(found, MessageElement) else None

    def referred(self, xml: Xml, attribute_name: str) -> ModelPart | None:
        """The message, error or signal that an attribute refers to."""
        return self.roots.get(plain(xml.get(attribute_name)))


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


def attribute(xml: Xml, name: str) -> str | None:
    """An attribute of an extension element, written with its prefix or without."""
    value: str | None = xml.get(name)
    return xml.get(f"{{{ZEEBE}}}{name}") if value is None else value


def read_flag(value: str | None, default: bool) -> bool:
    return default if value is None else value.strip() in ("true", "1")


def text_of(xml: Xml | None) -> str | None:
    """The text of an element without the space around it; None if there is no element."""
    return None if xml is None else "".join(xml.itertext()).strip()
