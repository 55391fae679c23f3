"""The OpenAPI document, made from the tables that the routes are made of, and the page to read and try it.

It describes requests and all answers, also each problem by its status. The page is Swagger UI, served from `static`: it
requests nothing from other servers, runs no other scripts, and may not be framed.
"""

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from conjoin import __version__
from conjoin.gateway.http.schemas import KEY, NAME, Schema, whole
from conjoin.gateway.rest.endpoint import Endpoint
from conjoin.gateway.search.engine.schemas import SHARED

_PARAMETER = re.compile(r"\{(\w+)\}")
_KEYS = re.compile(r"(\w*Key|key)")
_TEXTS = {name: {"type": "string"} for name in ("type", "title", "detail", "instance", "requestId")}
_PROBLEM = whole({**_TEXTS, "status": {"type": "integer", "minimum": 400, "maximum": 599}})
_TAGS = {"/v2": "Camunda 8", "/api": "Fleans", "/conjoin": "Conjoin"}
_OPERATION = "server"
_ALWAYS = (431, 503)
_GUARDED = (401, 403)
_WITH_BODY = (400, 408, 413, 415)
_STATUSES = (400, 401, 403, 404, 408, 409, 413, 415, 431, 501, 503, 504)
STATIC = Path(__file__).parent / "static"
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conjoin API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/static/swagger-ui.css">
<div id="docs"></div>
<script src="/docs/static/swagger-ui-bundle.js"></script>
<script src="/docs/static/docs.js"></script>
</html>
"""
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    described = list(endpoints)
    kinds = [it for endpoint in described for it in (endpoint.body, endpoint.answer, *endpoint.also.values())]
    types = [it for it in kinds if it is not None and not isinstance(it, Mapping)]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = {id(type_): schema for type_, schema in zip(types, schemas, strict=True)}
    paths: dict[str, Any] = {}
    for endpoint in described:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Conjoin", "version": __version__, "description": "Message correlation for BPMN workflows."},
        "paths": paths,
        "components": {
            "schemas": {**components, **SHARED, "Problem": _PROBLEM},
            "responses": {_name(status): _problem(status) for status in _STATUSES},
        },
    }


def _name(status: int) -> str:
    return HTTPStatus(status).phrase.title().replace(" ", "").replace("-", "")


def _problem(status: int) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    problem: dict[str, Any] = {"description": HTTPStatus(status).phrase, "content": content}
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        problem["headers"] = {"Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer"}}}
    return problem


def _operation(endpoint: Endpoint, by_type: Mapping[int, Schema]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "tags": [_tag(endpoint)],
        "responses": _responses(endpoint, by_type),
    }
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": KEY if _KEYS.fullmatch(name) else NAME}
        for name in _PARAMETER.findall(endpoint.path)
    ]
    parameters += [
        {"name": name, "in": "query", "description": it.meaning, "schema": it.schema}
        for name, it in endpoint.query.items()
    ]
    if parameters:
        operation["parameters"] = parameters
    if content := _content(endpoint, by_type):
        required = endpoint.needs_body if endpoint.body is not None else not endpoint.may_be_empty
        operation["requestBody"] = {"required": required, "content": content}
    return operation


def _tag(endpoint: Endpoint) -> str:
    return next((tag for prefix, tag in _TAGS.items() if endpoint.path.startswith(prefix)), _OPERATION)


def _responses(endpoint: Endpoint, by_type: Mapping[int, Schema]) -> dict[str, Any]:
    problems = {str(status): {"$ref": f"#/components/responses/{_name(status)}"} for status in _refused(endpoint)}
    others = {str(status): _response(endpoint, it, by_type) for status, it in endpoint.also.items()}
    if endpoint.answer is None:
        return {"204": {"description": "Done"}, **problems, **others}
    done = _response(endpoint, endpoint.answer, by_type)
    if endpoint.links:
        done["links"] = {name: {"operationId": name, "parameters": where} for name, where in endpoint.links.items()}
    return {str(endpoint.status): done, **problems, **others}


def _response(endpoint: Endpoint, it: Any, by_type: Mapping[int, Schema]) -> dict[str, Any]:
    content = {endpoint.answers_as: {"schema": by_type.get(id(it), it)}}
    return {"description": endpoint.summary, "content": content}


def _refused(endpoint: Endpoint) -> list[int]:
    """What follows from what it takes, and what the endpoint adds."""
    found = {*_ALWAYS, *endpoint.refuses}
    if _tag(endpoint) != _OPERATION:
        found.update(_GUARDED)
    if endpoint.body is not None or endpoint.takes:
        found.update(_WITH_BODY)
    if endpoint.query:
        found.add(400)
    if "{" in endpoint.path:
        found.update((400, 404))
    return sorted(found)


def _content(endpoint: Endpoint, by_type: Mapping[int, Schema]) -> dict[str, Any]:
    taken = endpoint.takes
    if endpoint.body is not None:
        schema = by_type[id(endpoint.body)]
        taken = {"application/json": {"allOf": [schema, endpoint.narrower]} if endpoint.narrower else schema}
    example = {} if endpoint.example is None else {"example": endpoint.example}
    return {media_type: {"schema": schema, **example} for media_type, schema in taken.items()}
