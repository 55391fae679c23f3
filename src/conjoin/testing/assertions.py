"""Assertions that read as sentences, and that say why when they fail. Each answers with itself, to be chained."""

from collections.abc import Iterable
from typing import Any, Self, overload

from conjoin.testing.records import InstanceHandle, MessageHandle

_MISSING = object()


class MessageAssertions:
    def __init__(self, message: MessageHandle) -> None:
        self._message = message

    def was_correlated_to(self, instance: InstanceHandle, at: str | None = None) -> Self:
        """The instance has it; `at` names the element that caught it."""
        elements = [taken.element_id for taken in self._message.taken if taken.instance_key == instance.key]
        self._check(bool(elements), f"to be correlated to {instance}")
        return self._check(
            at is None or at in elements, f"to be correlated to {instance} at {at}, not at {_listed(elements)}"
        )

    def was_correlated(self) -> Self:
        return self._check(bool(self._message.taken), "to be correlated")

    def was_not_correlated(self, because: str | None = None) -> Self:
        """`because`: the reason of its verdict (`ttl_zero`), or the kind of what came nearest to it (`too_early`)."""
        self._check(not self._message.taken, "to be correlated to nobody")
        nearest = [str(miss["kind"]) for miss in self._message.near_misses[:1]]
        causes = [self._message.reason, *nearest]
        return self._check(
            because is None or because in causes, f"to be lost because of {because}, not of {_listed(causes)}"
        )

    def started(self, process_id: str) -> Self:
        """An instance of the process was started by it."""
        started = [
            receiver.process_id
            for receiver, taken in zip(self._message.receivers, self._message.taken, strict=True)
            if receiver.entered_elements[:1] == [taken.element_id]
        ]
        return self._check(process_id in started, f"to start an instance of {process_id}")

    def is_buffered(self) -> Self:
        return self._check(self._message.is_buffered, "to be buffered")

    def has_expired(self) -> Self:
        return self._check(not self._message.is_buffered, "to have expired")

    def _check(self, holds: bool, expected: str) -> Self:
        if not holds:
            raise AssertionError(f"expected {self._message} {expected}. {self._message.verdict}")
        return self


class InstanceAssertions:
    def __init__(self, instance: InstanceHandle) -> None:
        self._instance = instance

    def is_active(self) -> Self:
        return self._is_in("active")

    def is_completed(self) -> Self:
        return self._is_in("completed")

    def is_terminated(self) -> Self:
        return self._is_in("terminated")

    def is_waiting_at(self, *element_ids: str) -> Self:
        """A token rests in each of these elements."""
        there = self._instance.active_elements
        for element_id in element_ids:
            self._check(element_id in there, f"to wait at {element_id}")
        return self

    def is_waiting_for(self, name: str, key: str) -> Self:
        """A subscription with this message name and correlation key is open."""
        there = [(wait.name, wait.key) for wait in self._instance.subscriptions]
        return self._check((name, key) in there, f"to wait for the message {name!r} with key {key!r}")

    def has_passed(self, *element_ids: str) -> Self:
        """Each of these elements was completed."""
        for element_id in element_ids:
            states = self._instance.states_of(element_id)
            self._check("completed" in states, f"to have completed {element_id}")
        return self

    def has_not_entered(self, *element_ids: str) -> Self:
        for element_id in element_ids:
            self._check(element_id not in self._instance.entered_elements, f"never to have entered {element_id}")
        return self

    def has_variable(self, name: str, value: Any = _MISSING) -> Self:
        variables = self._instance.variables
        self._check(name in variables, f"to have a variable {name!r}")
        if value is not _MISSING:
            self._check(variables[name] == value, f"to have {name!r} = {value!r}, not {variables[name]!r}")
        return self

    def has_no_variable(self, name: str) -> Self:
        return self._check(name not in self._instance.variables, f"to have no variable {name!r}")

    def has_incident_at(self, element_id: str, error_type: str | None = None) -> Self:
        there = [i for i in self._instance.incidents if i.element_id == element_id]
        fits = [i for i in there if error_type in (None, i.error_type)]
        return self._check(bool(fits), f"to have an incident {f'{error_type} ' if error_type else ''}at {element_id}")

    def has_no_incident(self) -> Self:
        return self._check(not self._instance.incidents, "to have no incident")

    def _is_in(self, state: str) -> Self:
        return self._check(self._instance.state == state, f"to be {state}")

    def _check(self, holds: bool, expected: str) -> Self:
        if not holds:
            raise AssertionError(f"expected {self._instance} {expected}. {account_of(self._instance)}")
        return self


def account_of(instance: InstanceHandle) -> str:
    """What an instance does, in a few sentences."""
    where = f" at {_listed(instance.active_elements)}" if instance.active_elements else ""
    text = f"It is {instance.state}{where}; entered so far: {_listed(instance.entered_elements)}."
    waits = [f"{wait.name!r} with key {wait.key!r} at {wait.element_id}" for wait in instance.subscriptions]
    if waits:
        text += f" It waits for {_listed(waits)}."
    for incident in instance.incidents:
        text += f" Incident {incident.error_type} at {incident.element_id}: {incident.text}."
    return f"{text} Variables: {instance.variables}"


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts) or "nothing"


@overload
def assert_that(subject: MessageHandle) -> MessageAssertions: ...
@overload
def assert_that(subject: InstanceHandle) -> InstanceAssertions: ...
def assert_that(subject: MessageHandle | InstanceHandle) -> MessageAssertions | InstanceAssertions:
    return MessageAssertions(subject) if isinstance(subject, MessageHandle) else InstanceAssertions(subject)
