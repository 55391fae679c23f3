"""What `conjoin inbox` prints as text: counts, and a message with everything that is known of it."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.inbox.listing import HistoryLine, Shown
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.times.iso8601 import instant_text

_VARIABLES = ("variables", "correlation_variables")
_NOTHING_MORE = "{}"
"""What an operation without values was done with."""


def counted(counts: Counts) -> dict[str, int]:
    """Only what is not 0, by its word."""
    return {word: count for word, count in asdict(counts).items() if count}


def in_words(counts: Mapping[str, int], nothing: str) -> str:
    return ", ".join(f"{count:,} {word.replace('_', ' ')}" for word, count in counts.items()) or nothing


def shown_as_object(shown: Shown) -> dict[str, Any]:
    """A payload that is no text is in base64."""
    said = to_plain(shown.item) | {"sentence": shown.sentence, "encoding": shown.encoding, "group": shown.group}
    said |= {"revision": shown.type.revision, "headers": dict(shown.headers), "hint": _hint(shown)}
    said |= {"event_at": instant_text(shown.event_at), "taken_by": shown.taken_by or None}
    said |= {"message_key": None if shown.message_key is None else str(shown.message_key)}
    lines = [{**line._asdict(), "at": instant_text(line.at)} for line in shown.history]
    return said | _payload(shown.payload) | {"history": lines}


def shown_in_words(shown: Shown) -> str:
    item = shown.item
    facts = {
        **{"channel": item.channel, "type": item.type, "id": item.message_id, "tenant": item.tenant_id},
        **{"target": item.target or "our own engine", "group": shown.group, "taken by": shown.taken_by},
        **{"event": instant_text(shown.event_at), "ingested": instant_text(item.ingested_at)},
        **{"next retry": item.next_retry_at and instant_text(item.next_retry_at)},
        **{"expires": item.expires_at and instant_text(item.expires_at), "hint": json_text(_hint(shown))},
        **{"headers": json_text(dict(shown.headers)) if shown.headers else ""},
        **{f"payload ({shown.encoding})": next(iter(_payload(shown.payload).values())).rstrip()},
    }
    lines = [f"message {item.key}: {item.state}", shown.sentence]
    lines += [f"  {name} {value}" for name, value in facts.items() if value]
    return "\n".join([*lines, *_history(shown)])


def _history(shown: Shown) -> Iterator[str]:
    if shown.history:
        yield "history"
    for line in shown.history:
        yield f"  {line.number}  {instant_text(line.at)}  {_what(line)}"
        if line.asked != _NOTHING_MORE:
            yield f"       {'asked' if line.verdict else 'with'} {line.asked}"
        # An error may be a page of its causes.
        yield from (f"       {text}" for text in line.answered.splitlines())


def _what(line: HistoryLine) -> str:
    return f"{line.kind}: {line.verdict} ({line.reason})" if line.verdict else f"{line.kind} by {line.who}"


def _hint(shown: Shown) -> dict[str, Any]:
    """What is set. Variables belong to the sender, and stay as they are."""
    said = {name: value for name, value in shown.hint._asdict().items() if value}
    return {name: value if name in _VARIABLES else to_plain(value) for name, value in said.items()}


def _payload(payload: bytes) -> dict[str, str]:
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"payload_base64": base64.b64encode(payload).decode()}
