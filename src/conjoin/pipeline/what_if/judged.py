"""Judged: a message as it was and as it would have been, in words. Nothing is decided here."""

from typing import NamedTuple

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import KeySpace, Message
from conjoin.kernel.verdicts.sentences import sentence
from conjoin.kernel.verdicts.verdicts import parameters, verdict_of
from conjoin.pipeline.what_if.doubts import Pair
from conjoin.pipeline.what_if.rules import NEW
from conjoin.runtime.visibility.plain_values import to_plain

SAME, CHANGED, UNKNOWN = "same", "changed", "unknown"


class Judged(NamedTuple):
    """`change` is same, changed or unknown; of what is unknown `would_sentence` says why."""

    tenant_id: str
    name: str
    correlation_key: str
    message_key: int
    message_id: str
    published_at: int
    change: str
    was_verdict: str
    was_reason: str
    was_receivers: list[str]
    was_sentence: str
    would_verdict: str
    would_reason: str
    would_receivers: list[str]
    would_sentence: str
    others_unknown: bool
    """Whether still others would have taken it is not known."""


def judge(pair: Pair, sides: list[tuple[KeySpace, Catalog]], at: int) -> Judged:
    message = pair.was
    was = _verdict(message, *sides[0], at)
    would = _verdict(pair.would, *sides[1], at)
    change = SAME if was[:3] == would[:3] else CHANGED
    if pair.unknown:
        change = UNKNOWN
        would = (UNKNOWN, "", [], f"Unknown: {pair.unknown}.")
    space = sides[0][0]
    facts = (space.tenant_id, message.name, space.key, message.key, message.message_id, message.published_at)
    return Judged(*facts, change, *was, *would, pair.others_unknown)


def _verdict(message: Message, space: KeySpace, catalog: Catalog, at: int) -> tuple[str, str, list[str], str]:
    """Verdict, reason, receivers and the sentence."""
    found = verdict_of(space, message, at, catalog)
    its = to_plain(parameters(space, message, found, at, catalog))
    text = sentence(found.verdict, found.reason, its, message.name, space.key)
    receivers = [
        f"a new instance of {target.process_id}" if target.instance_id == NEW else str(target.instance_id)
        for target in message.targets
    ]
    return found.verdict, found.reason, receivers, text
