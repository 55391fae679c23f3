"""Who is told of what, as the section `notify` of the settings says: by message name, `*` for all others."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from conjoin.errors import SettingsError

KINDS = ("expired", "discarded", "parked", "incident")
EVERYBODY_ELSE = "*"
_KNOWN = ("url", "kinds", "variables")


class Receiver(NamedTuple):
    """`name` is that of the messages it is told of; how far it was told is kept under that name, whatever the URL."""

    name: str
    url: str
    kinds: Sequence[str] = KINDS
    variables: bool = False


def read_receivers(section: Mapping[str, Any]) -> list[Receiver]:
    """Raises `SettingsError` with all that is wrong."""
    problems: list[str] = []
    receivers = [_read(name, said, problems) for name, said in section.items()]
    if problems:
        raise SettingsError(problems)
    return receivers


def _read(name: str, said: Any, problems: list[str]) -> Receiver:
    told: Mapping[str, Any] = {"url": said} if isinstance(said, str) else said if isinstance(said, Mapping) else {}
    place = f"notify.{name}"
    problems += [f"{place}: unknown key {key!r}; there are {', '.join(_KNOWN)}" for key in told if key not in _KNOWN]
    url, kinds, variables = told.get("url", ""), told.get("kinds", KINDS), told.get("variables", False)
    if not _is_web(url):
        problems.append(f"{place}: {url!r} is no URL such as https://ops.example/conjoin")
    if isinstance(kinds, str) or not all(kind in KINDS for kind in kinds):
        problems.append(f"{place}.kinds: a list of some of {', '.join(KINDS)}")
    if not isinstance(variables, bool):
        problems.append(f"{place}.variables: true or false")
    return Receiver(name, str(url), tuple(kinds), bool(variables))


def _is_web(url: Any) -> bool:
    parts = urlsplit(url) if isinstance(url, str) else None
    return parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)


def is_for(receiver: Receiver, receivers: Sequence[Receiver], kind: str, name: str) -> bool:
    """A name of its own counts before `*`. What no name is known of any more is told to everybody: nothing is lost."""
    if kind not in receiver.kinds:
        return False
    if not name:
        return True
    has_own = any(it.name == name for it in receivers)
    return receiver.name == (name if has_own else EVERYBODY_ELSE)
