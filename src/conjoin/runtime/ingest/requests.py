"""What a row has become, as JSON: on its way from the worker that read it to the one that commits it."""

from typing import Any

from conjoin.runtime.encoding.orders import read_order, written_order
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.messages import NewMessage

_DEAD = "DeadLetter"


def written_request(request: NewMessage | DeadLetter) -> list[Any]:
    if type(request) is DeadLetter:
        # Bytes that are no text survive as they are.
        return [_DEAD, *request[:-1], request.raw.hex()]
    return written_order(request)  # type: ignore[arg-type]


def read_request(said: list[Any]) -> NewMessage | DeadLetter:
    if said[0] == _DEAD:
        return DeadLetter._make((*said[1:-1], bytes.fromhex(said[-1])))
    order: NewMessage = read_order(said)
    return order
