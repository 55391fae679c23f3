"""The Java process of a session: started without its banner, and ended where its start is interrupted.

Spark's launcher forgets a JVM when Ctrl-C comes while it starts. That one then finds no file to write its port to, and
lives for ever: it waits for calls that nobody can make.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from pyspark import SparkContext, java_gateway
from pyspark.core import context as spark_context

_BANNER = re.compile(rb"WARNING: (Using incubator modules|package sun\.security\.action)[^\n]*\n?")
_CHUNK = 65_536


class StartedJava:
    """What was started, if anything was: a session may also find a JVM that runs."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._muted = False

    def start(self, *arguments: Any, **options: Any) -> "subprocess.Popen[bytes]":
        """In a process group of its own: Ctrl-C on a terminal is for us, and `end` reaches what its script has run."""
        with _interrupt_after():
            process = subprocess.Popen(*arguments, **options, process_group=0)
            self._processes.append(process)
        return process

    def mute(self) -> None:
        """From now on nothing of its stderr is passed on: a session that ends in mid-run tells of it in traces."""
        self._muted = True

    def pass_on(self, readable: int, terminal: int) -> None:
        """At once, not by lines: a progress line that is redrawn has no end."""
        while chunk := os.read(readable, _CHUNK):
            if not self._muted:
                os.write(terminal, _BANNER.sub(b"", chunk))
        os.close(readable)
        os.close(terminal)

    def end(self) -> bool:
        """At once, and whether there was anything to end. It holds nothing that would have to be put in order."""
        for process in self._processes:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return bool(self._processes)


@contextmanager
def starting_java() -> Iterator[StartedJava]:
    """Spark starts its JVM inside. If that fails or is interrupted, none is left, and the next try starts another."""
    java, spark_launcher = StartedJava(), cast(Any, java_gateway)
    popen, spark_launcher.Popen = spark_launcher.Popen, java.start
    try:
        with _own_interrupt(), _filtered(java):
            yield java
    except BaseException:  # whatever it was, no JVM is left behind
        if java.end():
            SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        raise
    finally:
        spark_launcher.Popen = popen


@contextmanager
def _interrupt_after() -> Iterator[None]:
    """Ctrl-C inside counts when it is over: a process that is being started has no number yet to end it by."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if asked:
        raise KeyboardInterrupt


class _NoSignals:
    """What Spark gets in place of Python's module, where it sets a handler."""

    SIGINT = signal.SIGINT

    @staticmethod
    def signal(*_: object) -> None:
        pass


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Spark's handler of Ctrl-C talks to the JVM in the midst of another call, and fails or waits: it sets none."""
    its = cast(Any, spark_context)
    module, its.signal = its.signal, _NoSignals
    try:
        yield
    finally:
        its.signal = module


@contextmanager
def _filtered(java: StartedJava) -> Iterator[None]:
    """Keeps Java's `WARNING: Using incubator modules` from the terminal: no option stops it when Spark asks for one.

    The JVM that is started inside inherits a filtered stderr; this process gets its own back.
    """
    sys.stderr.flush()
    terminal = os.dup(2)
    readable, writable = os.pipe()
    os.dup2(writable, 2)
    os.close(writable)
    threading.Thread(target=java.pass_on, args=(readable, terminal), daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)
