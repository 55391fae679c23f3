"""Opening the demo: a store of its own, its inbox, and what to try next."""

import socket
from pathlib import Path
from typing import NamedTuple

from conjoin.demo.happenings import FOR_VISITORS, MINUTES
from conjoin.demo.letters import inbox_section
from conjoin.demo.story import ShopClock, Story
from conjoin.demo.trade import PAID
from conjoin.errors import InputError
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.configuration import Configuration, read_configuration
from conjoin.runtime.opening import create_broker, temporary_broker

SHARDS = 2


class Demo(NamedTuple):
    """The story goes on beside the server, on `rest_port`; the caller closes the broker."""

    address: Path
    broker: Broker
    inbox: Configuration
    rest_port: int
    story: Story

    def what_to_try(self, rest: str, zbctl: str) -> list[str]:
        """Lines that run as they are, once the shop has replayed its hour."""
        body = f'{{"name": "money collected", "key": "{FOR_VISITORS}"}}'
        return [
            "The demo shop replays its last hour within seconds, then continues live. Try:",
            f"  open {rest}/",
            f"  curl -sS {rest}/conjoin/v1/explain -H 'Content-Type: application/json' -d '{body}'",
            f"  {zbctl} publish message '{PAID}' --correlationKey {FOR_VISITORS}",
            f"  curl -sS '{rest}/conjoin/v1/messages?key={FOR_VISITORS}'",
        ]


def open_demo(data: str | None, host: str, rest_port: int) -> Demo:
    """In a directory that is empty or is made, or in a temporary one, which is gone when the broker is closed."""
    if data is not None and Path(data).exists() and (not Path(data).is_dir() or any(Path(data).iterdir())):
        raise InputError([f"--data {data}: the demo would mix with what is there: name an empty directory, or none"])
    clock = ShopClock(MINUTES)
    port = rest_port or _free_port(host)
    inbox = read_configuration(inbox_section(f"http://{_reachable(host)}:{port}"), {})
    broker = temporary_broker(SHARDS, clock) if data is None else create_broker(Path(data), SHARDS, clock)
    return Demo(Path(broker.store.address), broker, inbox, port, Story(clock))


def _reachable(host: str) -> str:
    """From this machine."""
    if host in ("0.0.0.0", "::"):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _free_port(host: str) -> int:
    """The inbox must know where the server will be before it is there."""
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
        port: int = free.getsockname()[1]
    return port
