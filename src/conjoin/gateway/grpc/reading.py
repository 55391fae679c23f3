"""What all requests have in common, read once: variables are a JSON text, a tenant may be left out."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from conjoin.gateway.memory_budget import json_cost, xml_cost
from conjoin.gateway.tenants import tenant_or_default, unusable_tenant
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json

Variables = dict[str, Any]
_FILES = {"resources": "content", "processes": "definition"}
"""What fields with models are called, and where in them the model is."""


@dataclass(frozen=True, slots=True)
class CommonFields:
    """Of a request without one of them it is the default."""

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
        self._texts = [it.name for it in fields.values() if _is_text(it) and it.name != "variables"]

    def cost(self, request: Any) -> int:
        """What it takes in memory once it is read, about."""
        if self._is_nested:
            request = request.request
        if self._has_variables:
            return json_cost(request.variables.encode())
        contents = (getattr(file, _FILES[name]) for name in self._files for file in getattr(request, name))
        return sum(map(xml_cost, contents))

    def read(self, request: Any) -> CommonFields | Refusal:
        if self._is_nested:
            request = request.request
        tenant_id = tenant_or_default(request.tenantId if self._has_tenant else "")
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


def _is_text(field: FieldDescriptor) -> bool:
    return bool(field.type == FieldDescriptor.TYPE_STRING and not field.is_repeated)


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
