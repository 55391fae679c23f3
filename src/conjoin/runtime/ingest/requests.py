"""What rows have become, as JSON: on their way from the worker that read them to the one that commits them.

Rows travel in packs, each a list of places and what is there: one value for many rows, which nobody looks into on the
way.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.kernel.inbox import InboxMessage
from conjoin.kernel.inbox.message import Hint, MessageType
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_bytes, read_json
from conjoin.runtime.codec.orders import read_order, written_order
from conjoin.runtime.inbox.requests import InboxArrivals
from conjoin.runtime.inbox.rows import Filed, text_to_keep
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.ingest.rows import SourcePosition, dead
from conjoin.runtime.upkeep.supervision import text_of

IngestRequest = NewMessage | DeadLetter | Filed
_DEAD, _FILED = "DeadLetter", "Filed"


def pack(rows: Sequence[tuple[int, IngestRequest]]) -> bytes:
    """Places with what stands there."""
    return json_bytes([(place, written_request(request)) for place, request in rows])


def unpack(packed: bytes) -> Iterator[tuple[int, IngestRequest]]:
    for place, said in read_json(packed):
        yield place, read_request(said)


def written_request(request: IngestRequest) -> list[Any]:
    kind = type(request)
    if kind is DeadLetter:
        # Bytes that are no text survive as they are.
        return [_DEAD, *request[:-1], request.raw.hex()]  # type: ignore[index, union-attr]
    if kind is Filed:
        message: InboxMessage = request.message  # type: ignore[union-attr]
        payload = b64encode(message.payload).decode()
        return [_FILED, request.place, message._replace(payload=payload)]  # type: ignore[union-attr, arg-type]
    return written_order(request)  # type: ignore[arg-type]


def read_request(said: list[Any]) -> IngestRequest:
    if said[0] == _DEAD:
        return DeadLetter._make((*said[1:-1], bytes.fromhex(said[-1])))
    if said[0] == _FILED:
        return Filed(_read_message(said[2]), said[1])
    order: NewMessage = read_order(said)
    return order


def _read_message(said: list[Any]) -> InboxMessage:
    message = InboxMessage._make(said)
    return message._replace(
        payload=b64decode(message.payload),
        type=MessageType._make(message.type),
        hint=Hint._make(message.hint),
    )


def not_carried_out(request: IngestRequest | InboxArrivals, at: SourcePosition, error: Exception) -> DeadLetter:
    """A row that has become a request, and the request has failed by its own fault."""
    return dead(at, "not_carried_out", text_to_keep(text_of(error)), _raw(request))


def _raw(request: IngestRequest | InboxArrivals) -> bytes:
    """A message of the inbox as it came; of others what was read of the row, so that it can be handed in again."""
    if isinstance(request, InboxArrivals):
        return request.arrivals[0].message.payload
    if isinstance(request, Filed):
        return request.message.payload
    if isinstance(request, DeadLetter):
        return request.raw
    at = request.published_at
    fields = {
        **{"name": request.name, "key": request.key, "id": request.message_id, "ttl": request.ttl_ms},
        **{"variables": request.variables, "business_id": request.business_id, "tenant": request.tenant_id},
        "published_at": None if at is None else at // 1_000,
    }
    return json_bytes({name: value for name, value in fields.items() if value not in (None, "")})
