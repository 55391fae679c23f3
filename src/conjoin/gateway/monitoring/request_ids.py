"""Request ids: every request has one, the client's own if it is sane. The answer has it, and so has each log record."""

import re
from itertools import count
from secrets import token_hex

HEADER = "X-Request-Id"
METADATA = "x-request-id"
"""The same in gRPC."""
_SANE = re.compile(r"[A-Za-z0-9._:+/=@-]{1,64}", re.ASCII)
_PROCESS = token_hex(4)
_NUMBERS = count(1)


def id_of(given: str | None) -> str:
    """The one that the client gave, or a new one: unique in this process, and among others by chance."""
    return given if given and _SANE.fullmatch(given) else f"{_PROCESS}-{next(_NUMBERS):x}"
