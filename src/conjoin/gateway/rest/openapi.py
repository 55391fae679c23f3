"""The OpenAPI document, made of the tables that the routes are made of: it cannot tell of anything else."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from conjoin import __version__
from conjoin.gateway.rest.endpoint import Endpoint

Schema = Mapping[str, Any]
_PARAMETER = re.compile(r"\{(\w+)\}")
_KEYS = re.compile(r"(\w*Key|key)")
_PROBLEM: Schema = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance"],
    "properties": {
        **{name: {"type": "string"} for name in ("type", "title", "detail", "instance")},
        "status": {"type": "integer"},
    },
}
_TAGS = {"/v2": "Camunda 8", "/api": "Fleans", "/conjoin": "Conjoin"}
_OPERATION = "server"


def document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    described = list(endpoints)
    types = [it for endpoint in described for it in (endpoint.body, endpoint.answer) if _is_type(it)]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = {id(type_): schema for type_, schema in zip(types, schemas, strict=True)}
    paths: dict[str, Any] = {}
    for endpoint in described:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Conjoin", "version": __version__, "description": "Message correlation for BPMN workflows."},
        "paths": paths,
        "components": {"schemas": {**components, "Problem": _PROBLEM}},
    }


def _is_type(it: Any) -> bool:
    return it is not None and not isinstance(it, Mapping)


def _operation(endpoint: Endpoint, by_type: Mapping[int, Schema]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "tags": [next((tag for prefix, tag in _TAGS.items() if endpoint.path.startswith(prefix)), _OPERATION)],
        "responses": _responses(endpoint, by_type),
    }
    parameters = [*map(_in_path, _PARAMETER.findall(endpoint.path)), *map(_in_query, endpoint.query.items())]
    content = _content(endpoint, by_type)
    told |= {"parameters": parameters} if parameters else {}
    return told | ({"requestBody": {"required": endpoint.is_body_required, "content": content}} if content else {})


def _responses(endpoint: Endpoint, by_type: Mapping[int, Schema]) -> dict[str, Any]:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    default = {"description": "What was wrong", "content": problem}
    if endpoint.answer is None:
        return {"204": {"description": "Done"}, "default": default}
    content = {endpoint.answers_as: {"schema": by_type.get(id(endpoint.answer), endpoint.answer)}}
    return {str(endpoint.status): {"description": endpoint.summary, "content": content}, "default": default}


def _in_path(name: str) -> dict[str, Any]:
    schema = (
        {"type": "string", "pattern": "^-?[0-9]+$"} if _KEYS.fullmatch(name) else {"type": "string", "minLength": 1}
    )
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(parameter: tuple[str, str]) -> dict[str, Any]:
    name, meaning = parameter
    return {"name": name, "in": "query", "description": meaning, "schema": {"type": "string"}}


def _content(endpoint: Endpoint, by_type: Mapping[int, Schema]) -> dict[str, Any]:
    if endpoint.body is not None:
        return {"application/json": {"schema": by_type[id(endpoint.body)]}}
    return {media_type: {"schema": schema} for media_type, schema in endpoint.takes.items()}
