"""Pauses of the garbage collector, kept short in a process that serves for long.

What is alive when serving begins stays so, and is looked through no more: that would stop every thread for a tenth of
a second each time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def short_pauses() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
