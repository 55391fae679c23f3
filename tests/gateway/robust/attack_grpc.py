"""Attacks on gRPC: frames that are none, messages of random bytes or random fields, calls that are cut short."""

import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import grpc

from conjoin.gateway.grpc.wire import METHODS, SERVICE, WIRE
from tests.gateway.robust.attack_rest import MEGABYTE, PATIENCE_S, Target

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
_DEADLINES_S = (0.001, 0.05, 0.5, 2.0)
_TEXTS = (
    "",
    "\0",
    "x" * 40_000,
    "{",
    '{"a": NaN}',
    "[" * 5_000,
    '{"orderId": "o-1"}',
    "order",
    "paid",
    "<default>",
    "\U0001f680",
)
_NUMBERS = (0, 1, -1, 7, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))


def random_bytes(at: Target, rng: Random) -> None:
    with socket.create_connection(at, timeout=PATIENCE_S) as connection:
        connection.sendall(rng.choice((b"", PREFACE, PREFACE + SETTINGS)) + rng.randbytes(rng.randint(1, 20_000)))
        connection.recv(65_536)


def random_frames(at: Target, rng: Random) -> None:
    """Right lengths, and nothing else that is right; the last one is cut off."""
    frames = b""
    for _ in range(rng.randint(1, 50)):
        data = rng.randbytes(rng.randint(0, 200))
        kind, flags, stream = rng.randrange(12), rng.randrange(256), rng.choice((0, 1, 3, 2**31 - 1))
        frames += struct.pack(">I", len(data))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + data
    with socket.create_connection(at, timeout=PATIENCE_S) as connection:
        connection.sendall(PREFACE + SETTINGS + frames[: -rng.randint(1, 10)])
        connection.recv(65_536)


def silence(at: Target, rng: Random) -> None:
    with socket.create_connection(at, timeout=PATIENCE_S):
        time.sleep(rng.uniform(0.5, 5))


def hostile_call(at: Target, rng: Random) -> None:
    """Some calls over one connection; some are cancelled, some have no time."""
    with grpc.insecure_channel(f"{at.host}:{at.port}") as channel:
        for _ in range(rng.randint(1, 10)):
            method = rng.choice(METHODS)
            path = f"/{SERVICE}/{method.name}" if rng.random() < 0.95 else "/no.Such/Call"
            call = channel.unary_stream(path)(
                _message(rng, method), timeout=rng.choice(_DEADLINES_S), metadata=_metadata(rng)
            )
            if rng.random() < 0.2:
                call.cancel()
            _read(call)


def _read(call: Any) -> None:
    try:
        for number, _ in enumerate(call):
            if number > 5:
                call.cancel()
    except grpc.RpcError:
        return


def _metadata(rng: Random) -> tuple[tuple[str, Any], ...]:
    if rng.random() < 0.8:
        return ()
    return (
        ("x-long", "x" * rng.choice((10, 5_000, 100_000))),
        ("authorization", "Bearer x"),
        ("x-bin", rng.randbytes(50)),
    )


def _message(rng: Random, method: Any) -> bytes:
    how = rng.random()
    if how < 0.2:
        return rng.randbytes(rng.randint(0, 2_000))
    if how < 0.23:
        return b"\x0a\xff\xff\xff\x01" + b"x" * (5 * MEGABYTE)
    message = WIRE[method.input_type.name]()
    _fill(rng, message, 2)
    data: bytes = message.SerializeToString()
    return data if how < 0.8 else data[: rng.randint(0, len(data))]


def _fill(rng: Random, message: Any, depth: int) -> None:
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.4:
            continue
        if field.message_type is None:
            _set(rng, message, field)
        elif depth and not field.message_type.GetOptions().map_entry:
            inner = getattr(message, field.name)
            _fill(rng, inner.add() if field.is_repeated else inner, depth - 1)


def _set(rng: Random, message: Any, field: Any) -> None:
    value: Any = rng.choice(_NUMBERS)
    if field.type == field.TYPE_STRING:
        value = rng.choice(_TEXTS)
    elif field.type == field.TYPE_BYTES:
        value = rng.randbytes(rng.randint(0, 3_000))
    elif field.type == field.TYPE_BOOL:
        value = rng.random() < 0.5
    # What a field cannot hold is left out of it.
    with suppress(ValueError):
        if field.is_repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)


ATTACKS: tuple[Callable[[Target, Random], None], ...] = (
    *(random_bytes, random_frames, silence),
    *(hostile_call, hostile_call, hostile_call),
)
