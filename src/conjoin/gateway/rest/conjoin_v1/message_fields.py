"""The schema of a message as our own endpoints take it (`gateway/http/messages.py` reads it)."""

from conjoin.gateway.rest.openapi.schemas import INSTANT, INT64, NAME, OBJECT, TENANT, TEXT, Schema, closed, nullable
from conjoin.kernel.storable import LONGEST_KEY
from conjoin.runtime.client_api.messages import LONGEST_BUSINESS_ID
from conjoin.runtime.ingest.mapping import SPELLINGS

_LABEL: Schema = {"anyOf": [{**TEXT, "maxLength": LONGEST_KEY}, INT64]}
_TTL: Schema = {"type": "string", "pattern": "^[0-9]{1,9}(ms|s|m|h|d)$", "description": "Or ISO 8601, as PT1H"}
_MILLISECONDS: Schema = {"type": "integer", "minimum": -(2**53) + 1, "maximum": 2**53 - 1}
_FIELDS: dict[str, Schema] = {
    "name": NAME,
    "key": _LABEL,
    "id": _LABEL,
    "ttl": {"anyOf": [_TTL, {"type": "integer", "minimum": -(2**63) + 1, "maximum": 2**63 - 1}]},
    "variables": OBJECT,
    "tenant": TENANT,
    "business_id": {**TEXT, "maxLength": LONGEST_BUSINESS_ID},
    "published_at": {"anyOf": [INSTANT, _MILLISECONDS]},
}
MESSAGE_SCHEMA = closed(
    {spelling: _FIELDS[name] if name == "name" else nullable(_FIELDS[name]) for spelling, name in SPELLINGS.items()},
    ["name"],
)
EXAMPLE = {"name": "paid", "key": "o-1", "ttl": "1h", "variables": {"amount": 40}}
