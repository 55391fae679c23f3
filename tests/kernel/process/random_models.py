"""Random valid models: nested blocks of gateways, waits, boundaries, subprocesses, loops and calls.

A block has one way in and at most one way out, so any row of blocks is a valid process. What a model may starve (a
join behind a branch that never arrives) is left in on purpose.
"""

from collections.abc import Callable
from random import Random
from typing import NamedTuple, TypeVar

from tests.kernel.process.bpmn_xml import bpmn, document, duration, extended, formal, mapping, message, zeebe

NAMES = ("m1", "m2", "m3")
KEYS = ("=k1", "=k2")
CODES = ("E1", "E2")
DEEPEST = 3
_T = TypeVar("_T")


class Block(NamedTuple):
    """Where a block begins and ends; `end` None when nothing comes out of it."""

    begin: str
    end: str | None


class _Scope:
    def __init__(self) -> None:
        self.nodes: list[str] = []
        self.flows: list[str] = []


class ModelMaker:
    """One process from one seed."""

    def __init__(self, chance: Random, process_id: str, calls: str | None = None) -> None:
        self.chance = chance
        self.process_id = process_id
        self.calls = calls
        self._count = 0
        self._scope = _Scope()
        self._messages: dict[tuple[str, str], str] = {}

    def xml(self) -> bytes:
        process = bpmn("process", self._within(self._fill_process), id=self.process_id, isExecutable=True)
        messages = [message(ref, name, key) for (name, key), ref in self._messages.items()]
        errors = [bpmn("error", id=f"error_{code}", errorCode=code) for code in CODES]
        return document(process, *messages, *errors, bpmn("signal", id="signal_1", name="s1"))

    def _fill_process(self) -> None:
        row = self._row(self.chance.randint(2, 4), 0)
        first = row.begin
        if self._happens(0.3):
            first = self._node("exclusiveGateway", "merge")
            self._flow(first, row.begin)
            self._flow(self._node("startEvent", "on", self._caught(self.chance.choice(NAMES), "")), first)
        self._flow(self._node("startEvent", "begin"), first)
        self._finish(row)
        self._event_subprocesses(0)

    def _within(self, fill: Callable[[], None]) -> str:
        outer, self._scope = self._scope, _Scope()
        fill()
        made, self._scope = self._scope, outer
        self.chance.shuffle(made.nodes)
        self.chance.shuffle(made.flows)
        return "\n".join(["", *made.nodes, *made.flows, ""])

    def _row(self, length: int, depth: int) -> Block:
        first = last = self._block(depth)
        for _ in range(length - 1):
            if last.end is None:
                break
            following = self._block(depth)
            self._flow(last.end, following.begin)
            last = following
        return Block(first.begin, last.end)

    def _finish(self, row: Block) -> None:
        if row.end is not None:
            self._flow(row.end, self._node("endEvent", "end"))

    def _block(self, depth: int) -> Block:
        makers = [self._catch, self._catch, self._receive, self._task, self._task, self._script, self._event_gateway]
        makers += [self._timer, self._signal]
        if depth < DEEPEST:
            makers += [self._exclusive, self._parallel, self._inclusive, self._subprocess, self._loop]
        if self.calls and self._happens(0.5):
            makers.append(self._call)
        if depth and self._happens(0.08):
            makers = [self._violent_end]
        return self.chance.choice(makers)(depth)

    def _catch(self, depth: int) -> Block:
        outputs = extended(mapping("output", *self._pick(("=v", "w"), ("=k1", "seen")))) if self._happens(0.3) else ""
        return self._single("intermediateCatchEvent", "c", outputs + self._any_caught())

    def _timer(self, depth: int) -> Block:
        return self._single("intermediateCatchEvent", "wait", duration("PT10M"))

    def _signal(self, depth: int) -> Block:
        kind = self._pick("intermediateCatchEvent", "intermediateThrowEvent")
        return self._single(kind, "sig", bpmn("signalEventDefinition", signalRef="signal_1"))

    def _script(self, depth: int) -> Block:
        return self._single("scriptTask", "s", extended(zeebe("script", expression="=v + 1", resultVariable="v")))

    def _single(self, tag: str, name: str, inner: str) -> Block:
        node = self._node(tag, name, inner)
        return Block(node, node)

    def _receive(self, depth: int) -> Block:
        name = self.chance.choice(NAMES)
        ref = self._message(name, self.chance.choice(KEYS))
        return self._with_boundaries(self._node("receiveTask", "r", self._multi(), messageRef=ref), [name])

    def _task(self, depth: int) -> Block:
        pairs = (("=v", "w"), ("=k2", "k1"), ("=v", "by.v"))
        inputs = mapping("input", *self._pick(*pairs)) if self._happens(0.3) else ""
        job = zeebe("taskDefinition", type=self._pick("j1", "j2"))
        return self._with_boundaries(self._node("serviceTask", "t", extended(job, inputs) + self._multi()), [], True)

    def _call(self, depth: int) -> Block:
        called = extended(zeebe("calledElement", processId=self.calls or ""))
        return self._with_boundaries(self._node("callActivity", "call", called), [], True)

    def _subprocess(self, depth: int) -> Block:
        def fill() -> None:
            row = self._row(self.chance.randint(1, 3), depth + 1)
            self._flow(self._node("startEvent", "in"), row.begin)
            self._finish(row)
            self._event_subprocesses(depth + 1)

        inner = self._within(fill)
        return self._with_boundaries(self._node("subProcess", "sub", self._multi() + inner), [], True)

    def _event_subprocesses(self, depth: int) -> None:
        for name in self._some(NAMES, self._pick(0, 0, 0, 1, 1, 2)):
            self._event_subprocess(name, depth)

    def _event_subprocess(self, name: str, depth: int) -> None:
        def fill() -> None:
            event = self._caught(name, self.chance.choice(KEYS))
            begin = self._node("startEvent", "go", event, isInterrupting=self._happens(0.4))
            row = self._row(self.chance.randint(1, 2), depth + 2)
            self._flow(begin, row.begin)
            self._finish(row)

        self._node("subProcess", "ev", self._within(fill), triggeredByEvent=True)

    def _exclusive(self, depth: int) -> Block:
        return self._branches("exclusiveGateway", depth, with_conditions=True)

    def _inclusive(self, depth: int) -> Block:
        return self._branches("inclusiveGateway", depth, with_conditions=True)

    def _parallel(self, depth: int) -> Block:
        return self._branches("parallelGateway", depth, with_conditions=False)

    def _branches(self, kind: str, depth: int, with_conditions: bool) -> Block:
        split = self._id("split")
        rows = [self._row(self.chance.randint(1, 2), depth + 1) for _ in range(self.chance.randint(2, 3))]
        conditions = [f"=v &gt; {number}" if with_conditions and number else "" for number in range(len(rows))]
        flows = [self._flow(split, row.begin, said) for row, said in zip(rows, conditions, strict=True)]
        self._add(bpmn(kind, id=split, default=flows[0]) if with_conditions else bpmn(kind, id=split))
        ends = [row.end for row in rows if row.end is not None]
        if not ends:
            return Block(split, None)
        join = self._node(kind, "join")
        for end in ends:
            self._flow(end, join)
        return Block(split, join)

    def _event_gateway(self, depth: int) -> Block:
        gateway, merge = self._node("eventBasedGateway", "e"), self._node("exclusiveGateway", "m")
        events = [self._caught(name, self.chance.choice(KEYS)) for name in self._some(NAMES, 2)]
        if self._happens(0.5):
            events.append(duration("PT10M"))
        for event in events:
            catch = self._node("intermediateCatchEvent", "c", event)
            self._flow(gateway, catch)
            self._flow(catch, merge)
        return Block(gateway, merge)

    def _loop(self, depth: int) -> Block:
        """A catch event and a count, again and again until the count is large enough."""
        begin, out, again = self._node("exclusiveGateway", "m"), self._node("exclusiveGateway", "m"), self._id("x")
        catch, script = self._catch(depth).begin, self._script(depth).begin
        for source, target in ((begin, catch), (catch, script), (script, again)):
            self._flow(source, target)
        self._flow(again, begin, "=v &lt; 4")
        self._add(bpmn("exclusiveGateway", id=again, default=self._flow(again, out)))
        return Block(begin, out)

    def _violent_end(self, depth: int) -> Block:
        how = self._pick(bpmn("terminateEventDefinition"), self._error())
        return Block(self._node("endEvent", "stop", how), None)

    def _with_boundaries(self, activity: str, taken: list[str], errors: bool = False) -> Block:
        ways_out = [activity]
        free = [name for name in NAMES if name not in taken]
        for name in self._some(free, self._pick(0, 0, 1, 1, 2)):
            event = self._caught(name, self.chance.choice(KEYS))
            ways_out += self._boundary(activity, event, self._happens(0.5))
        if self._happens(0.2):
            ways_out += self._boundary(activity, duration("PT10M"), self._happens(0.5))
        if errors and self._happens(0.3):
            ways_out += self._boundary(activity, self._error(), True)
        if len(ways_out) == 1:
            return Block(activity, activity)
        merge = self._node("exclusiveGateway", "m")
        for way in ways_out:
            self._flow(way, merge)
        return Block(activity, merge)

    def _boundary(self, activity: str, event: str, interrupting: bool) -> list[str]:
        name = self._node("boundaryEvent", "b", event, attachedToRef=activity, cancelActivity=interrupting)
        if interrupting:
            return [name]
        self._flow(name, self._node("endEvent", "end"))
        return []

    def _multi(self) -> str:
        if not self._happens(0.2):
            return ""
        results = {"outputCollection": "results", "outputElement": "=v"} if self._happens(0.5) else {}
        loop = extended(zeebe("loopCharacteristics", inputCollection="=items", inputElement="it", **results))
        condition = formal("completionCondition", "=numberOfCompletedInstances &gt;= 1") if self._happens(0.3) else ""
        return bpmn("multiInstanceLoopCharacteristics", loop + condition, isSequential=self._happens(0.5))

    def _error(self) -> str:
        return bpmn("errorEventDefinition", errorRef=f"error_{self.chance.choice(CODES)}")

    def _any_caught(self) -> str:
        return self._caught(self.chance.choice(NAMES), self.chance.choice(KEYS))

    def _caught(self, name: str, key: str) -> str:
        return bpmn("messageEventDefinition", messageRef=self._message(name, key))

    def _message(self, name: str, key: str) -> str:
        return self._messages.setdefault((name, key), f"message_{len(self._messages)}")

    def _flow(self, source: str, target: str, condition: str = "") -> str:
        flow = self._id("f")
        inner = formal("conditionExpression", condition) if condition else ""
        self._scope.flows.append(bpmn("sequenceFlow", inner, id=flow, sourceRef=source, targetRef=target))
        return flow

    def _node(self, tag: str, name: str, inner: str = "", **attributes: str | bool) -> str:
        node = self._id(name)
        self._add(bpmn(tag, inner, id=node, **attributes))
        return node

    def _add(self, xml: str) -> None:
        self._scope.nodes.append(xml)

    def _id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _happens(self, likelihood: float) -> bool:
        return self.chance.random() < likelihood

    def _pick(self, *choices: _T) -> _T:
        return self.chance.choice(choices)

    def _some(self, names: list[str] | tuple[str, ...], count: int) -> list[str]:
        return self.chance.sample(list(names), min(count, len(names)))
