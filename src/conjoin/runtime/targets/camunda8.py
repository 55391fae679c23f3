"""Camunda 8: `POST /v2/messages/publication`, or `/v2/messages/correlation` where an answer is wanted at once.

A published message has an id, so that sending it again is answered with a conflict for as long as its time to live; a
correlated one has none. It is found by name and correlation key and by nothing else: only a message that is
to start something may come without a key.
"""

from dataclasses import dataclass
from typing import Any

from conjoin.kernel.inbox.message import TARGET_ERROR, InboxMessage
from conjoin.kernel.inbox.outcomes import HANDED_OVER, Delivered, Failed, Unanswered
from conjoin.kernel.instants import elapsed_ms
from conjoin.runtime.targets import calls
from conjoin.runtime.targets.calls import TargetAnswer, TargetRequest

PUBLISH, CORRELATE = "publish", "correlate"
OPERATIONS = (PUBLISH, CORRELATE)
DAY_MS = 86_400_000

_LABEL = "Camunda 8"


@dataclass(frozen=True, slots=True)
class Camunda8:
    """The time to live is also how long a second delivery is recognised, so it should outlast the back-off."""

    operation: str = PUBLISH
    time_to_live_ms: int = DAY_MS

    def request_of(self, message: InboxMessage, now: int) -> TargetRequest | Failed:
        variables = calls.variables_of(message)
        if isinstance(variables, Failed):
            return variables
        hint = message.hint
        if not hint.name.strip():
            return calls.unmapped("the hint has no message name")
        if not hint.correlation_key and not hint.is_start:
            return calls.unmapped("the hint has no correlation key: without one Camunda 8 could only start something")
        body: dict[str, Any] = {
            "name": hint.name,
            "correlationKey": hint.correlation_key,
            "variables": variables,
            "tenantId": hint.tenant_id or message.tenant_id,
        }
        if self.operation == CORRELATE:
            return calls.posted("/v2/messages/correlation", body)
        body["messageId"] = hint.message_id or message.message_id
        body["timeToLive"] = min(self.time_to_live_ms, elapsed_ms(now, message.expires_at))
        return calls.posted("/v2/messages/publication", body)

    def outcome_of(self, answer: TargetAnswer) -> Delivered | Failed | Unanswered:
        body = calls.read_answer(answer.body)
        fields = body if isinstance(body, dict) else {}
        if 200 <= answer.status < 300:
            # Published: it has a key; correlated: the instance, too.
            if fields.get("processInstanceKey"):
                return Delivered("correlated", HANDED_OVER, str(fields["processInstanceKey"]))
            if fields.get("messageKey"):
                return Delivered("buffered", HANDED_OVER, str(fields["messageKey"]))
            return calls.garbled(_LABEL, answer)
        if not isinstance(body, dict):
            return calls.failure_of(_LABEL, answer)
        title, text = fields.get("title"), f"{fields.get('title', '')}: {fields.get('detail', '')}"
        if answer.status == 409 and title == "ALREADY_EXISTS":
            return Delivered("refused", "duplicate_id")
        if answer.status == 404 and title == "NOT_FOUND":
            return Failed(TARGET_ERROR, f"{_LABEL} found nobody to take the message\nCaused by: {text}")
        return calls.failure_of(_LABEL, answer, text)
