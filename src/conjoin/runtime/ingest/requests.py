"""What rows have become, as JSON: on their way from the worker that read them to the one that commits them.

They travel in packs, each a list of positions with their requests: one value for many rows, opaque on the way.
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
    """Positions with their requests."""
    return json_bytes([(position, written_request(request)) for position, request in rows])


def unpack(packed: bytes) -> Iterator[tuple[int, IngestRequest]]:
    for position, written in read_json(packed):
        yield position, read_request(written)


def written_request(request: IngestRequest) -> list[Any]:
    if isinstance(request, DeadLetter):
        # Bytes that are no text survive as they are.
        return [_DEAD, *request[:-1], request.raw.hex()]
    if isinstance(request, Filed):
        fields = request.message._asdict() | {"payload": b64encode(request.message.payload).decode()}
        return [_FILED, request.place, [*fields.values()]]
    return written_order(request)


def read_request(written: list[Any]) -> IngestRequest:
    if written[0] == _DEAD:
        return DeadLetter._make((*written[1:-1], bytes.fromhex(written[-1])))
    if written[0] == _FILED:
        message = InboxMessage._make(written[2])
        whole = message._replace(
            payload=b64decode(message.payload), type=MessageType._make(message.type), hint=Hint._make(message.hint)
        )
        return Filed(whole, written[1])
    order: NewMessage = read_order(written)
    return order


def not_carried_out(request: IngestRequest | InboxArrivals, at: SourcePosition, error: Exception) -> DeadLetter:
    """For a row whose request has failed by its own fault."""
    return dead(at, "not_carried_out", text_to_keep(text_of(error)), _raw(request))


def _raw(request: IngestRequest | InboxArrivals) -> bytes:
    """A message of the inbox as it came; of others what was read of the row, so that it can be ingested again."""
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
