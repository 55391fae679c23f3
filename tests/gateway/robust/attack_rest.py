"""Attacks on REST, each over a connection of its own: bytes that are no request, and requests that mean harm.

An attack ends by itself and says nothing: what the server makes of it is seen from outside.
"""

import json
import socket
import struct
import time
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

ENDPOINTS = (
    *("POST /v2/messages/publication", "POST /v2/messages/correlation", "POST /conjoin/v1/messages"),
    *("POST /conjoin/v1/messages/bulk", "POST /v2/process-instances", "POST /v2/jobs/activation"),
    *(
        "POST /v2/deployments",
        "POST /v2/process-instances/search",
        "POST /v2/variables/search",
        "POST /conjoin/v1/explain",
    ),
    *("PATCH /v2/jobs/7", "PUT /conjoin/v1/policies/fuzzed", "GET /conjoin/v1/messages", "POST /api/workflow/message"),
    *("GET /v2/variables/9223372036854775807", "POST /v2/signals/broadcast", "GET /health/ready", "GET /openapi.json"),
)
TYPES = ("application/json", "application/x-ndjson", "multipart/form-data; boundary=x", "text/plain", "\xff", "")
PATIENCE_S = 5.0
LONGEST_SLOW_S = 12.0
MEGABYTE = 1_048_576


class Target(NamedTuple):
    host: str
    port: int


def _connected(at: Target) -> socket.socket:
    return socket.create_connection(at, timeout=PATIENCE_S)


def _head(rng: Random, length: int | None, more: bytes = b"") -> bytes:
    kind = rng.choice(TYPES).encode("latin-1")
    size = b"Transfer-Encoding: chunked" if length is None else b"Content-Length: %d" % length
    return b"%s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\n%s\r\n%s\r\n" % (
        rng.choice(ENDPOINTS).encode(),
        kind,
        size,
        more,
    )


def _send(at: Target, data: bytes, *, read: bool = True) -> None:
    with _connected(at) as connection:
        connection.sendall(data)
        if read:
            connection.recv(65_536)


def random_bytes(at: Target, rng: Random) -> None:
    _send(at, rng.randbytes(rng.randint(1, 5_000)))


def mangled_head(at: Target, rng: Random) -> None:
    head = bytearray(_head(rng, 2) + b"{}")
    for _ in range(rng.randint(1, 8)):
        head[rng.randrange(len(head))] = rng.randrange(256)
    _send(at, bytes(head))


def huge_head(at: Target, rng: Random) -> None:
    _send(at, _head(rng, 2, b"X-Long: " + b"x" * rng.choice((33_000, 70_000, 3 * MEGABYTE)) + b"\r\n") + b"{}")


def hostile_body(at: Target, rng: Random) -> None:
    body = rng.choice(_BODIES)(rng)
    _send(at, _head(rng, len(body)) + body)


def huge_body(at: Target, rng: Random) -> None:
    with _connected(at) as connection:
        connection.sendall(_head(rng, rng.choice((None, 20 * MEGABYTE, 4 * MEGABYTE))))
        for _ in range(20):
            connection.sendall(b"100000\r\n" + b" " * MEGABYTE + b"\r\n")


def slow_head(at: Target, rng: Random) -> None:
    _drip(at, rng, _head(rng, 2)[:-6])


def slow_body(at: Target, rng: Random) -> None:
    _drip(at, rng, b'{"name": "', _head(rng, rng.choice((None, 100_000))))


def _drip(at: Target, rng: Random, data: bytes, begin: bytes = b"") -> None:
    """A byte now and then, until the server has had enough."""
    until = time.monotonic() + rng.uniform(1, LONGEST_SLOW_S)
    with _connected(at) as connection:
        connection.sendall(begin)
        for byte in data:
            connection.sendall(bytes((byte,)))
            time.sleep(rng.uniform(0.05, 1.0))
            if time.monotonic() > until:
                return


def cut_off(at: Target, rng: Random) -> None:
    """In the middle of a body, with or without a word."""
    body = json.dumps({"name": "cut", "variables": {"x": "x" * rng.randint(1, 100_000)}}).encode()
    with _connected(at) as connection:
        connection.sendall(_head(rng, len(body)) + body[: rng.randrange(len(body))])
        if rng.random() < 0.5:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def broken_chunks(at: Target, rng: Random) -> None:
    """While the answer has begun already."""
    head = b"POST /conjoin/v1/messages/bulk HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
    line = b'{"name": "chunk"}\n'
    with _connected(at) as connection:
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(line), line))
        time.sleep(rng.uniform(0, 0.2))
        connection.sendall(rng.choice((b"zz\r\n", b"-5\r\n", b"5\r\nab", rng.randbytes(40))))
        connection.recv(65_536)


def unread_answers(at: Target, rng: Random) -> None:
    """Many requests at once, and nobody takes the answers."""
    with _connected(at) as connection:
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * rng.randint(1, 40))
        time.sleep(rng.uniform(0, 3))


def _deep(rng: Random) -> bytes:
    depth = rng.choice((100, 900, 2_000, 100_000))
    return b'{"name": "deep", "variables": ' + b'{"a":' * depth + b"1" + b"}" * (depth + 1)


def _not_utf8(rng: Random) -> bytes:
    return b'{"name": "' + rng.randbytes(30).replace(b'"', b"x") + b'", "correlationKey": "\xff\xfe"}'


def _strange_numbers(rng: Random) -> bytes:
    number = rng.choice(
        (b"NaN", b"Infinity", b"-0", b"1e999", b"1e-999", b"9" * 5_000, b"0.1e+308", b"18446744073709551616")
    )
    name = rng.choice((b"timeToLive", b"ttl", b"timeout", b"requestTimeout", b"wait_ms", b"maxJobsToActivate"))
    return b'{"name": "n", "type": "t", "%s": %s, "variables": {"n": %s}}' % (name, number, number)


def _wide(rng: Random) -> bytes:
    return b'{"name": "wide", "variables": {"a": [' + b"[]," * rng.randint(1, 300_000) + b"1]}}"


def _random_object(rng: Random) -> bytes:
    return json.dumps(_value(rng, 3)).encode()


def _value(rng: Random, depth: int) -> Any:
    words = (
        "name",
        "correlationKey",
        "variables",
        "filter",
        "sort",
        "page",
        "$or",
        "$like",
        "after",
        "key",
        "ttl",
        "\0",
    )
    plain: Any = rng.choice((None, True, -1, 2**63, 1.5, "", "\0", "*" * 50, "\ud800", "x" * rng.randint(0, 3_000)))
    if depth == 0 or rng.random() < 0.3:
        return plain
    if rng.random() < 0.3:
        return [_value(rng, depth - 1) for _ in range(rng.randint(0, 5))]
    return {rng.choice(words): _value(rng, depth - 1) for _ in range(rng.randint(0, 6))}


_BODIES: tuple[Callable[[Random], bytes], ...] = (_deep, _not_utf8, _strange_numbers, _wide, _random_object)
ATTACKS: tuple[Callable[[Target, Random], None], ...] = (
    *(random_bytes, mangled_head, huge_head, hostile_body, hostile_body, hostile_body, huge_body),
    *(slow_head, slow_body, cut_off, broken_chunks, unread_answers),
)
