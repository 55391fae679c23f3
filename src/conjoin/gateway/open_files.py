"""Open files: how many the process may have, and the shares of gRPC and REST.

A connection is a file, and so is everything of the store. Each of the two refuses connections beyond its share, so that
the other one, health and the store always have theirs.
"""

import asyncio
import logging
import resource
from typing import Any, NamedTuple

_WANTED = 16_384
"""A higher limit is only used if it was set."""
_LEAST = 8
_LOG = logging.getLogger(__name__)


class Shares(NamedTuple):
    rest: int
    grpc: int


def raise_limit() -> None:
    """From the usual soft limit to what the system allows, up to a bound."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _WANTED if hard == resource.RLIM_INFINITY else min(hard, _WANTED)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def shares() -> Shares:
    """A fifth, but 48 at least, is for the store and the process itself; of the rest a third is for REST."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    files = _WANTED if soft == resource.RLIM_INFINITY else soft
    left = files - max(files // 5, 48)
    return Shares(max(left // 3, _LEAST), max(left - left // 3, _LEAST))


def on_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A listener that is out of files retries by itself; asyncio would log a traceback for each connection."""
    if "out of system resource" in context.get("message", ""):
        _LOG.warning("no more files can be opened: new connections have to wait")
    else:
        loop.default_exception_handler(context)
