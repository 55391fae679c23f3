"""What an element kind is to the engine: three functions. Most kinds need only the first."""

from collections.abc import Callable
from dataclasses import dataclass

from conjoin.kernel.plan import Element
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.rules.entering import Own
from conjoin.kernel.process.rules.leaving import complete_element
from conjoin.kernel.process.rules.tokens import end_by_force
from conjoin.kernel.process.state import ElementInstance, Scope
from conjoin.kernel.process.step import Step


@dataclass(frozen=True, slots=True)
class Behaviour:
    activate: Callable[[Step, ActivateElement, Element, Scope, Own], None]
    """A token arrives, with the variables it begins with; again with the same key after an incident was resolved."""
    complete: Callable[[Step, ElementInstance], None] = complete_element
    terminate: Callable[[Step, ElementInstance], None] = end_by_force
