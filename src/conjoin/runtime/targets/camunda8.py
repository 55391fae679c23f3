"""Camunda 8: `POST /v2/messages/publication`, or `/v2/messages/correlation` where an answer is wanted at once.

A published message has an id, so whoever sends it again is told that it is there already, for as long as its time to
live; a correlated one has none. It is found by name and correlation key and by nothing else: only a message that is
to start something may come without a key.
"""

from dataclasses import dataclass
from typing import Any

from conjoin.kernel.inbox.message import TARGET_ERROR, InboxMessage
from conjoin.kernel.inbox.outcomes import HANDED_OVER, Delivered, Failed, Unanswered
from conjoin.kernel.instants import elapsed_ms
from conjoin.runtime.targets.calls import TargetAnswer, TargetRequest
from conjoin.runtime.targets.payload import posted, unmapped, variables_of
from conjoin.runtime.targets.problems import failure_of, garbled, read_answer

PUBLISH, CORRELATE = "publish", "correlate"
OPERATIONS = (PUBLISH, CORRELATE)
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Camunda8:
    """The time to live is also how long a second delivery is recognised, so it should outlast the back-off."""

    operation: str = PUBLISH
    time_to_live_ms: int = DAY_MS

    @property
    def label(self) -> str:
        return "Camunda 8"

    def request_of(self, message: InboxMessage, now: int) -> TargetRequest | Failed:
        variables = variables_of(message)
        if isinstance(variables, Failed):
            return variables
        hint = message.hint
        if not hint.name.strip():
            return unmapped("the hint has no message name")
        if not hint.correlation_key and not hint.is_start:
            return unmapped("the hint has no correlation key, and without one Camunda 8 could only start something")
        body: dict[str, Any] = {
            "name": hint.name,
            "correlationKey": hint.correlation_key,
            "variables": variables,
            "tenantId": hint.tenant_id or message.tenant_id,
        }
        if self.operation == CORRELATE:
            return posted("/v2/messages/correlation", body)
        body["messageId"] = hint.message_id or message.message_id
        body["timeToLive"] = min(self.time_to_live_ms, elapsed_ms(now, message.expires_at))
        return posted("/v2/messages/publication", body)

    def outcome_of(self, answer: TargetAnswer) -> Delivered | Failed | Unanswered:
        told = read_answer(answer.body)
        if 200 <= answer.status < 300:
            return _delivered(told) or garbled(self.label, answer)
        if not isinstance(told, dict):
            return failure_of(self.label, answer)
        title, text = told.get("title"), f"{told.get('title', '')}: {told.get('detail', '')}"
        if answer.status == 409 and title == "ALREADY_EXISTS":
            return Delivered("refused", "duplicate_id")
        if answer.status == 404 and title == "NOT_FOUND":
            return Failed(TARGET_ERROR, f"{self.label} found nobody to take the message\nCaused by: {text}")
        return failure_of(self.label, answer, text)


def _delivered(told: Any) -> Delivered | None:
    """Published: it has a key; correlated: the instance, too. None if it says neither."""
    if not isinstance(told, dict):
        return None
    if told.get("processInstanceKey"):
        return Delivered("correlated", HANDED_OVER, str(told["processInstanceKey"]))
    return Delivered("buffered", HANDED_OVER, str(told["messageKey"])) if told.get("messageKey") else None
