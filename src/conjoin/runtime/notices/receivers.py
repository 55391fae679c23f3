"""Receivers of notices, as the settings declare them: `[notify]` by message name, `*` for all others."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Annotated, Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from pydantic import PlainValidator

from conjoin.errors import ExtraMissing, SettingsError
from conjoin.setting_tables import Flag, Secret, SecretText, SettingTable, read_table
from conjoin.shown_urls import kind_of, shown_url

KINDS = ("expired", "discarded", "parked", "incident")
EVERYBODY_ELSE = "*"
KAFKA = "kafka"
_TOPIC = re.compile(r"/[\w.-]{1,249}", re.ASCII)


class Receiver(NamedTuple):
    """`name` is that of the messages it is notified of; its progress is kept under that name, whatever the URL."""

    name: str
    url: str
    kinds: Sequence[str] = KINDS
    variables: bool = False
    properties: Mapping[str, Any] = {}
    """Of the client of a Kafka topic, by its own names."""
    authorization: str = ""
    """The header of a webhook with this name."""
    secret: str = ""
    """What a webhook is signed with."""

    @property
    def is_topic(self) -> bool:
        return self.url.startswith(f"{KAFKA}://")


def _is_topic(url: object) -> bool:
    parts = _parts(url)
    return bool(parts and parts.scheme == KAFKA and parts.netloc and _TOPIC.fullmatch(parts.path))


def _parts(url: object) -> SplitResult | None:
    """None: it is no URL at all, or its port is no number."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        return None if parts is None or (parts.scheme in ("http", "https") and parts.port == 0) else parts
    except ValueError:
        return None


def _url(value: object) -> str:
    parts = _parts(value)
    is_web = parts is not None and parts.scheme in ("http", "https") and parts.hostname and str(value).isprintable()
    if not (is_web or _is_topic(value)):
        shown = repr(shown_url(value)) if isinstance(value, str) else kind_of(value)
        raise ValueError(f"{shown} is no URL such as https://ops.example/conjoin or kafka://broker:9092/topic")
    return str(value)


def _kinds(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(kind in KINDS for kind in value):
        raise ValueError(f"a list of some of {', '.join(KINDS)}")
    return tuple(value)


def _properties(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("a table of settings for the client of a Kafka topic")
    return value


class ReceiverTable(SettingTable):
    url: Annotated[str, PlainValidator(_url)] = ""
    kinds: Annotated[tuple[str, ...], PlainValidator(_kinds)] = KINDS
    variables: Flag = False
    properties: Annotated[Mapping[str, Any], PlainValidator(_properties)] = {}
    authorization: SecretText = Secret()
    secret: SecretText = Secret()

    def contradictions(self) -> Iterator[tuple[str, str]]:
        is_topic = _is_topic(self.url)
        if self.properties and not is_topic:
            yield "properties", "a table of settings for the client of a Kafka topic"
        for key, secret in (("authorization", self.authorization), ("secret", self.secret)):
            if secret and is_topic:
                yield key, "a text such as $NAME, for a webhook"
            elif not (secret.isascii() and secret.isprintable()):
                yield key, "has characters that no header has"


def read_receivers(section: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> list[Receiver]:
    """Raises `SettingsError` with all that is wrong, and `ExtraMissing` where a library is not installed."""
    receivers: list[Receiver] = []
    problems: list[str] = []
    for name, written in section.items():
        # A text alone is the URL, so its problems are those of the whole.
        table, spelled = ({"url": written}, {"url": ""}) if isinstance(written, str) else (written, {})
        given = {"url": "", **table} if isinstance(table, Mapping) else table
        try:
            receivers.append(
                Receiver(name, **dict(read_table(ReceiverTable, given, f"notify.{name}", environment, spelled)))
            )
        except SettingsError as error:
            problems += error.problems
    if problems:
        raise SettingsError(problems)
    if any(it.is_topic for it in receivers) and find_spec("confluent_kafka") is None:
        raise ExtraMissing("a notice to a Kafka topic", "confluent-kafka", "kafka")
    if not all(it.is_topic for it in receivers) and find_spec("httpcore") is None:
        raise ExtraMissing("a notice to a webhook", "httpx", "client")
    return receivers


def is_for(receiver: Receiver, receivers: Sequence[Receiver], kind: str, name: str) -> bool:
    """A name of its own counts before `*`. A notice whose name is no longer known goes to everybody: none is lost."""
    if kind not in receiver.kinds:
        return False
    if not name:
        return True
    has_own = any(it.name == name for it in receivers)
    return receiver.name == (name if has_own else EVERYBODY_ELSE)
