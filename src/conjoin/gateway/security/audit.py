"""The audit: a file of JSON lines with who did what and when, for the actions of operators. It is only appended to.

No variables, payloads or secrets stand in it. A record that cannot be written is told in the log; what was done stays.
"""

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conjoin.errors import SettingsError
from conjoin.runtime.codec.json_text import json_bytes
from conjoin.times.iso8601 import instant_text

_LOG = logging.getLogger(__name__)


class Audit:
    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise SettingsError([f"audit = {str(path)!r}: cannot be written: {error.strerror}"]) from None

    def write(self, who: str, call: str, what: Mapping[str, Any], outcome: str) -> None:
        at = instant_text(time.time_ns() // 1_000)
        record = {"at": at, "who": who, "call": call, "what": dict(what), "outcome": outcome}
        try:
            # In one piece, so that several servers can share a file.
            os.write(self._file, json_bytes(record) + b"\n")
        except OSError as error:
            _LOG.error("the audit cannot be written (%s): %s by %r: %s", error.strerror, call, who, outcome)
