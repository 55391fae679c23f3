"""Passwords are slow to check, on purpose: they are checked in threads of their own, fairly, and right ones cached.

Names take turns: however many wrong passwords come in for one, another name waits for one of them. Unknown names have
their own thread. Callers that were right before come first. The same password sent twice at a time is checked once.
Wrong passwords are counted by name and address together, so guessing slows down nobody else. All state is bounded.
"""

import asyncio
import logging
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from secrets import token_bytes
from typing import NamedTuple

from conjoin.gateway.security.authentication.callers import is_password, nobodys_hash
from conjoin.gateway.statuses import TooManyRequests
from conjoin.runtime.client_api.answers import Refusal

REMEMBERED_S = 600.0
_MOST_REMEMBERED = 10_000
_MOST_OF_ONE = 4
"""Checks of one caller that wait at a time."""
_MOST_OF_A_NAME = 32
_MOST_UNKNOWN = 8
_FREE_GUESSES = 5
"""Wrong passwords without a pause."""
_LONGEST_PAUSE_S = 60
_FORGOTTEN_S = 900.0
_MOST_GUESSES = 10_000
_SLOWER = "too many wrong passwords: try again in {} s"
_BUSY = TooManyRequests("TOO_MANY_REQUESTS", "too many passwords are being checked: try again in a moment", 1)
_LOG = logging.getLogger(__name__)


class Who(NamedTuple):
    """The claimed name, and the network it is claimed from."""

    name: str
    address: str


class _Guess(NamedTuple):
    times: int
    until: float
    last: float


class Guesses:
    """Wrong passwords, and how long to wait until the next one is checked."""

    def __init__(self) -> None:
        self._tried: OrderedDict[Who, _Guess] = OrderedDict()

    def pause_s(self, who: Who, now: float) -> int:
        """0: it may be checked."""
        tried = self._tried.get(who)
        return 0 if tried is None or tried.until <= now else int(tried.until - now) + 1

    def failed(self, who: Who, now: float, is_known: bool) -> None:
        tried = self._tried.pop(who, None)
        count = 1 if tried is None or now - tried.last > _FORGOTTEN_S else tried.times + 1
        pause_s = 0 if count < _FREE_GUESSES else min(2 ** min(count - _FREE_GUESSES, 10), _LONGEST_PAUSE_S)
        _remember(self._tried, who, _Guess(count, now + pause_s, now), _MOST_GUESSES)
        if count & (count - 1) == 0:
            # What was typed as a name may be a password, so only known names are logged.
            named = repr(who.name[:80]) if is_known else "a name that is not known"
            _LOG.warning("wrong password for %s from %s, %d in a row", named, who.address or "?", count)

    def succeeded(self, who: Who) -> None:
        self._tried.pop(who, None)


def network_of(address: str) -> str:
    """The address; for IPv6 its network of 64 bits, in which one machine may take any address."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if not isinstance(found, IPv6Address):
        return str(found)
    return str(found.ipv4_mapped) if found.ipv4_mapped else f"{IPv6Address(int(found) >> 64 << 64)}/64"


class PasswordCheck(NamedTuple):
    """The hash to compare with. For an unknown name it is another caller's, or none: the check takes as long."""

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
        thread = self._known if kept.is_known else self._unknown
        queue, most = (who.name, _MOST_OF_A_NAME) if kept.is_known else ("", _MOST_UNKNOWN)
        is_trusted = who in self._trusted
        if self._waiting[who] >= _MOST_OF_ONE or (thread.waiting(queue) >= most and not is_trusted):
            return None
        self._waiting[who] += 1
        check = thread.add(queue, lambda: is_password(password, kept.hash or nobodys_hash()), is_trusted)
        self._under_way[which] = check
        check.add_done_callback(lambda done: self._ended(which, who, kept.is_known, done))
        return check

    def _ended(self, which: bytes, who: Who, is_known: bool, check: "asyncio.Future[bool]") -> None:
        now = time.monotonic()
        del self._under_way[which]
        self._waiting[who] -= 1
        if not self._waiting[who]:
            del self._waiting[who]
        if check.cancelled() or check.exception() is not None:
            return
        if check.result() and is_known:
            self.guesses.succeeded(who)
            _remember(self._right, which, now + REMEMBERED_S, _MOST_REMEMBERED)
            _remember(self._trusted, who, None, _MOST_REMEMBERED)
        else:
            self.guesses.failed(who, now, is_known)


def _remember(where: "OrderedDict", key: object, value: object, most: int) -> None:  # type: ignore[type-arg]
    where.pop(key, None)
    where[key] = value
    if len(where) > most:
        where.popitem(last=False)


class _PasswordThread:
    """One thread, and queues that take turns."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._queues: OrderedDict[str, deque[tuple[Callable[[], bool], asyncio.Future[bool]]]] = OrderedDict()
        self._task: asyncio.Task[None] | None = None

    def waiting(self, queue: str) -> int:
        return len(self._queues.get(queue, ()))

    def add(self, queue: str, work: Callable[[], bool], is_first: bool) -> "asyncio.Future[bool]":
        loop = asyncio.get_running_loop()
        done: asyncio.Future[bool] = loop.create_future()
        its = self._queues.setdefault(queue, deque())
        its.appendleft((work, done)) if is_first else its.append((work, done))
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())
        return done

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queues:
            queue, its = self._queues.popitem(last=False)
            work, done = its.popleft()
            if its:
                self._queues[queue] = its
            try:
                is_right = await loop.run_in_executor(self._thread, work)
            except Exception as error:  # noqa: BLE001 - raised where it is awaited; the next check takes its turn
                done.set_exception(error)
            else:
                done.set_result(is_right)
