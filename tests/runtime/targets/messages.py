"""Inbox messages for these tests: one that is waiting, with the hint that is given."""

import json
from typing import Any

from conjoin.kernel.inbox.message import Hint, InboxMessage
from conjoin.runtime.targets.calls import TargetRequest

NOW = 1_700_000_000_000_000


def message(payload: bytes = b"", encoding: str = "json", **hint: Any) -> InboxMessage:
    return InboxMessage(
        key=1,
        channel="orders",
        message_id="m-1",
        payload=payload,
        event_at=NOW,
        ingested_at=NOW,
        position=1,
        encoding=encoding,
        hint=Hint(**{"name": "paid", **hint}),
    )


def body_of(request: object) -> dict[str, Any]:
    assert isinstance(request, TargetRequest), request
    body: dict[str, Any] = json.loads(request.body)
    return body
