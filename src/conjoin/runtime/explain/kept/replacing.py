"""Sent again: a message in place of a lost one. The two are linked both ways, behind the commit of the new one.

The link is evidence: no rule looks at it. A crash between the commit and the link leaves two messages without one.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.kernel.verdicts.sentences import sentence
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.explain.explanation import LOST
from conjoin.runtime.explain.kept import evidence
from conjoin.runtime.explain.notes import Related
from conjoin.runtime.reading.finding import message_with_key
from conjoin.store import tables as t
from conjoin.store.rows import EvidenceRow

_log = logging.getLogger(__name__)


def unreplaceable(broker: Broker, key: int, tenant_id: str) -> Refusal | None:
    """Why no message of the tenant can be sent in place of this one; asked before anything is sent."""
    row = message_with_key(broker.store, key)
    if row is None:
        return Refusal("NOT_FOUND", f"replaces: no message with key {key} is known")
    if row.tenant_id != tenant_id:
        return Refusal("INVALID_ARGUMENT", f"replaces: message {key} is one of another tenant")
    is_over = row.verdict == "buffered" and row.deadline <= broker.now
    if row.verdict not in LOST and not is_over:
        return Refusal("INVALID_STATE", f"replaces: message {key} is not lost: it is {row.verdict}")
    return None


def note_replaced(broker: Broker, key: int, by: int, by_correlation_key: str) -> None:
    """Idempotent. An error is logged: the new message is published."""
    try:
        row = message_with_key(broker.store, key)
        # Whoever repeats a message with its id is told of the first one.
        if row is not None and key != by:
            links = [
                (row.correlation_key, EvidenceRow(key, 0, "", by, 0)),
                (by_correlation_key, EvidenceRow(by, 0, "", 0, key)),
            ]
            evidence.keep(broker, links)
    except Exception:  # noqa: BLE001 - answered with an error, the message would be sent once more
        _log.exception("message %s is published, but not linked to %s, which it replaces", by, key)


def related(broker: Broker, row: EvidenceRow | None) -> list[Related]:
    """The messages that it is linked to, as far as the caller may see them."""
    links = [] if row is None else [("replaced_by", row.replaced_by), ("replaces", row.replaces)]
    return list(_related(broker, [(relation, key) for relation, key in links if key]))


def _related(broker: Broker, links: Sequence[tuple[str, int]]) -> Iterator[Related]:
    for relation, key in links:
        row = message_with_key(broker.store, key)
        if row is not None:
            text = sentence(row.verdict, row.reason, {}, row.name, row.correlation_key)
            yield Related(relation, key, row.verdict, row.reason, text)


def replaced_by(broker: Broker, rows: Sequence[Any]) -> dict[int, int]:
    """Of rows of messages: those that are lost and in whose place another was sent, with its key."""
    keys = tuple(row.key for row in rows if row.verdict in LOST)
    found = broker.store.rows(t.EVIDENCE, {"message_key": keys}, None, len(keys)) if keys else ()
    return {row.message_key: row.replaced_by for row in found if row.replaced_by}
