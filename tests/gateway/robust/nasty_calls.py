"""Calls with nasty values in every field: of REST by its own OpenAPI document, of gRPC by the descriptors of messages.

What comes of a call is an `Answer`; what the answers may be is for the test to say.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

import grpc
import httpx
from google.protobuf.descriptor import FieldDescriptor

from conjoin.gateway.grpc.wire import METHODS, SERVICE, WIRE
from tests.gateway.robust.nasty_values import INTEGERS, NESTING, any_integer, any_literal, any_text, nasty_object

PATIENCE_S = 4.0
"""A long poll may last longer; then nobody waits for it."""
VARIABLES = ("n", "key", "a", "\0")
_JSON = "application/json"
_METHODS = ("post", "put", "patch", "delete", "get")
_WHOLE = {
    **{FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1), FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1)},
    **{FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1), FieldDescriptor.TYPE_ENUM: (0, 3)},
}


class Answer(NamedTuple):
    """`status` is that of HTTP, or the name of that of gRPC; empty: nobody waited for it."""

    call: str
    status: str
    text: str
    request_id: str = ""


class Operation(NamedTuple):
    method: str
    path: str
    query: tuple[str, ...]
    fields: tuple[str, ...]
    example: Mapping[str, Any] | None


def operations(document: Mapping[str, Any]) -> list[Operation]:
    """Those of an OpenAPI document that take JSON, or nothing."""
    found = []
    for path, ways in document["paths"].items():
        for method in _METHODS:
            said = ways.get(method)
            content = (said or {}).get("requestBody", {}).get("content", {_JSON: {}})
            if said is None or _JSON not in content:
                continue
            names = [*_properties(document, content[_JSON].get("schema", {}))]
            queries = [it["name"] for it in said.get("parameters", ()) if it["in"] == "query"]
            example = content[_JSON].get("example")
            found.append(Operation(method, path, tuple(queries), tuple(names), example))
    return found


def _properties(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        yield from _properties(document, document["components"]["schemas"][name])
    yield from schema.get("properties", ())
    for part in (*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _properties(document, part)


def call_rest(client: httpx.Client, operation: Operation, rng: Random, known: Sequence[str] = ()) -> Answer:
    """`known`: keys of what there is, so that a call gets past the question whether it is there."""
    path = operation.path
    while "{" in path:
        begin, _, rest = path.partition("{")
        value = rng.choice((any_text(rng)[:300], str(any_integer(rng)), "x"))
        if known and rng.random() < 0.6:
            value = rng.choice(known)
        path = begin + (quote(value, safe="", errors="replace") or "x") + rest.partition("}")[2]
    query = {name: any_text(rng)[:300].encode("utf-8", "replace") for name in operation.query if rng.random() < 0.3}
    body = _body(operation, rng) if operation.method != "get" else ""
    return send(client, operation.method, path, body, query=query)


def send(client: httpx.Client, method: str, path: str, body: str, type_: str = _JSON, **more: Any) -> Answer:
    call = f"{method} {path[:200]} {body[:300]}"
    content = body.encode("utf-8", "surrogatepass") if body else None
    try:
        answer = client.request(
            *(method, path),
            content=content,
            params=more.get("query"),
            headers={"content-type": type_},
            timeout=PATIENCE_S,
        )
    except httpx.TimeoutException:
        return Answer(call, "", "")
    return Answer(call, str(answer.status_code), answer.text, answer.headers.get("x-request-id", ""))


def _body(operation: Operation, rng: Random) -> str:
    """The example with a field or two made nasty; or some of the fields, all of them nasty."""
    if not operation.fields or rng.random() < 0.05:
        return any_literal(rng) if operation.fields else ""
    parts = {name: json.dumps(value) for name, value in (operation.example or {}).items()}
    most = 2 if rng.random() < 0.6 else len(operation.fields)
    for name in rng.sample(operation.fields, min(most, len(operation.fields))):
        parts[name] = (
            nasty_object(rng, *VARIABLES[:2]) if "ariables" in name and rng.random() < 0.7 else any_literal(rng)
        )
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in parts.items()) + "}"


def nasty_message(rng: Random, type_: Any, depth: int = 2, known: Sequence[str] = ()) -> Any:
    """A message of gRPC with nasty fields."""
    message = WIRE[type_.name]()
    for field in type_.fields:
        if rng.random() < 0.3:
            continue
        values = [_field(rng, field, depth, known) for _ in range(rng.randint(1, 3) if field.is_repeated else 1)]
        values = [value for value in values if value is not None]
        if field.is_repeated:
            getattr(message, field.name).extend(values)
        elif values and field.type == FieldDescriptor.TYPE_MESSAGE:
            getattr(message, field.name).CopyFrom(values[0])
        elif values:
            setattr(message, field.name, values[0])
    return message


def _field(rng: Random, field: Any, depth: int, known: Sequence[str]) -> Any:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        is_ours = depth and field.message_type.name in WIRE
        return nasty_message(rng, field.message_type, depth - 1, known) if is_ours else None
    if field.type == FieldDescriptor.TYPE_BOOL:
        return rng.random() < 0.5
    if field.type == FieldDescriptor.TYPE_BYTES:
        return rng.randbytes(20)
    if field.type in _WHOLE:
        least, most = _WHOLE[field.type]
        if known and field.name.endswith("Key") and rng.random() < 0.6:
            return int(rng.choice(known))
        return rng.choice([it for it in INTEGERS if least <= it <= most])
    if field.name == "variables":
        text = rng.choice((nasty_object(rng, *VARIABLES), any_literal(rng), rng.choice(NESTING)))
    else:
        text = any_text(rng)
    return text.encode("utf-8", "replace").decode()


def call_grpc(channel: grpc.Channel, rng: Random, known: Sequence[str] = ()) -> Answer:
    method = rng.choice(METHODS)
    request = nasty_message(rng, method.input_type, known=known)
    call = f"{method.name} {str(request)[:300]}"
    make = channel.unary_stream if method.server_streaming else channel.unary_unary
    ask = make(f"/{SERVICE}/{method.name}", lambda it: it.SerializeToString(), WIRE[method.output_type.name].FromString)
    try:
        answer = ask(request, timeout=1.0)
        for _ in answer if method.server_streaming else ():
            break
    except grpc.RpcError as error:
        return Answer(call, error.code().name, error.details() or "")
    return Answer(call, "OK", "")
