"""User tasks for lists: jobs of a type that no worker can ask for. What the model says of one is worked out here.

Candidates, dates and priority are expressions; they are evaluated with the variables that the task sees now.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from conjoin.kernel.plan import value_or_null
from conjoin.kernel.process.rules.jobs import FOR_A_PERSON
from conjoin.kernel.storable import whole_number
from conjoin.runtime.reading.instances import elements_of, visible_to
from conjoin.runtime.visibility.hiding import Hiding
from conjoin.store.rows import InstanceRow
from conjoin.times.iso8601 import read_instant

USER_TASK = FOR_A_PERSON
_DEFAULT_PRIORITY, _MOST_PRIORITY = 50, 100


class ForPeople(NamedTuple):
    candidate_groups: Sequence[str]
    candidate_users: Sequence[str]
    due_at: int | None
    follow_up_at: int | None
    priority: int
    form_reference: str | None


def for_people(element: Any, element_key: int, instance: InstanceRow, now: int, hiding: Hiding) -> ForPeople:
    """What is made of a hidden variable is as hidden as the variable."""
    variables = hiding.of(visible_to(element_key, elements_of(instance)))
    said = {name: _value(it, variables, now) for name, it in element.properties.items()}
    priority = whole_number(said.get("priority"), _MOST_PRIORITY)
    return ForPeople(
        _texts(said.get("candidateGroups")),
        _texts(said.get("candidateUsers")),
        _instant(said.get("dueDate")),
        _instant(said.get("followUpDate")),
        _DEFAULT_PRIORITY if priority is None or priority < 0 else priority,
        said.get("externalReference"),
    )


def _value(said: Any, variables: Mapping[str, Any], now: int) -> Any:
    return value_or_null(said, variables, now) if callable(said) else said


def _texts(value: Any) -> list[str]:
    """A list, or texts with commas between them."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []


def _instant(value: Any) -> int | None:
    return read_instant(value) if isinstance(value, str) else None
