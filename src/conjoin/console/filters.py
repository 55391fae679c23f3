"""How values are shown: instants, ages, long texts, JSON. Filters of the templates, which escape what comes out."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import isfinite
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from conjoin import __version__
from conjoin.console.wording import in_words

HERE = Path(__file__).parent
_CUT_AT = 160
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = re.compile(r"(?<![\w'-])(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z(?![\w'-])")
_INSTANCE = re.compile(r"\binstance (\d{16,19})\b")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def templates() -> Environment:
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shown_by = (instant, exactly, ago, cut, words, in_words, pretty, amount, duration, sentence)
    found.filters |= {function.__name__: function for function in shown_by}
    found.globals |= {"address": address, "version": __version__}

    def compile_all() -> None:
        for name in found.list_templates():
            found.get_template(name)

    # Before the first visit, and without the start of the server waiting for it.
    Thread(target=compile_all, name="templates", daemon=True).start()
    return found


def microseconds(text: str) -> int | None:
    """Of an instant as text; None for one that never comes, or is later than calendars go."""
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)
    except ValueError:
        return None


def instant(at: str | int) -> str:
    """`2030-01-31 08:00:00`, in UTC."""
    us = microseconds(at) if isinstance(at, str) else at
    try:
        return "never" if us is None else str(_EPOCH + timedelta(seconds=us // 1_000_000))[:19]
    except OverflowError:
        # Calendars end with the year 9999.
        return "never" if us is not None and us > 0 else "always"


def exactly(at: str) -> str:
    """With milliseconds: `2030-01-31 08:00:00.042`."""
    us = microseconds(at)
    return instant(at) if us is None else f"{instant(at)}.{us % 1_000_000 // 1_000:03}"


def ago(at: str | int, now: int) -> str:
    """`5 min ago`, `in 2 h`."""
    us = microseconds(at) if isinstance(at, str) else at
    if us is None:
        return "never"
    seconds = (now - us) // 1_000_000
    if -1 <= seconds < 1:
        return "now"
    return f"{duration(seconds)} ago" if seconds > 0 else f"in {duration(-seconds)}"


def duration(seconds: int) -> str:
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), _UNITS[-1])
    return f"{seconds // size} {unit}"


def cut(text: Any, most: int = _CUT_AT) -> str:
    """Texts of clients may be very long."""
    whole = str(text)
    return whole if len(whole) <= most else f"{whole[:most]}…"


def sentence(text: str, most: int = 2_000) -> Markup:
    """Instants as people read them, and instances as links; everything else is escaped first."""
    shown = escape(_INSTANT.sub(r"\1 \2 UTC", cut(text, most)))
    return Markup(_INSTANCE.sub(r'instance <a href="/console/instances/\1">\1</a>', str(shown)))


def words(code: str) -> str:
    return code.replace("_", " ")


def amount(count: int, most: int = 100_000) -> str:
    """With a plus where counting ended."""
    return f"{count:,}+" if count >= most else f"{count:,}"


def pretty(value: Any) -> str:
    """Of variables; numbers may be decimals, which are written as they are."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    number = float(value)
    if not isfinite(number):
        # A decimal that no float holds.
        return str(value)
    return int(number) if abs(number) < 2**53 and number == int(number) else number


def address(path: str, query: Mapping[str, Any] | None = None, **more: Any) -> str:
    """A path with a query; what is empty is left out."""
    given = {name: value for name, value in {**(query or {}), **more}.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path
