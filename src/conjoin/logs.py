"""The log of a process that runs for long: where it goes, how a line looks, and how many lines there can be.

A record is one line, or one with its traceback indented below: nothing that a client sent can begin a line of its own.
Lines are bounded in length, and records that are alike in number, so that nobody fills a disk with them.
"""

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from threading import Lock
from time import gmtime, monotonic, strftime
from typing import Any, TextIO

LONGEST_MESSAGE, LONGEST_TRACEBACK = 4_000, 16_000
ALIKE, ALIKE_WITHIN_S = 20, 10.0
"""So many records of one kind within so many seconds; the others are counted."""
_MOST_KINDS = 1_000
_TELL_TWICE = ("psycopg",)
"""Libraries that warn of what they raise as well: a lost race between two writers is nothing that anybody need know."""

REQUEST_ID_HEADER = "X-Request-Id"
"""In gRPC's metadata it is in lower case."""
_SANE = re.compile(r"[A-Za-z0-9._:+/=@-]{1,64}", re.ASCII)
_PROCESS = token_hex(4)
_NUMBERS = count(1)
_REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")


def id_of(given: str | None) -> str:
    """The id of a request that its client gave, if it is sane, or a new one: unique here, and elsewhere by chance."""
    return given if given and _SANE.fullmatch(given) else f"{_PROCESS}-{next(_NUMBERS):x}"


def request_id() -> str:
    """Of the request that is being answered here; empty outside of one."""
    return _REQUEST_ID.get()


def note_request(id_: str) -> None:
    """From here to the end of this task records carry the id of the request."""
    _REQUEST_ID.set(id_)


@contextmanager
def answering(id_: str) -> Iterator[None]:
    """Records of the block carry the id of the request."""
    token = _REQUEST_ID.set(id_)
    try:
        yield
    finally:
        _REQUEST_ID.reset(token)


def configure(level: str = "warning", form: str = "text", stream: TextIO | None = None) -> None:
    """All loggers of the process, those of libraries too."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    handler.addFilter(Bounded())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _TELL_TWICE:
        logging.getLogger(name).setLevel(logging.NOTSET if level == "debug" else logging.ERROR)


class TextLines(logging.Formatter):
    """2030-01-31T08:00:00.123Z WARNING conjoin.gateway: what happened [request 5f2c-1]"""

    def format(self, record: logging.LogRecord) -> str:
        id_ = request_id()
        about = f" [request {id_}]" if id_ else ""
        line = f"{_instant(record)} {record.levelname} {record.name}: {_message(record)}{about}"
        traceback = _traceback(record)
        return line if not traceback else "\n  ".join([line, *map(_printable, traceback.splitlines())])


class JsonLines(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": _instant(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        if id_ := request_id():
            entry["request_id"] = id_
        if traceback := _traceback(record):
            entry["exception"] = traceback
        return json.dumps(entry)


def _instant(record: logging.LogRecord) -> str:
    return f"{strftime('%Y-%m-%dT%H:%M:%S', gmtime(record.created))}.{int(record.msecs):03}Z"


def _message(record: logging.LogRecord) -> str:
    return _printable(_cut(record.getMessage(), LONGEST_MESSAGE))


def _traceback(record: logging.LogRecord) -> str:
    """Its end, if it is long: there is what happened."""
    if not record.exc_info or record.exc_info[1] is None:
        return ""
    text = logging.Formatter().formatException(record.exc_info)
    return text if len(text) <= LONGEST_TRACEBACK else f"... {text[-LONGEST_TRACEBACK:]}"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} ... ({len(text):,} characters)"


def _printable(text: str) -> str:
    """In one line, without anything that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(it if it.isprintable() else it.encode("unicode_escape").decode() for it in text)


@dataclass(slots=True)
class _Kind:
    until: float
    count: int = 0


class Bounded(logging.Filter):
    """Lets some records of a kind through, and reports how many there were when their time is over.

    A kind is where it was logged and with which words, not what a client put into them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[Any, ...], _Kind] = {}
        self._turn = Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        now = monotonic()
        with self._turn:
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds = {key: kind for key, kind in self._kinds.items() if kind.until > now}
            # With that many kinds at a time all others are one.
            key = (record.name, record.lineno, record.msg) if len(self._kinds) < _MOST_KINDS else ()
            kind = self._kinds.get(key)
            if kind is None or now >= kind.until:
                left_out = max(kind.count - ALIKE, 0) if kind is not None else 0
                kind = self._kinds[key] = _Kind(now + ALIKE_WITHIN_S)
                if left_out:
                    record.msg = f"{record.getMessage()} (and {left_out:,} more like it before)"
                    record.args = ()
            kind.count += 1
            return kind.count <= ALIKE
