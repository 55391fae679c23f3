"""What of a message goes into a request: the variables of its hint, or else what its payload holds.

An object in JSON is a table of variables; any other payload becomes the one variable `payload`: JSON as its value, text
as text, everything else in base64. A payload that is not what its encoding says is a decode error, and the message
is held: the same bytes would fail again.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from conjoin.kernel.inbox.message import DECODE_ERROR, MAPPING_ERROR, InboxMessage
from conjoin.kernel.inbox.outcomes import Failed
from conjoin.runtime.codec.json_text import NOT_JSON, json_bytes, read_client_json, unstorable_json
from conjoin.runtime.targets.calls import TargetRequest

PAYLOAD = "payload"
JSON_ENCODINGS = ("json", "application/json")
TEXT_ENCODINGS = ("text", "string", "text/plain", "xml", "application/xml", "text/xml", "csv", "text/csv", "yaml")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def variables_of(message: InboxMessage) -> Mapping[str, Any] | Failed:
    variables = message.hint.variables
    if not variables and message.payload:
        return _of_payload(message.payload, message.encoding)
    problem = unstorable_json(variables)
    return (
        variables
        if problem is None
        else unmapped(f"the variables of the hint cannot be stored: what is there {problem}")
    )


def posted(path: str, body: Mapping[str, Any]) -> TargetRequest | Failed:
    try:
        return TargetRequest("POST", path, json_bytes(body))
    except (TypeError, ValueError, RecursionError) as error:
        return unmapped(f"the hint cannot be written as JSON\nCaused by: {type(error).__name__}: {error}")


def unmapped(text: str) -> Failed:
    """A mapping error. The same message and the same settings give it again, so it waits for a person."""
    return Failed(MAPPING_ERROR, text, retryable=False)


def _of_payload(payload: bytes, encoding: str) -> Mapping[str, Any] | Failed:
    try:
        value = _decoded(payload, encoding)
    except NOT_JSON as error:
        text = f"the payload is not {encoding}\nCaused by: {type(error).__name__}: {error}"
        return Failed(DECODE_ERROR, text, retryable=False)
    variables = value if isinstance(value, dict) else {PAYLOAD: value}
    problem = unstorable_json(variables)
    return variables if problem is None else unmapped(f"the payload cannot be stored: what is there {problem}")


def _decoded(payload: bytes, encoding: str) -> Any:
    if encoding in JSON_ENCODINGS:
        return read_client_json(payload.removeprefix(_BYTE_ORDER_MARK))
    if encoding in TEXT_ENCODINGS:
        return payload.decode("utf-8-sig")
    return b64encode(payload).decode()
