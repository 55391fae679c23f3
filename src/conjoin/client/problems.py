"""What a server says when it does not do what it was asked, as an exception of the type that fits."""

from typing import Any

import msgspec

from conjoin.errors import (
    AlreadyThere,
    CallFailed,
    CallInvalid,
    NotAllowed,
    NotFound,
    NotOffered,
    ServerBusy,
    TookTooLong,
    WrongState,
)

_BY_STATUS: dict[int, type[CallFailed]] = {
    400: CallInvalid,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: WrongState,
    413: CallInvalid,
    415: CallInvalid,
    431: CallInvalid,
    501: NotOffered,
    503: ServerBusy,
    504: TookTooLong,
}


def problem_of(asked: str, status: int, body: bytes) -> CallFailed:
    told = _told(body)
    reason = str(told.get("title", ""))
    kind = AlreadyThere if reason == "ALREADY_EXISTS" else _BY_STATUS.get(status, CallFailed)
    return kind(asked, str(told.get("detail") or f"the server answered with {status}"), reason, status)


def _told(body: bytes) -> dict[str, Any]:
    """A proxy in between may answer with anything."""
    try:
        told = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return told if isinstance(told, dict) else {}
