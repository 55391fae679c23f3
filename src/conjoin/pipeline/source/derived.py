"""Values that the store has not as such: derived from its columns, a batch at a time.

Of a message only its record tells whether it is kept, the parameters of its verdict, and who has it. It is read by the
code that wrote it; all of this is as the last commit that touched the message left it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import KeySpace, Message
from conjoin.kernel.correlation.events import InstanceStarted
from conjoin.kernel.policies import Policy
from conjoin.kernel.verdicts.verdicts import Verdict, parameters
from conjoin.pipeline.source.columns import Derive, Meaning
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.codec.messages import read_message
from conjoin.runtime.explain.explanation import storage_of
from conjoin.runtime.reading.lists import LISTS
from conjoin.runtime.visibility.plain_values import to_plain

_MESSAGE, _INSTANCE = LISTS["messages"].table, LISTS["instances"].table
_Row: Any = _MESSAGE.row
_BLANK = _Row(*("" if type_ is str else 0 for type_ in _MESSAGE.types))._replace(variables="null")
_ANY_POLICY = Policy()
_NOWHERE, _NOTHING_DEPLOYED = KeySpace("", ""), Catalog()
"""What is around a message is not looked at here."""

STATE_NEEDS = ("record", "name", "policy_version", "published_at", "deadline")
DETAIL_NEEDS = (*STATE_NEEDS, "verdict", "reason", "decided_at")
STATES = {state: Meaning((("live", "=", 1),), is_all=False) for state in ("buffered", "held")}
WITH_RECEIVERS = ["correlated", "short"]
"""Verdicts of messages that somebody may have."""
_items_of = msgspec.json.Decoder(list[msgspec.Raw]).decode
_WAITING = ("closed_at", "=", None)
SUBSCRIPTION_STATES = {
    "open": Meaning((_WAITING, ("busy_with", "=", 0))),
    "busy": Meaning((_WAITING, ("busy_with", "<>", 0))),
    "closed": Meaning((("closed_at", "<>", None),)),
}


def states(broker: Broker, *needed: Sequence[Any]) -> Iterator[str]:
    return map(storage_of, _messages(broker, STATE_NEEDS, needed))


def details(broker: Broker, *needed: Sequence[Any]) -> Iterator[str]:
    """The parameters of each verdict, as `explain` tells them, but for what it finds by looking around."""
    *_, verdicts, reasons, decided_at = needed
    decided = zip(verdicts, reasons, decided_at, strict=True)
    for message, (verdict, reason, at) in zip(_messages(broker, DETAIL_NEEDS, needed), decided, strict=True):
        cause = _cause(message, verdict)
        if cause is None and verdict == "buffered":
            its: dict[str, Any] = {"deadline_at": message.deadline}
        else:
            its = parameters(_NOWHERE, message, Verdict(verdict, reason, at, cause), at, _NOTHING_DEPLOYED)
        yield json_text(to_plain(its))


def _cause(message: Message, verdict: str) -> Any:
    """The event that decided; None while it waits."""
    if verdict == "correlated":
        return next(iter(message.targets), None)
    return message.given_back if verdict == "buffered" else message.ended


def _messages(broker: Broker, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> Iterator[Message]:
    # The catalog is looked at after the rows were read, so it knows all policies that they name.
    policy_of = broker.catalog.view().policy_of
    for values in zip(*columns, strict=True):
        row = _BLANK._replace(**dict(zip(names, values, strict=True)))
        yield read_message(row, policy_of(row.name, row.policy_version), {})[0]


def targets(record: str) -> list[tuple[Any]]:
    """Those who have the message, in their order."""
    return [(target,) for target in read_message(_BLANK._replace(record=record), _ANY_POLICY, {})[0].targets]


def receivers(record: str) -> list[Any]:
    return [target.instance_id for (target,) in targets(record)]


def kind_of(target: Any) -> str:
    return "start" if isinstance(target, InstanceStarted) else "subscription"


def subscription_key_of(target: Any) -> int | None:
    return None if isinstance(target, InstanceStarted) else target.subscription.key


def element_of(target: Any) -> str | None:
    return (target.start if isinstance(target, InstanceStarted) else target.subscription).element_id


def subscription_states(_: Broker, closed_at: Iterable[int | None], busy_with: Iterable[int]) -> Iterator[str]:
    for closed, busy in zip(closed_at, busy_with, strict=True):
        yield "closed" if closed is not None else "busy" if busy else "open"


def instance_variables(body: str) -> str:
    """The fourth item of a body, as it was written; what is empty at its end was left out."""
    items = _items_of(body)
    variables = bytes(items[3]).decode() if len(items) > 3 else "null"
    return "{}" if variables == "null" else variables


def of_instance(name: str) -> Derive:
    """A column of the instance with a key; None for one that is gone meanwhile."""

    def read(broker: Broker, keys: Sequence[int]) -> Iterator[Any]:
        wanted = tuple(dict.fromkeys(keys))
        rows = broker.store.rows(_INSTANCE, {"key": wanted}, None, len(wanted))
        return map({row.key: getattr(row, name) for row in rows}.get, keys)

    return read
