"""Who is told of what, as the section `notify` of the settings says: by message name, `*` for all others."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from conjoin.errors import SettingsError
from conjoin.runtime.notices.kafka import SCHEME, check_client
from conjoin.runtime.notices.webhook import check_http
from conjoin.runtime.targets.credentials import Secret, read_secret
from conjoin.shown_urls import kind_of, shown_url

KINDS = ("expired", "discarded", "parked", "incident")
EVERYBODY_ELSE = "*"
_KNOWN = ("url", "kinds", "variables", "properties", "authorization", "secret")
_TOPIC = re.compile(r"/[\w.-]{1,249}", re.ASCII)


class Receiver(NamedTuple):
    """`name` is that of the messages it is told of; how far it was told is kept under that name, whatever the URL."""

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
        return self.url.startswith(f"{SCHEME}://")


def read_receivers(section: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> list[Receiver]:
    """Raises `SettingsError` with all that is wrong, and `ExtraMissing` for what cannot be told with what is there."""
    problems: list[str] = []
    receivers = [_read(name, said, environment, problems) for name, said in section.items()]
    if problems:
        raise SettingsError(problems)
    if any(it.is_topic for it in receivers):
        check_client()
    if not all(it.is_topic for it in receivers):
        check_http()
    return receivers


def _read(name: str, said: Any, environment: Mapping[str, str], problems: list[str]) -> Receiver:
    told: Mapping[str, Any] = {"url": said} if isinstance(said, str) else said if isinstance(said, Mapping) else {}
    place = f"notify.{name}"
    problems += [f"{place}: unknown key {key!r}; there are {', '.join(_KNOWN)}" for key in told if key not in _KNOWN]
    url, kinds, variables = told.get("url", ""), told.get("kinds", KINDS), told.get("variables", False)
    properties = told.get("properties", {})
    if not (_is_web(url) or _is_topic(url)):
        problems.append(
            f"{place}: {_shown(url)} is no URL such as https://ops.example/conjoin or kafka://broker:9092/topic"
        )
    if not isinstance(properties, Mapping) or (properties and not _is_topic(url)):
        problems.append(f"{place}.properties: a table of settings for the client of a Kafka topic")
    if isinstance(kinds, str) or not all(kind in KINDS for kind in kinds):
        problems.append(f"{place}.kinds: a list of some of {', '.join(KINDS)}")
    if not isinstance(variables, bool):
        problems.append(f"{place}.variables: true or false")
    secrets = [_read_secret(told, key, place, environment, problems) for key in ("authorization", "secret")]
    return Receiver(name, str(url), tuple(kinds), bool(variables), properties, *secrets)


def _read_secret(
    told: Mapping[str, Any], key: str, place: str, environment: Mapping[str, str], problems: list[str]
) -> Secret:
    written = told.get(key, "")
    if not isinstance(written, str) or (written and _is_topic(told.get("url"))):
        problems.append(f"{place}.{key}: a text such as $NAME, for a webhook")
        return Secret()
    try:
        secret = read_secret(written, environment)
    except ValueError as error:
        problems.append(f"{place}.{key}: {error}")
        return Secret()
    if not (secret.isascii() and secret.isprintable()):
        problems.append(f"{place}.{key}: has characters that no header has")
    return Secret(secret)


def _shown(url: Any) -> str:
    return repr(shown_url(url)) if isinstance(url, str) else kind_of(url)


def _is_web(url: Any) -> bool:
    parts = _parts(url)
    return parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and url.isprintable()


def _parts(url: Any) -> SplitResult | None:
    """None: it is no URL at all, or its port is no number."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        return None if parts is None or (parts.scheme in ("http", "https") and parts.port == 0) else parts
    except ValueError:
        return None


def _is_topic(url: Any) -> bool:
    parts = _parts(url)
    if parts is None or parts.scheme != SCHEME:
        return False
    return bool(parts.netloc) and _TOPIC.fullmatch(parts.path) is not None


def is_for(receiver: Receiver, receivers: Sequence[Receiver], kind: str, name: str) -> bool:
    """A name of its own counts before `*`. What no name is known of any more is told to everybody: nothing is lost."""
    if kind not in receiver.kinds:
        return False
    if not name:
        return True
    has_own = any(it.name == name for it in receivers)
    return receiver.name == (name if has_own else EVERYBODY_ELSE)
