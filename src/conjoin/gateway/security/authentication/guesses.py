"""Who has given a wrong password, and how long they wait before the next one is looked at.

Counted for a name and an address together, so whoever guesses slows down nobody but themselves. What is remembered is
bounded, and forgotten by itself.
"""

import logging
from collections import OrderedDict
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

_LOG = logging.getLogger(__name__)
_FREE = 5
"""So many are looked at without a pause."""
_LONGEST_S = 60
_FORGOTTEN_S = 900.0
_MOST = 10_000


class Who(NamedTuple):
    """Who says to be somebody, and from where."""

    name: str
    address: str


class _Guess(NamedTuple):
    times: int
    until: float
    last: float


class Guesses:
    def __init__(self) -> None:
        self._tried: OrderedDict[Who, _Guess] = OrderedDict()

    def pause_s(self, who: Who, now: float) -> int:
        """0: it may be looked at."""
        tried = self._tried.get(who)
        return 0 if tried is None or tried.until <= now else int(tried.until - now) + 1

    def failed(self, who: Who, now: float, is_known: bool) -> None:
        tried = self._tried.pop(who, None)
        count = 1 if tried is None or now - tried.last > _FORGOTTEN_S else tried.times + 1
        pause_s = 0 if count < _FREE else min(2 ** min(count - _FREE, 10), _LONGEST_S)
        self._tried[who] = _Guess(count, now + pause_s, now)
        if len(self._tried) > _MOST:
            self._tried.popitem(last=False)
        if count & (count - 1) == 0:
            # What was typed as a name may be a password, so only names that are known are written down.
            named = repr(who.name[:80]) if is_known else "a name that is not known"
            _LOG.warning("wrong password for %s from %s, %d in a row", named, who.address or "?", count)

    def succeeded(self, who: Who) -> None:
        self._tried.pop(who, None)


def network_of(address: str) -> str:
    """An address, or of IPv6 the network of 64 bits, in which one machine may take any."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if not isinstance(found, IPv6Address):
        return str(found)
    return str(found.ipv4_mapped) if found.ipv4_mapped else f"{IPv6Address(int(found) >> 64 << 64)}/64"
