"""Keeps the JVM's banner from the terminal while it starts.

Java says `WARNING: Using incubator modules` whenever Spark's launcher asks for one, and no option stops it. While
the JVM is launched, stderr is a pipe; whatever comes through it later is passed on, but for those lines.
"""

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_BANNER = re.compile(rb"WARNING: (Using incubator modules|package sun\.security\.action)[^\n]*\n?")
_CHUNK = 65_536


@contextmanager
def without_java_banner() -> Iterator[None]:
    """The JVM that is started inside inherits the filtered stderr; this process gets its own back."""
    sys.stderr.flush()
    terminal = os.dup(2)
    readable, writable = os.pipe()
    os.dup2(writable, 2)
    os.close(writable)
    threading.Thread(target=_pass_on, args=(readable, terminal), daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)


def _pass_on(readable: int, terminal: int) -> None:
    """At once, not by lines: a progress line that is redrawn has no end."""
    while chunk := os.read(readable, _CHUNK):
        os.write(terminal, _BANNER.sub(b"", chunk))
    os.close(readable)
    os.close(terminal)
