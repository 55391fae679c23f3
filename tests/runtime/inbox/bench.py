"""An inbox on a store with a clock that stands still, a process that waits for `paid`, and words to tell stories."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from conjoin.kernel.inbox import PRESETS, InboxMessage, InboxSettings
from conjoin.kernel.inbox.accepting import Arrival
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.message import Hint
from conjoin.kernel.inbox.operations import Operation, OperationRefused
from conjoin.kernel.inbox.outcomes import Delivered, Outcome
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_bytes
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.remote_run import Target
from conjoin.runtime.inbox.rows import read_row
from conjoin.store import tables as t
from conjoin.store.rows import InboxAttemptRow, InboxRow
from conjoin.testing.clock import FakeClock
from tests.bpmn.snippets import BEGIN, END, PAID, catch, model

ORDER = model(BEGIN + catch("paid") + END, "begin>paid paid>end", PAID)
CHANNEL, REMOTE = "orders", "remote"
CHANNELS = {CHANNEL: Channel(CHANNEL), REMOTE: Channel(REMOTE, target="elsewhere")}
TENANT = "<default>"


def preset(name: str = "conjoin", **changes: Any) -> InboxSettings:
    return replace(PRESETS[name], **changes)


class FakeTarget:
    """A remote system. It takes everything, unless it was told otherwise of a message id."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.says: dict[str, Outcome | Exception] = {}

    def deliver(self, message: InboxMessage) -> Outcome:
        self.calls.append(message.message_id)
        said = self.says.get(message.message_id, Delivered())
        if isinstance(said, Exception):
            raise said
        return said


class Bench:
    def __init__(self, broker: Broker, clock: FakeClock, settings: InboxSettings) -> None:
        self.broker = broker
        self.clock = clock
        self.target = FakeTarget()
        self.targets: Mapping[str, Target] = {"elsewhere": self.target}
        self.configure(settings)
        broker.deploy([("order.bpmn", ORDER)])
        self._sent = 0

    def configure(self, settings: InboxSettings, channels: Mapping[str, Channel] = CHANNELS) -> None:
        self.settings = settings
        self.inbox = Inbox(self.broker, settings, channels, self.targets)

    def wait(self, *order_ids: str) -> list[int]:
        """Instances that wait for `paid` with these keys."""
        return [self.broker.create_instance("order", {"orderId": it}).key for it in order_ids]  # type: ignore[union-attr]

    def arrival(self, key: str, id_: str = "", **about: Any) -> Arrival:
        """In the order of the calls, unless it is said otherwise. `payload` may be bytes or a value."""
        self._sent += 1
        payload = about.pop("payload", {})
        raw = payload if isinstance(payload, bytes) or payload is None else json_bytes(payload)
        headers = (("X-CORRELATE-ID", id_ or f"m-{self._sent}"), *about.pop("headers", ()))
        hint = about.pop("hint", None) or Hint(about.pop("name", "paid"), key, group=about.pop("group", ""))
        position = about.pop("position", self._sent)
        return Arrival(0, "topic-0", position, self.broker.now, raw, headers, hint=hint, **about)

    def send(self, key: str, id_: str = "", channel: str = CHANNEL, **about: Any) -> Counts:
        return self.inbox.receive(channel, [self.arrival(key, id_, **about)])

    def send_many(self, arrivals: Iterable[Arrival], channel: str = CHANNEL) -> Counts:
        return self.inbox.receive(channel, arrivals)

    def run(self, after_s: float = 0) -> Counts:
        self.clock.advance_ms(round(after_s * 1_000))
        return self.inbox.run()

    def clean(self, after_s: float = 0) -> Counts:
        self.clock.advance_ms(round(after_s * 1_000))
        return self.inbox.clean_up()

    def polls(self, seconds: int, every_s: int = 6) -> list[int]:
        """The seconds of a schedule at which somebody was tried."""
        tried = []
        for second in range(every_s, seconds + 1, every_s):
            counts = self.run(every_s)
            if counts.correlated + counts.target_error + counts.decode_error + counts.mapping_error:
                tried.append(second)
        return tried

    def rows(self, **where: Any) -> list[InboxRow]:
        return list(self.broker.store.rows(t.INBOX, where, None, 100_000))

    def row(self, id_: str) -> InboxRow:
        [row] = [row for row in self.rows(message_id=id_) if not row.taken_by.startswith("moved")]
        return row

    def message(self, id_: str) -> InboxMessage:
        return read_row(self.row(id_)).message

    def states(self) -> dict[str, str]:
        return {row.message_id: row.state for row in self.rows()}

    def history(self, id_: str) -> list[InboxAttemptRow]:
        return list(self.broker.store.rows(t.INBOX_ATTEMPT, {"inbox_key": self.row(id_).key}, None, 1_000))

    def groups(self) -> dict[str, int]:
        rows = self.broker.store.rows(t.INBOX_GROUP, {}, None, 100_000)
        return {row.group_key: row.due_at for row in rows}

    def operate(self, id_: str, operation: Operation, who: str = "eve") -> str:
        """The code of a refusal, or nothing."""
        answer = self.inbox.operate(self.row(id_).key, operation, who)
        return answer.code if isinstance(answer, OperationRefused) else ""
