"""What a request asks for and is not done here: refused by the name of the field, never left out in silence.

Fields that are set and that this server does not know at all, as a newer client may send them, are refused as well. A
field that is not set, or has its default, asks for nothing. `operationReference` is taken: nothing can ask for it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.unknown_fields import UnknownFieldSet

from conjoin.runtime.client_api.answers import Refusal

_FIELDS = {
    "CreateProcessInstanceRequest": ("startInstructions", "runtimeInstructions", "tags"),
    "ActivateJobsRequest": ("tenantFilter", "withLease"),
    "StreamActivatedJobsRequest": ("tenantFilter", "withLease"),
}
_FOR_USER_TASKS = "userTask"
"""The type of a job's result that says nothing by itself."""


def check_of(request: Descriptor) -> Callable[[Any], Refusal | None]:
    """For requests of one kind."""
    inner = [it.name for it in request.fields if it.message_type is not None]

    def check(asked: Any) -> Refusal | None:
        for field in _unsupported(asked, inner):
            return Refusal("UNIMPLEMENTED", f"{request.name} with {field} is not implemented: leave it out")
        return None

    return check


def _unsupported(asked: Any, inner: list[str]) -> Iterator[str]:
    for unknown in UnknownFieldSet(asked):
        yield f"the field number {unknown.field_number}, which this server does not know,"
    given = _FIELDS.get(asked.DESCRIPTOR.name, ())
    if given:
        yield from (field.name for field, _ in asked.ListFields() if field.name in given)
    if inner:
        for field, value in asked.ListFields():
            if field.name in inner:
                yield from _inside(field.name, [value] if hasattr(value, "DESCRIPTOR") else value)


def _inside(name: str, messages: Any) -> Iterator[str]:
    for message in messages:
        nested = [it.name for it in message.DESCRIPTOR.fields if it.message_type is not None]
        yield from _unsupported(message, nested)
        if name == "result" and _says_something(message):
            yield name


def _says_something(result: Any) -> bool:
    """A result that neither denies nor corrects nor starts anything is the same as none."""
    said = {field.name: value for field, value in result.ListFields()}
    if "corrections" in said and said.pop("corrections").ListFields():
        return True
    return said.pop("type", _FOR_USER_TASKS) != _FOR_USER_TASKS or any(said.values())
