"""The memory budget: how many bytes all requests that are being answered may take together, as values and not as text.

The size in memory is estimated from the bytes of a body, before anything is decoded: `{}` has two bytes and its dict
has 64. The estimate is about twice what was measured, never less. `Dispatcher` bounds the number of requests; this is
for few and large ones. All of it happens in the event loop.
"""

import asyncio

from conjoin.runtime.client_api.answers import Refusal

SMALL = 64 * 1024
"""Requests up to this size may use the whole budget: larger ones leave a quarter of it to them."""
_OBJECT, _EMPTY_OBJECT, _LIST, _VALUE, _PROPERTY, _DECIMAL = 200, 80, 90, 64, 80, 80
_XML_NODE = 600


def json_cost(text: bytes) -> int:
    """The size of decoded JSON in memory, with the text itself and one copy of it."""
    empties, values, properties = text.count(b"{}"), text.count(b",") + 1, text.count(b":")
    letters = text.count(b".") + text.count(b"e") + text.count(b"E")
    return (
        (text.count(b"{") - empties) * _OBJECT
        + empties * _EMPTY_OBJECT
        + text.count(b"[") * _LIST
        + values * _VALUE
        + properties * _PROPERTY
        # These letters are in texts, too; but there are no more numbers than values.
        + min(letters, values + properties) * _DECIMAL
        # A single character outside of ASCII makes a text four times as wide.
        + len(text) * (2 if text.isascii() else 5)
    )


def xml_cost(content: bytes) -> int:
    """The same for a model."""
    return content.count(b"<") * _XML_NODE + 3 * len(content)


class MemoryBudget:
    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        self.is_closed = False
        self._waiting: set[asyncio.Event] = set()

    def refusal(self, held: int, more: int) -> Refusal | None:
        """For a request that holds so many bytes and needs more. None: they fit now."""
        size = held + more
        most = self.most if size <= SMALL else self.most * 3 // 4
        if size > most:
            text = f"the request would take about {size:,} bytes of memory, and {most:,} are the most: send it in parts"
            return Refusal("TOO_LARGE", text)
        if self.taken + more > most:
            text = f"other requests take about {self.taken:,} bytes of memory already: try again in a moment"
            return Refusal("RESOURCE_EXHAUSTED", text)
        return None

    def change(self, by: int) -> None:
        self.taken += by
        if by < 0:
            self._wake()

    def close(self) -> None:
        """The server stops: nobody waits any more. A client that has left is not noticed while it is not read from."""
        self.is_closed = True
        self._wake()

    def _wake(self) -> None:
        for freed in self._waiting:
            freed.set()

    async def freed(self) -> None:
        """Waits until memory is released."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            await event.wait()
        finally:
            self._waiting.discard(event)


class Reservation:
    """The memory of one request, which is released at the end of the block."""

    __slots__ = ("_budget", "size")

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.size = 0

    def take(self, size: int) -> Refusal | None:
        """None: so many bytes more fit, and are reserved."""
        refusal = self._budget.refusal(self.size, size)
        if refusal is None:
            self._budget.change(size)
            self.size += size
        return refusal

    async def take_in_time(self, size: int, within_s: float) -> Refusal | None:
        """The same, with a timeout: it waits while others use all of the budget."""
        refusal = self.take(size)
        if refusal is None or refusal.code == "TOO_LARGE":
            return refusal
        try:
            async with asyncio.timeout(within_s):
                while refusal is not None and not self._budget.is_closed:
                    await self._budget.freed()
                    refusal = self.take(size)
        except TimeoutError:
            pass
        return refusal

    def shrink_to(self, size: int) -> None:
        if size < self.size:
            self._budget.change(size - self.size)
            self.size = size

    def __enter__(self) -> "Reservation":
        return self

    def __exit__(self, *raised: object) -> None:
        self.shrink_to(0)
