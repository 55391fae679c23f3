"""Attempts: a message of the inbox is offered to our own engine, and its outcome is booked in the same commit.

It is offered as a synchronous correlation, under the policies of the inbox: nobody waits, several do, or a lock is an
error, and nothing is kept. Where its policy says that a message without a taker is buffered or discarded, it is
published. If the answer has to come from another shard, the message is uncertain until a later commit reads the answer
from the message that it was offered as. It does not lapse meanwhile: the engine has it, so it may not be offered again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conjoin.fault_points import passing
from conjoin.kernel.correlation import events as e
from conjoin.kernel.inbox import InboxMessage, InboxSettings, book
from conjoin.kernel.inbox import outcomes as o
from conjoin.kernel.inbox.message import DECODE_ERROR, MAPPING_ERROR, TARGET_ERROR, UNCERTAIN, is_expired
from conjoin.kernel.inbox.run import goes_on
from conjoin.kernel.inbox.settings import FAIL_FIRST
from conjoin.kernel.instants import NEVER
from conjoin.kernel.policies import BUFFER, DISCARD, Policy
from conjoin.kernel.verdicts.verdicts import verdict_of
from conjoin.runtime.client_api.messages import NewMessage, refusal_of, unusable
from conjoin.runtime.codec.json_text import NOT_JSON, json_text, read_client_json
from conjoin.runtime.codec.messages import stored_answer
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.on_shard.unit_of_work import InboxRows
from conjoin.runtime.inbox.rows import Filed
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.working_set.working_set import Execution

JSON = "json"
ATTEMPT = "attempt"
_PUBLISHED = (BUFFER, DISCARD)
_LOST = o.Failed(MAPPING_ERROR, "what came in with the message is not there any more")


class Offers:
    """To our own engine, in one run."""

    def __init__(self, execution: Execution) -> None:
        self._its = execution.its
        self._view = execution.view
        self._now = execution.now
        self._publish = execution.publish

    def fetch(self, messages: Mapping[int, InboxMessage]) -> None:
        """What many messages touch, in bulk: their keys, and who most likely receives them."""
        offered: dict[str, list[tuple[str, str]]] = {}
        for its in messages.values():
            hint = its.hint
            offered.setdefault(hint.tenant_id or its.tenant_id, []).append((hint.correlation_key, hint.name))
        for tenant_id, some in offered.items():
            self._its.spaces.fetch(tenant_id, (key for key, _ in some))
            self._its.fetch_receivers(tenant_id, some)

    def offer(self, message: InboxMessage) -> tuple[o.Outcome | None, int]:
        """The outcome, None if it will come from another shard; and the key of the message that it was offered as."""
        policy = self._view.inbox_policies.of(message.hint.name)
        new = new_message(message, policy, self._now)
        if isinstance(new, o.Failed):
            return new, 0
        reply = self._publish(new)
        if new.sync:
            return self._outcome(self._its.shard.answers.get(reply.key), new.key), reply.key
        return self._outcome_of_published(reply, new), reply.key

    def late_outcome(self, filed: Filed) -> o.Outcome | None:
        """Of a message that was offered in an earlier commit; None while there is no answer."""
        if not is_on_its_way(filed):
            return None
        answer = self._its.shard.answers.get(filed.message_key)
        if answer is None:
            answer = stored_answer(self._its.snapshot.messages([filed.message_key]), self._view.policy_of)
        return self._outcome(answer, filed.message.hint.correlation_key)

    def as_planned(self, filed: Filed, horizon: int) -> InboxMessage:
        """A message as a plan is to see it: what is on its way does not lapse as long as its answer can be read."""
        if is_on_its_way(filed) and self._its.snapshot.messages([filed.message_key]):
            return not_lapsed(filed.message, horizon)
        return filed.message

    def _outcome(self, answer: e.Event | None, key: str) -> o.Outcome | None:
        if answer is None:
            return None
        if isinstance(answer, e.MessageRefused):
            return o.outcome_of_verdict("refused", answer.reason, text=refusal_of(answer, key).text)
        assert isinstance(answer, e.MessageAnswered)
        return o.Delivered(reason=answer.message.targets[0].reason, target=str(answer.instance_id))

    def _outcome_of_published(self, reply: Reply, new: NewMessage) -> o.Outcome:
        event = reply.decided[0]
        if isinstance(event, e.MessageRefused):
            return o.outcome_of_verdict("refused", event.reason, text=refusal_of(event, new.key).text)
        assert isinstance(event, (e.MessagePublished, e.MessageHeld))
        message = event.message
        space = self._its.spaces.at((new.tenant_id, new.key))
        verdict = verdict_of(space, message, self._now, self._its.catalog)
        if verdict.verdict == "buffered":
            # What becomes of it later is the verdict of that message.
            return o.Delivered("buffered", o.HANDED_OVER, f"message {message.key}")
        target = str(message.targets[0].instance_id) if message.targets else f"message {message.key}"
        return o.outcome_of_verdict(verdict.verdict, verdict.reason, target)


def new_message(message: InboxMessage, policy: Policy, now: int) -> NewMessage | o.Failed:
    hint = message.hint
    variables = hint.variables or decoded(message)
    if isinstance(variables, o.Failed):
        return variables
    new = NewMessage(
        *(hint.name, hint.correlation_key, variables),
        None if message.expires_at == NEVER else (message.expires_at - now) // 1_000,
        *(hint.message_id or message.message_id, hint.business_key, hint.tenant_id or message.tenant_id),
        sync=policy.on_no_match not in _PUBLISHED,
        from_inbox=True,
    )
    problem = unusable(new)
    return new if problem is None else o.Failed(MAPPING_ERROR, problem.text)


def decoded(message: InboxMessage) -> Mapping[str, Any] | o.Failed:
    """The payload as variables."""
    if message.encoding != JSON:
        return o.Failed(DECODE_ERROR, f"the encoding {message.encoding!r} cannot be read here, only {JSON}")
    if not message.payload:
        return {}
    try:
        value = read_client_json(message.payload)
    except NOT_JSON as error:
        return o.Failed(DECODE_ERROR, f"the payload is not JSON: {error}")
    return value if isinstance(value, dict) else o.Failed(DECODE_ERROR, "the payload is not an object")


def request_text(message: InboxMessage) -> str:
    """The request to a target, for the history: the hint, without variables, which the message has."""
    hint = message.hint._asdict()
    hint |= {"variables": None, "message_id": message.hint.message_id or message.message_id}
    given = {field: value for field, value in hint.items() if value}
    return json_text({"target": message.target, **given} if message.target else given)


def is_on_its_way(filed: Filed) -> bool:
    return filed.message.state == UNCERTAIN and filed.message_key > 0


def not_lapsed(message: InboxMessage, horizon: int) -> InboxMessage:
    """As if it had been offered just before a run."""
    return message._replace(tried_at=max(message.tried_at or 0, horizon - 1))


def goes_on_after(outcome: o.Outcome | None, settings: InboxSettings) -> bool:
    """What has expired is out of the way; what is on its way holds back those behind it."""
    if outcome is None:
        return settings.mode != FAIL_FIRST
    return isinstance(outcome, o.Expired) or goes_on(outcome, settings)


@dataclass(slots=True)
class InboxWork:
    """What every request to the inbox of a shard works with. `index` is that of the shard, of `shards`."""

    rows: InboxRows
    offers: Offers
    now: int
    index: int
    shards: int
    take_key: Callable[[], int]
    """A new key."""
    keep_dead_letter: Callable[[DeadLetter], Reply]
    failing: Mapping[int, str] = field(default_factory=dict)
    """Messages that could not be tried, and why."""
    tried: list[int] = field(default_factory=list)
    """The rows that the request has tried so far."""

    def book(self, filed: Filed, outcome: o.Outcome, request: str, settings: InboxSettings, counts: Counts) -> Filed:
        """The message after an outcome, with a line in its history, as it is stored by this commit."""
        before = filed.message
        booked = book(before, outcome, self.now, settings)
        counts.note(before, outcome, booked)
        line = o.attempt_line(booked, outcome, request, self.now, settings)
        filed = filed._replace(message=booked)
        if line is not None:
            filed = self.rows.add_line(filed, self.now, ATTEMPT, "", line)
        self.rows.put(filed, settings)
        return filed

    def put(self, filed: Filed, message: InboxMessage, settings: InboxSettings) -> Filed:
        filed = filed._replace(message=message)
        self.rows.put(filed, settings)
        return filed

    def attempt(
        self, filed: Filed, whole: InboxMessage | None, settings: InboxSettings, counts: Counts
    ) -> tuple[Filed, o.Outcome | None]:
        """`whole` is the message with what came in with it. No outcome: it is on its way between shards."""
        key, message_key = filed.message.key, 0
        outcome: o.Outcome | None
        if is_expired(filed.message, self.now):
            return self.book(filed, o.Expired(), "", settings, counts), o.Expired()
        counts.note_try(filed.message)
        if whole is None:
            outcome = _LOST
        elif key in self.failing:
            outcome = o.Failed(TARGET_ERROR, f"a mistake of ours, the log of the server has it: {self.failing[key]}")
        else:
            self.tried.append(key)
            passing("trying")
            outcome, message_key = self.offers.offer(whole)
        filed = filed._replace(message_key=message_key)
        if outcome is None:
            return self.put(filed, o.intend(filed.message, self.now), settings), None
        return self.book(filed, outcome, request_text(whole or filed.message), settings, counts), outcome
