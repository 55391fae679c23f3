"""Offers: a message of the inbox is offered to our own engine, and what the engine says to it becomes an outcome.

It is offered as a synchronous correlation, under the policies of the inbox: nobody waits, several do, or a lock is an
error, and nothing is kept. Where its policy says that what nobody takes is buffered or discarded, it is published.
"""

from collections.abc import Mapping
from typing import Any

from conjoin.kernel.correlation import events as e
from conjoin.kernel.inbox import InboxMessage
from conjoin.kernel.inbox.message import DECODE_ERROR, MAPPING_ERROR
from conjoin.kernel.inbox.outcomes import HANDED_OVER, Delivered, Failed, Outcome, outcome_of_verdict
from conjoin.kernel.instants import NEVER
from conjoin.kernel.policies import BUFFER, DISCARD, Policy
from conjoin.kernel.verdicts.verdicts import verdict_of
from conjoin.runtime.client_api.late_answers import stored_answer
from conjoin.runtime.client_api.messages import NewMessage, refusal_of, unusable
from conjoin.runtime.codec.json_text import NOT_JSON, json_text, read_client_json
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.execution import Execution

JSON = "json"
_PUBLISHED = (BUFFER, DISCARD)


class Offers:
    """Those of one run."""

    def __init__(self, execution: Execution) -> None:
        self._its = execution.its
        self._view = execution.view
        self._now = execution.now
        self._publish = execution.publish

    def fetch(self, messages: Mapping[int, InboxMessage]) -> None:
        """What many messages touch, in bulk."""
        keys: dict[str, list[str]] = {}
        for its in messages.values():
            keys.setdefault(its.hint.tenant_id or its.tenant_id, []).append(its.hint.correlation_key)
        for tenant_id, some in keys.items():
            self._its.spaces.fetch(tenant_id, some)

    def offer(self, message: InboxMessage) -> tuple[Outcome | None, int]:
        """The outcome, None if it will come from another shard; and the key of the message that it was offered as."""
        policy = self._view.inbox_policies.of(message.hint.name)
        new = new_message(message, policy, self._now)
        if isinstance(new, Failed):
            return new, 0
        reply = self._publish(new)
        if new.sync:
            return self._outcome(self._its.shard.answers.get(reply.key), new.key), reply.key
        return self._outcome_of_published(reply, new), reply.key

    def late_outcome(self, message: InboxMessage, message_key: int) -> Outcome | None:
        """Of a message that was offered in an earlier commit; None while nobody has answered."""
        answer = self._its.shard.answers.get(message_key)
        if answer is None:
            answer = stored_answer(self._its.snapshot, message_key, self._view)
        return self._outcome(answer, message.hint.correlation_key)

    def is_known(self, message_key: int) -> bool:
        """Is the message that it was offered as still kept, so that its answer can be read from it?"""
        return bool(self._its.snapshot.messages([message_key]))

    def _outcome(self, answer: e.Event | None, key: str) -> Outcome | None:
        if answer is None:
            return None
        if isinstance(answer, e.MessageRefused):
            return outcome_of_verdict("refused", answer.reason, text=refusal_of(answer, key).text)
        assert isinstance(answer, e.MessageAnswered)
        return Delivered(reason=answer.message.targets[0].reason, target=str(answer.instance_id))

    def _outcome_of_published(self, reply: Reply, new: NewMessage) -> Outcome:
        event = reply.decided[0]
        if isinstance(event, e.MessageRefused):
            return outcome_of_verdict("refused", event.reason, text=refusal_of(event, new.key).text)
        message = event.message
        space = self._its.spaces.at((new.tenant_id, new.key))
        verdict = verdict_of(space, message, self._now, self._its.catalog)
        if verdict.verdict == "buffered":
            # What becomes of it later is told of that message.
            return Delivered("buffered", HANDED_OVER, f"message {message.key}")
        target = str(message.targets[0].instance_id) if message.targets else f"message {message.key}"
        return outcome_of_verdict(verdict.verdict, verdict.reason, target)


def new_message(message: InboxMessage, policy: Policy, now: int) -> NewMessage | Failed:
    hint = message.hint
    variables = hint.variables or decoded(message)
    if isinstance(variables, Failed):
        return variables
    new = NewMessage(
        *(hint.name, hint.correlation_key, variables),
        None if message.expires_at == NEVER else (message.expires_at - now) // 1_000,
        *(hint.message_id or message.message_id, hint.business_key, hint.tenant_id or message.tenant_id),
        sync=policy.on_no_match not in _PUBLISHED,
        from_inbox=True,
    )
    problem = unusable(new)
    return new if problem is None else Failed(MAPPING_ERROR, problem.text)


def decoded(message: InboxMessage) -> Mapping[str, Any] | Failed:
    """The payload as variables."""
    if message.encoding != JSON:
        return Failed(DECODE_ERROR, f"nobody here reads the encoding {message.encoding!r}, only {JSON}")
    if not message.payload:
        return {}
    try:
        value = read_client_json(message.payload)
    except NOT_JSON as error:
        return Failed(DECODE_ERROR, f"the payload is not JSON: {error}")
    return value if isinstance(value, dict) else Failed(DECODE_ERROR, "the payload is not an object")


def asked_of(message: InboxMessage) -> str:
    """What is asked of a target, for the history: the hint, without variables, which the message has."""
    hint = dict(zip(message.hint._fields, message.hint, strict=True))
    hint |= {"variables": None, "message_id": message.hint.message_id or message.message_id}
    said = {field: value for field, value in hint.items() if value}
    return json_text({"target": message.target, **said} if message.target else said)
