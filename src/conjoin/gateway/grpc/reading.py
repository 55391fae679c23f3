"""Reading requests: their common fields (variables as a JSON text, an optional tenant), and what is not supported.

Whatever a request asks for that is not supported is refused by the name of the field, never ignored; so are fields that
are set and that this server does not know, as a newer client may send them. A field with its default asks for nothing.
`operationReference` is accepted and not kept: no call could return it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.unknown_fields import UnknownFieldSet

from conjoin.gateway.memory_budget import json_cost, xml_cost
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.jobs import decides_something
from conjoin.runtime.client_api.messages import unusable_tenant
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json
from conjoin.runtime.engine.catalog import DEFAULT_TENANT

Variables = dict[str, Any]
_FILES = {"resources": "content", "processes": "definition"}
"""The names of fields with models, and of the content of each."""
_UNSUPPORTED = {
    "CreateProcessInstanceRequest": ("startInstructions", "runtimeInstructions", "tags"),
    "ActivateJobsRequest": ("tenantFilter", "withLease"),
    "StreamActivatedJobsRequest": ("tenantFilter", "withLease"),
}


@dataclass(frozen=True, slots=True)
class CommonFields:
    """Defaults for a kind of request that does not have them."""

    variables: Variables
    tenant_id: str


class Reader:
    """For requests of one kind."""

    def __init__(self, request: Descriptor) -> None:
        # A creation with result holds the creation inside.
        inner = request.fields_by_name.get("request")
        self._is_nested = inner is not None
        fields = (inner.message_type if inner is not None else request).fields_by_name
        self._has_variables = "variables" in fields
        self._has_tenant = "tenantId" in fields
        self._files = _FILES.keys() & fields.keys()
        texts = (it for it in fields.values() if it.type == FieldDescriptor.TYPE_STRING and not it.is_repeated)
        self._texts = [it.name for it in texts if it.name != "variables"]

    def cost(self, request: Any) -> int:
        """About what it takes in memory once it is read."""
        if self._is_nested:
            request = request.request
        if self._has_variables:
            return json_cost(request.variables.encode())
        contents = (getattr(file, _FILES[name]) for name in self._files for file in getattr(request, name))
        return sum(map(xml_cost, contents))

    def read(self, request: Any) -> CommonFields | Refusal:
        if self._is_nested:
            request = request.request
        tenant_id = (request.tenantId if self._has_tenant else "") or DEFAULT_TENANT
        problem = unusable_tenant((tenant_id,)) or unusable_texts(request, self._texts)
        if problem is not None:
            return problem
        variables = read_variables(request.variables) if self._has_variables else {}
        return variables if isinstance(variables, Refusal) else CommonFields(variables, tenant_id)


def unusable_texts(request: Any, names: Iterable[str]) -> Refusal | None:
    """No database takes NUL."""
    for name in names:
        if "\0" in getattr(request, name):
            return Refusal("INVALID_ARGUMENT", f"{name} has characters that are no text (NUL)")
    return None


def read_variables(text: str) -> Variables | Refusal:
    if not text:
        return {}
    try:
        variables = read_client_json(text)
    except NOT_JSON as error:
        return Refusal("INVALID_ARGUMENT", f"the variables are not JSON ({error}): send one object")
    if type(variables) is not dict:
        found = "a list" if isinstance(variables, list) else "a single value"
        return Refusal("INVALID_ARGUMENT", f"the variables are {found}: send one JSON object")
    return variables


def check_of(kind: Descriptor) -> Callable[[Any], Refusal | None]:
    """For requests of one kind: refuses what is not supported."""
    inner = _message_fields(kind)

    def check(request: Any) -> Refusal | None:
        for field in _unsupported(request, inner):
            return Refusal("UNIMPLEMENTED", f"{kind.name} with {field} is not implemented: leave it out")
        return None

    return check


def _message_fields(kind: Descriptor) -> list[str]:
    return [it.name for it in kind.fields if it.message_type is not None]


def _unsupported(message: Any, inner: list[str]) -> Iterator[str]:
    """`inner`: its fields that hold messages."""
    for unknown in UnknownFieldSet(message):
        yield f"the field number {unknown.field_number}, which this server does not know,"
    unsupported = _UNSUPPORTED.get(message.DESCRIPTOR.name, ())
    if not unsupported and not inner:
        return
    for field, value in message.ListFields():
        if field.name in unsupported:
            yield field.name
        if field.name in inner:
            for inside in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _unsupported(inside, _message_fields(inside.DESCRIPTOR))
                if field.name == "result" and decides_something(MessageToDict(inside)):
                    yield field.name
