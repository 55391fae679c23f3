"""XML in, model out: the one way from a file to plans. All problems of a file are found before one is raised."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

from conjoin.bpmn.compile import compile_process
from conjoin.bpmn.document import Document
from conjoin.bpmn.reading.documents import read_document
from conjoin.bpmn.reading.limits import over_limits
from conjoin.bpmn.reading.schema import violations
from conjoin.bpmn.reading.xml import parse
from conjoin.bpmn.rule import problems_of
from conjoin.bpmn.rules import RULES
from conjoin.bpmn.warnings import ON_DEPLOYMENT, WARNINGS
from conjoin.errors import ModelError, Problem
from conjoin.kernel.plan import Plan
from conjoin.kernel.policies import Policies


@dataclass(frozen=True)
class Model:
    """A file that can be deployed. Whoever runs it keeps the plans and lets the model go, and the XML with it."""

    name: str
    plans: tuple[Plan, ...]
    """Of its executable processes, in document order."""
    digest: str
    """Of the content: the same content is not a new version."""
    document: Document = field(repr=False, compare=False)

    @cached_property
    def warnings(self) -> tuple[Problem, ...]:
        """What may surprise the author later. Only looked for when somebody asks: it takes longer than compiling."""
        return _by_line(problems_of(self.document, WARNINGS))

    @cached_property
    def notes(self) -> tuple[Problem, ...]:
        """The few warnings that whoever deploys it should see: how it was read."""
        return _by_line(problems_of(self.document, ON_DEPLOYMENT))


@dataclass(frozen=True, slots=True)
class Findings:
    """What there is to say about a file: `problems` keep it from being run, `warnings` do not."""

    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def read_model(
    xml: bytes,
    name: str = "model.bpmn",
    profile: str = "zeebe",
    policies: Policies | None = None,
    is_deployed: bool = False,
) -> Model:
    """The model in a file; raises `ModelError` with everything that keeps it from being run.

    The limits on size do not apply to what is deployed already.
    """
    document = read_document(parse(xml, name), profile, policies)
    problems = (() if is_deployed else over_limits(document)) or _problems(document)
    if problems:
        raise ModelError(problems)
    plans = tuple(compile_process(document, process) for process in document.processes)
    return Model(name, plans, sha256(xml).hexdigest(), document)


def judge(xml: bytes, name: str = "model.bpmn", profile: str = "zeebe", policies: Policies | None = None) -> Findings:
    """What there is to say about a file, whatever it is; never raises `ModelError`."""
    try:
        document = read_document(parse(xml, name), profile, policies)
    except ModelError as error:
        return Findings(tuple(error.problems), ())
    too_large = over_limits(document)
    if too_large:
        return Findings(_by_line(too_large), ())
    problems = _problems(document)
    # An element with a problem is fixed first; what looks odd about it may follow from that.
    broken = {problem.element for problem in problems}
    warnings = _by_line(problems_of(document, WARNINGS))
    return Findings(problems, tuple(warning for warning in warnings if warning.element not in broken))


def _problems(document: Document) -> tuple[Problem, ...]:
    by_schema = list(violations(document.tree))
    # What the schema has said of an element is not said again by a rule.
    known = {(problem.line, problem.element) for problem in by_schema}
    by_rules = (it for it in problems_of(document, RULES) if (it.line, it.element) not in known)
    return _by_line([*by_schema, *by_rules])


def _by_line(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.element, problem.rule, problem.text)))
