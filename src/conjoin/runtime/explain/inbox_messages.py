"""Why a message of the inbox is not taken: what would become of it now, and what comes near, as of any message.

Only of those that wait or are parked, and that our own engine is to take: what a remote system thinks is in its answer.
Nothing is sent.
"""

import logging
from typing import Any

from conjoin.kernel.inbox.message import PARKED, PAUSED, WAITING
from conjoin.kernel.verdicts.near_miss_sentences import near_miss
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain.explain import explain_named
from conjoin.runtime.inbox.listing import Shown
from conjoin.runtime.visibility.plain_values import to_plain

_STILL_HERE = (WAITING, PAUSED, PARKED)
_log = logging.getLogger(__name__)


def explained(broker: Broker, shown: Shown) -> Shown:
    item, hint = shown.item, shown.hint
    if item.target or item.state not in _STILL_HERE or not item.attempts:
        return shown
    key, tenant_id = item.correlation_key, hint.tenant_id or item.tenant_id
    new = NewMessage(item.name, key, {}, 0, "", hint.business_key, tenant_id, sync=True, from_inbox=True)
    try:
        now = explain_named(broker, new).dry_run
    except Exception:  # noqa: BLE001 - the message is shown, also to whoever has just changed it
        _log.exception("what would become of message %s of the inbox cannot be said", item.key)
        return shown
    misses: Any = to_plain(list(now.near_misses))
    nearest = near_miss(misses[0]) if misses else ""
    text = f"{shown.sentence.removesuffix('.')}; {nearest}" if nearest else shown.sentence
    text = text if text.endswith((".", "?")) else f"{text}."
    return shown._replace(sentence=text, now=now.sentence, near_misses=now.near_misses)
