"""Notices: each is told once to whoever takes it, goes on after whoever does not, and is never lost."""

import hmac
from collections.abc import Iterator
from contextlib import closing
from threading import Event
from time import time
from typing import Any

import pytest

from conjoin.errors import ExtraMissing, SettingsError, StoreFailed
from conjoin.kernel.keys import COUNTER_BITS
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.notices import NoticeRound, Notifier, Receiver, notifier, read_receivers
from conjoin.runtime.notices import receivers as receivers_module
from conjoin.runtime.notices.notice import Notice
from conjoin.runtime.notices.receivers import is_for
from conjoin.runtime.notices.sending import SIGNATURE, Sending, Webhook, signature
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.upkeep.supervision import Repeating
from conjoin.runtime.visibility.hiding import Hiding
from conjoin.store import tables as t
from conjoin.store.port import Changes
from conjoin.store.rows import InboxRow
from conjoin.testing.clock import FakeClock
from tests.bpmn.snippets import BEGIN, END, catch, message, model
from tests.runtime.targets import servers
from tests.runtime.targets.servers import FakeTarget, running_target

MINUTE_MS = 60_000
STUCK = model(BEGIN + catch("paid") + END, "begin>paid paid>end", message("paid_message", "paid", "=nothing"))
ALL = Receiver("*", "http://all")
PAID = Receiver("paid", "http://paid", variables=True)


class Listener:
    """Receivers that note what they are told; some are down."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, dict[str, Any]]] = []
        self.down: set[str] = set()

    def __call__(self, receiver: Receiver, notice_id: str, body: bytes) -> str:
        if receiver.url in self.down:
            return "it answered 503"
        said = read_json(body)
        assert said["id"] == notice_id
        self.told.append((receiver.url.removeprefix("http://"), said["kind"], said))
        return ""

    def heard(self) -> list[tuple[str, str]]:
        return [(who, kind) for who, kind, _ in self.told]


class Scene:
    def __init__(self, shards: int = 1) -> None:
        self.clock = FakeClock()
        self.broker: Broker = temporary_broker(shards, self.clock)
        self.listener = Listener()
        self.notifier = self.restarted()
        self.notifier.round()

    def restarted(self) -> Notifier:
        """As another process would have it, once the lease of the one before is over."""
        self.clock.advance_ms(2 * MINUTE_MS)
        return Notifier(self.broker, [ALL, PAID], self.listener, self.clock)

    def publish(self, name: str, key: str = "o-1", ttl_ms: int = 0) -> None:
        self.broker.publish(NewMessage(name, key, {"amount": 7}, ttl_ms))

    def expire(self) -> None:
        self.clock.advance_ms(MINUTE_MS)
        self.broker.tick()


@pytest.fixture
def target() -> Iterator[FakeTarget]:
    with running_target() as target:
        yield target


@pytest.fixture
def scene() -> Iterator[Scene]:
    its = Scene()
    with closing(its.broker):
        yield its


def test_everybody_is_told_of_his_own_messages_once(scene: Scene) -> None:
    scene.publish("paid")
    scene.publish("shipped", ttl_ms=1_000)
    scene.expire()
    assert scene.notifier.round().sent == 2
    assert sorted(scene.listener.heard()) == [("all", "expired"), ("paid", "discarded")]
    assert scene.notifier.round().sent == 0
    assert scene.restarted().round().sent == 0, "how far it was told is in the store"
    assert [it.difference for it in verify_store(scene.broker.store)] == [None]


def test_receivers_that_do_not_accept_are_known_until_they_do(scene: Scene) -> None:
    scene.listener.down = {"http://paid"}
    scene.publish("paid")
    scene.notifier.round()
    assert scene.notifier.refusing == {"paid": "it answered 503"}
    scene.notifier.round()
    assert scene.notifier.refusing == {"paid": "it answered 503"}, "it is left alone for a while"
    scene.listener.down = set()
    scene.clock.advance_ms(MINUTE_MS)
    scene.notifier.round()
    assert scene.notifier.refusing == {}


def test_a_notice_says_what_and_why_and_no_variables_unless_asked(scene: Scene) -> None:
    scene.publish("paid")
    scene.publish("shipped")
    scene.notifier.round()
    told = {said["messageName"]: said for _, _, said in scene.listener.told}
    assert told["paid"]["sentence"].startswith("Discarded: ")
    assert (told["paid"]["verdict"], told["paid"]["reason"]) == ("discarded", "ttl_zero")
    assert told["paid"]["correlationKey"] == "o-1"
    assert told["paid"]["variables"] == {"amount": 7}
    assert "variables" not in told["shipped"]


def test_what_is_hidden_is_not_sent_either(scene: Scene) -> None:
    scene.broker.hiding = Hiding(["card"])
    scene.broker.publish(NewMessage("paid", "o-1", {"card": "4111-2222", "who": [{"Card": 1, "name": "Anna"}]}, 0))
    scene.notifier.round()
    [(_, _, said)] = scene.listener.told
    assert said["variables"] == {"card": "(hidden)", "who": [{"Card": "(hidden)", "name": "Anna"}]}


def test_a_notice_that_cannot_be_sent_is_left_out_after_some_attempts(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = notifier.payload_of

    def payload_of(notice: Notice, with_variables: bool) -> bytes:
        if notice.correlation_key == "poison":
            raise OverflowError("too large")
        return real(notice, with_variables)

    monkeypatch.setattr(notifier, "payload_of", payload_of)
    for key in ("poison", "good"):
        scene.publish("paid", key)
    for _ in range(5):
        scene.notifier.round()
        scene.clock.advance_ms(10_000)
    assert {said["correlationKey"] for _, _, said in scene.listener.told} == {"good"}
    assert scene.notifier.left_out >= 1


def test_who_is_down_holds_up_nobody_and_is_told_everything_in_order_later(scene: Scene) -> None:
    scene.listener.down = {"http://paid"}
    for key in ("a", "b"):
        scene.publish("paid", key)
    scene.publish("shipped")
    done = scene.notifier.round()
    assert (done.sent, done.failed) == (1, {"paid": "it answered 503"})
    scene.listener.down.clear()
    assert scene.notifier.round().sent == 0, "it is left alone for a while"
    scene.clock.advance_ms(1_500)
    assert scene.notifier.round().sent == 2
    assert [said["correlationKey"] for who, _, said in scene.listener.told if who == "paid"] == ["a", "b"]


def test_what_was_told_before_a_crash_is_told_again_under_the_same_id(scene: Scene) -> None:
    scene.publish("paid")
    told = []

    def die(receiver: Receiver, notice_id: str, body: bytes) -> str:
        told.append(notice_id)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Notifier(scene.broker, [ALL, PAID], die, lambda: scene.clock() + 2 * MINUTE_MS * 1_000).round()
    scene.clock.advance_ms(5 * MINUTE_MS)
    assert scene.restarted().round().sent == 1
    assert [said["id"] for _, _, said in scene.listener.told] == told


def test_an_incident_is_told_with_its_instance(scene: Scene) -> None:
    scene.broker.deploy([("order.bpmn", STUCK)])
    created: Any = scene.broker.create_instance("order", {})
    scene.notifier.round()
    # Nobody knows of a message name here, so nobody is left out.
    assert sorted(scene.listener.heard()) == [("all", "incident"), ("paid", "incident")]
    assert {said["processInstanceKey"] for _, _, said in scene.listener.told} == {str(created.key)}


def test_a_parked_message_of_the_inbox_is_told_once(scene: Scene) -> None:
    scene.clock.advance_ms(1)
    park(scene, 7, scene.clock())
    assert scene.notifier.round().sent == 1
    park(scene, 5, scene.clock())
    assert scene.notifier.round().sent == 1, "another one at the very same instant"
    assert scene.restarted().round().sent == 0
    assert [(kind, said["reason"]) for _, kind, said in scene.listener.told] == [("parked", "attempts_exhausted")] * 2


def park(scene: Scene, number: int, at: int) -> None:
    """A row as a run of the inbox leaves it."""
    counted = ("position", "event_at", "ingested_at", "grace_until", "in_line", "message_key", "lines")
    told: dict[str, Any] = {**dict.fromkeys(InboxRow._fields, ""), **dict.fromkeys(counted, 0)}
    told |= dict.fromkeys(("expires_at", "due_at", "next_retry_at", "decided_at"))
    told |= {"key": 1 << COUNTER_BITS | number, "name": "paid", "state": "parked", "attempts": 5, "tried_at": at}
    row = InboxRow(**{**told, "parked_for": "attempts_exhausted"})
    snapshot = scene.broker.store.shard(0).begin()
    head = snapshot.head._replace(version=snapshot.head.version + 1, time=at)
    assert snapshot.commit(Changes(head, {t.INBOX: [row]}))


def test_a_webhook_must_say_yes(target: FakeTarget) -> None:
    url, told = f"{target.url}/hook?token=x", []
    for status in (204, 302, 500):
        target.way = servers.answering(status)
        told.append(Webhook(url).send("0-1.1", b"{}"))
    assert told == ["", "it answered 302", "it answered 500"]
    seen = target.seen[0]
    assert (seen.path, seen.headers["Idempotency-Key"], seen.body) == ("/hook?token=x", "0-1.1", b"{}")
    assert not {"Authorization", SIGNATURE} & set(seen.headers)
    assert Webhook(servers.nobody_there()).send("0-1.1", b"{}").startswith("ConnectionRefusedError")


def test_a_webhook_says_who_it_is_and_signs_what_it_says(target: FakeTarget) -> None:
    section = {"*": {"url": target.url, "authorization": "$AUTH", "secret": "$SIGN"}}
    [receiver] = read_receivers(section, {"AUTH": "Bearer to-ken", "SIGN": "se-cret"})
    assert "to-ken" not in repr(receiver)
    assert "se-cret" not in repr(receiver)
    sending = Sending()
    assert [sending(receiver, "0-1.1", b'{"a": 1}') for _ in range(2)] == ["", ""]
    assert target.connections == 1
    headers = target.seen[0].headers
    assert headers["Authorization"] == "Bearer to-ken"
    at, signed = headers[SIGNATURE].removeprefix("t=").split(",v1=")
    assert abs(int(at) - time()) < 60
    assert signed == hmac.new(b"se-cret", at.encode() + b'.{"a": 1}', "sha256").hexdigest()


def test_signature_is_always_the_same() -> None:
    told = "t=1700000000,v1=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163"
    assert signature("secret", 1_700_000_000, b"{}") == told


def test_secrets_of_a_webhook_that_cannot_be_are_told_without_them() -> None:
    section = {
        "a": {"url": "http://x", "secret": "$MISSING"},
        "b": {"url": "http://x", "authorization": "se-cret\n"},
        "c": {"url": "kafka://b:1/t", "secret": "se-cret"},
        "d": {"url": "http://x", "secret": 7},
    }
    with pytest.raises(SettingsError) as problems:
        read_receivers(section, {})
    told = [problem.split(":")[0] for problem in problems.value.problems]
    assert told == ["notify.a.secret", "notify.b.authorization", "notify.c.secret", "notify.d.secret"]
    assert "se-cret" not in str(problems.value)


def test_settings_that_make_no_sense_are_all_told() -> None:
    said = {"*": "ftp://x", "paid": {"url": "http://x", "kinds": ["lost"], "variables": "no", "topic": "t"}}
    said |= {"left": "kafka://broker:9092", "gone": "kafka:///topic", "come": "kafka://broker/two/topics"}
    said |= {"sent": {"url": "http://x", "properties": {"acks": "all"}}}
    with pytest.raises(SettingsError) as problems:
        read_receivers(said)
    told = [problem.split(":")[0] for problem in problems.value.problems]
    web = ["notify.*", "notify.paid.kinds", "notify.paid.variables", "notify.paid.topic"]
    assert told == [*web, "notify.left", "notify.gone", "notify.come", "notify.sent.properties"]


def test_a_topic_needs_a_client_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receivers_module, "find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match=r"confluent-kafka: pip install 'conjoin\[kafka\]'"):
        read_receivers({"*": "kafka://broker:9092/notices"})
    monkeypatch.setattr(receivers_module, "find_spec", lambda name: None)
    with pytest.raises(ExtraMissing, match=r"httpx: pip install 'conjoin\[client\]'"):
        read_receivers({"*": "https://ops.example"})


@pytest.mark.parametrize(
    ("name", "who"), [("paid", ["paid"]), ("shipped", ["*"]), ("", ["*", "paid"])], ids=["own", "other", "unknown"]
)
def test_a_name_of_its_own_counts_before_all_others(name: str, who: list[str]) -> None:
    receivers = read_receivers({"*": "http://all", "paid": {"url": "http://paid"}})
    assert [it.name for it in receivers if is_for(it, receivers, "expired", name)] == who


def test_a_server_tells_by_itself_and_goes_on_after_a_failure(scene: Scene) -> None:
    rounds, over = [], Event()

    class Once(Notifier):
        def round(self) -> NoticeRound:
            rounds.append(len(rounds))
            if len(rounds) == 1:
                raise StoreFailed("busy")
            over.set()
            return NoticeRound(0, {})

    thread = Repeating("notices", Once(scene.broker, [ALL], scene.listener, scene.clock).round, 0.001)
    thread.start()
    assert over.wait(30)
    thread.stop()
    assert thread.failed is None
