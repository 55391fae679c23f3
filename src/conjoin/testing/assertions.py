"""Assertions that read as sentences, and that say why when they fail. Each answers with itself, to be chained."""

from collections.abc import Iterable
from typing import Any, overload

from conjoin.testing.records import InstanceHandle, MessageHandle

_MISSING = object()


class MessageAssertions:
    def __init__(self, message: MessageHandle) -> None:
        self._message = message

    def was_correlated_to(self, instance: InstanceHandle, at: str | None = None) -> "MessageAssertions":
        """The instance has it; `at` names the element that caught it."""
        elements = [taken.element_id for taken in self._message.taken if taken.instance_key == instance.key]
        place = f" at {at}" if at else ""
        self._check(bool(elements), f"to be correlated to {instance}")
        self._check(at is None or at in elements, f"to be correlated to {instance}{place}, not at {_listed(elements)}")
        return self

    def was_correlated(self) -> "MessageAssertions":
        self._check(bool(self._message.taken), "to be correlated")
        return self

    def was_not_correlated(self) -> "MessageAssertions":
        self._check(not self._message.taken, "to be correlated to nobody")
        return self

    def started(self, process_id: str) -> "MessageAssertions":
        """An instance of the process was started by it."""
        started = [
            receiver.process_id
            for receiver, taken in zip(self._message.receivers, self._message.taken, strict=True)
            if receiver.entered_elements[:1] == [taken.element_id]
        ]
        self._check(process_id in started, f"to start an instance of {process_id}")
        return self

    def is_buffered(self) -> "MessageAssertions":
        self._check(self._message.is_buffered, "to be buffered")
        return self

    def has_expired(self) -> "MessageAssertions":
        self._check(not self._message.is_buffered, "to have expired")
        return self

    def _check(self, holds: bool, expected: str) -> None:
        if not holds:
            raise AssertionError(f"expected {self._message} {expected}. {self._message.verdict}")


class InstanceAssertions:
    def __init__(self, instance: InstanceHandle) -> None:
        self._instance = instance

    def is_active(self) -> "InstanceAssertions":
        return self._is_in("active")

    def is_completed(self) -> "InstanceAssertions":
        return self._is_in("completed")

    def is_terminated(self) -> "InstanceAssertions":
        return self._is_in("terminated")

    def is_waiting_at(self, *element_ids: str) -> "InstanceAssertions":
        """A token rests in each of these elements."""
        there = self._instance.active_elements
        for element_id in element_ids:
            self._check(element_id in there, f"to wait at {element_id}")
        return self

    def is_waiting_for(self, name: str, key: str) -> "InstanceAssertions":
        """A subscription with this message name and correlation key is open."""
        there = [(wait.name, wait.key) for wait in self._instance.subscriptions]
        self._check((name, key) in there, f"to wait for the message {name!r} with key {key!r}")
        return self

    def has_passed(self, *element_ids: str) -> "InstanceAssertions":
        """Each of these elements was completed."""
        for element_id in element_ids:
            states = self._instance.states_of(element_id)
            self._check("completed" in states, f"to have completed {element_id}")
        return self

    def has_not_entered(self, *element_ids: str) -> "InstanceAssertions":
        for element_id in element_ids:
            self._check(element_id not in self._instance.entered_elements, f"never to have entered {element_id}")
        return self

    def has_variable(self, name: str, value: Any = _MISSING) -> "InstanceAssertions":
        variables = self._instance.variables
        self._check(name in variables, f"to have a variable {name!r}")
        if value is not _MISSING:
            self._check(variables[name] == value, f"to have {name!r} = {value!r}, not {variables[name]!r}")
        return self

    def has_no_variable(self, name: str) -> "InstanceAssertions":
        self._check(name not in self._instance.variables, f"to have no variable {name!r}")
        return self

    def has_incident_at(self, element_id: str, error_type: str | None = None) -> "InstanceAssertions":
        there = [i for i in self._instance.incidents if i.element_id == element_id]
        fits = [i for i in there if error_type in (None, i.error_type)]
        self._check(bool(fits), f"to have an incident {f'{error_type} ' if error_type else ''}at {element_id}")
        return self

    def has_no_incident(self) -> "InstanceAssertions":
        self._check(not self._instance.incidents, "to have no incident")
        return self

    def _is_in(self, state: str) -> "InstanceAssertions":
        self._check(self._instance.state == state, f"to be {state}")
        return self

    def _check(self, holds: bool, expected: str) -> None:
        if not holds:
            raise AssertionError(f"expected {self._instance} {expected}. {account_of(self._instance)}")


def account_of(instance: InstanceHandle) -> str:
    """What an instance does, in a few sentences."""
    told = [f"It is {instance.state}"]
    if instance.active_elements:
        told.append(f"at {_listed(instance.active_elements)}")
    said = " ".join(told) + f"; entered so far: {_listed(instance.entered_elements)}."
    waits = [f"{wait.name!r} with key {wait.key!r} at {wait.element_id}" for wait in instance.subscriptions]
    if waits:
        said += f" It waits for {_listed(waits)}."
    for incident in instance.incidents:
        said += f" Incident {incident.error_type} at {incident.element_id}: {incident.text}."
    return f"{said} Variables: {instance.variables}"


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts) or "nothing"


@overload
def assert_that(subject: MessageHandle) -> MessageAssertions: ...
@overload
def assert_that(subject: InstanceHandle) -> InstanceAssertions: ...
def assert_that(subject: MessageHandle | InstanceHandle) -> MessageAssertions | InstanceAssertions:
    return MessageAssertions(subject) if isinstance(subject, MessageHandle) else InstanceAssertions(subject)
