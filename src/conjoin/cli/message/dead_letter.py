"""A dead letter explained: why the row became no message; and, if its name and key can be read, what comes near to it.

Nothing of the row is repaired here: what else is wrong with it is in its reason.
"""

from collections.abc import Iterator

import msgspec

from conjoin.cli.engine.on_store import OnStore
from conjoin.cli.engine.through_server import ThroughServer
from conjoin.cli.printing import JsonObject
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.ingest.mapping import SPELLINGS
from conjoin.runtime.reading.lists import ListQuery

Engine = OnStore | ThroughServer
_AT_ONCE, _MOST = 1_000, 100
_DEFAULT_TENANT = "<default>"


def explain_dead_letter(engine: Engine, key: int) -> JsonObject | Refusal:
    """The letter, one sentence, and what would become of the message that it was meant to be, if that can be read."""
    item = next((it for it in _items(engine) if int(it["key"]) == key), None)
    if item is None:
        return Refusal("NOT_FOUND", f"no dead letter with key {key} is known")
    part = f", {item['part']}" if item["part"] else ""
    where = f"row {item['position']} of {item['source']}{part}"
    sentence = f"Dead letter: {where} never became a message: {item['reason']}, {item['text']}."
    new = _meant(item["row"])
    return {"dead_letter": item, "sentence": sentence, "dry_run": None if new is None else _dry_run(engine, new)}


def _items(engine: Engine) -> Iterator[JsonObject]:
    after: str | None = None
    for _ in range(_MOST):
        page = engine.page("dead-letters", ListQuery(limit=_AT_ONCE, after=after))
        yield from page.items
        after = page.after
        if after is None:
            return


def _meant(row: str) -> NewMessage | None:
    """As far as it can be read: a time to live or a time that is wrong does not matter to who waits."""
    try:
        values = msgspec.json.decode(row)
    except msgspec.DecodeError:
        return None
    if not isinstance(values, dict):
        return None
    read = {field: values[spelling] for spelling, field in reversed(SPELLINGS.items()) if spelling in values}
    name, key, tenant = read.get("name"), read.get("key", ""), read.get("tenant") or _DEFAULT_TENANT
    key = str(key) if type(key) is int else key
    if not isinstance(name, str) or not isinstance(key, str) or not isinstance(tenant, str):
        return None
    return NewMessage(name, key, {}, 0, tenant_id=tenant)


def _dry_run(engine: Engine, new: NewMessage) -> JsonObject | None:
    found = engine.explain_unsent(new)
    return None if isinstance(found, Refusal) else found["dry_run"]
