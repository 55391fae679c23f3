"""Passwords are slow to check, on purpose; so they are checked in their own threads, fairly, and right ones remembered.

Names take turns: however many wrong passwords come in for one, another name waits for one of them. Names that are not
known have a thread of their own. Whoever was right before comes first. The same password that comes in twice at a
time is checked once.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from secrets import token_bytes
from typing import NamedTuple

from conjoin.gateway.security.authentication.guesses import Guesses, Who
from conjoin.gateway.security.authentication.hashes import is_password, nobodys_hash
from conjoin.gateway.statuses import TooManyRequests
from conjoin.runtime.client_api.answers import Refusal

REMEMBERED_S = 600.0
_MOST_REMEMBERED = 10_000
_MOST_OF_ONE = 4
"""Of one caller that wait at a time."""
_MOST_OF_A_NAME = 32
_MOST_UNKNOWN = 8
_SLOWER = "too many wrong passwords: try again in {} s"
_BUSY = TooManyRequests("TOO_MANY_REQUESTS", "too many passwords are being checked: try again in a moment", 1)


class PasswordCheck(NamedTuple):
    """The hash to compare with; of a name that is not known that of somebody else, or none: this takes as long."""

    hash: str
    is_known: bool


class PasswordChecks:
    def __init__(self) -> None:
        self.guesses = Guesses()
        self._salt = token_bytes(32)
        self._right: OrderedDict[bytes, float] = OrderedDict()
        self._trusted: OrderedDict[Who, None] = OrderedDict()
        self._waiting: Counter[Who] = Counter()
        self._under_way: dict[bytes, asyncio.Future[bool]] = {}
        self._known, self._unknown = _PasswordThread("passwords"), _PasswordThread("unknown names")

    async def is_right(self, who: Who, password: str, kept: PasswordCheck) -> bool | Refusal:
        which = sha256(self._salt + f"{who.name}\0{kept.hash}\0{password}".encode("utf-8", "replace")).digest()
        now = time.monotonic()
        if self._right.get(which, 0.0) > now:
            return True
        pause_s = self.guesses.pause_s(who, now)
        if pause_s and which not in self._under_way:
            return TooManyRequests("TOO_MANY_REQUESTS", _SLOWER.format(pause_s), pause_s)
        check = self._under_way.get(which) or self._begun(which, who, password, kept)
        return _BUSY if check is None else await asyncio.shield(check)

    def _begun(self, which: bytes, who: Who, password: str, kept: PasswordCheck) -> "asyncio.Future[bool] | None":
        """None: too many wait already."""
        lane = self._known if kept.is_known else self._unknown
        line, most = (who.name, _MOST_OF_A_NAME) if kept.is_known else ("", _MOST_UNKNOWN)
        is_trusted = who in self._trusted
        if self._waiting[who] >= _MOST_OF_ONE or (lane.waiting(line) >= most and not is_trusted):
            return None
        self._waiting[who] += 1
        check = lane.add(line, lambda: is_password(password, kept.hash or nobodys_hash()), is_trusted)
        self._under_way[which] = check
        check.add_done_callback(lambda done: self._book(which, who, kept.is_known, done))
        return check

    def _book(self, which: bytes, who: Who, is_known: bool, check: "asyncio.Future[bool]") -> None:
        now = time.monotonic()
        del self._under_way[which]
        self._waiting[who] -= 1
        if not self._waiting[who]:
            del self._waiting[who]
        if check.cancelled() or check.exception() is not None:
            return
        if check.result() and is_known:
            self.guesses.succeeded(who)
            _remember(self._right, which, now + REMEMBERED_S)
            _remember(self._trusted, who, None)
        else:
            self.guesses.failed(who, now, is_known)


def _remember(where: "OrderedDict", key: object, value: object) -> None:  # type: ignore[type-arg]
    where.pop(key, None)
    where[key] = value
    if len(where) > _MOST_REMEMBERED:
        where.popitem(last=False)


class _PasswordThread:
    """One thread, and lines that take turns."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._lines: OrderedDict[str, deque[tuple[Callable[[], bool], asyncio.Future[bool]]]] = OrderedDict()
        self._task: asyncio.Task[None] | None = None

    def waiting(self, line: str) -> int:
        return len(self._lines.get(line, ()))

    def add(self, line: str, work: Callable[[], bool], is_first: bool) -> "asyncio.Future[bool]":
        loop = asyncio.get_running_loop()
        done: asyncio.Future[bool] = loop.create_future()
        its = self._lines.setdefault(line, deque())
        its.appendleft((work, done)) if is_first else its.append((work, done))
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())
        return done

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._lines:
            line, its = self._lines.popitem(last=False)
            work, done = its.popleft()
            if its:
                self._lines[line] = its
            try:
                is_right = await loop.run_in_executor(self._thread, work)
            except Exception as error:  # noqa: BLE001 - whoever waits is told, and the next one gets their turn
                done.set_exception(error)
            else:
                done.set_result(is_right)
