"""Bodies of JSON lines, read while they are processed: a few lines at a time, each of them whole.

What a connection holds is taken from the one memory budget for lines, its answers too; while others have all of it,
nothing more is read. A line has a size and a timeout, so nobody holds memory for long with one that never ends.
"""

import asyncio
from collections.abc import AsyncGenerator
from time import monotonic

from starlette.requests import Request

from conjoin.gateway.http import reading
from conjoin.gateway.http.problems import HttpProblem, refused
from conjoin.gateway.memory_budget import MemoryBudget, Reservation, json_cost

NDJSON = "application/x-ndjson"
AT_ONCE = 1_000
"""Lines; fewer, if they are long."""
MOST_LINES = 100_000
MOST_LINE_BYTES = reading.MOST_BYTES
MOST_STREAM_BYTES = 256 * 1024 * 1024
_COST_AT_ONCE = 4 * 1024 * 1024
LONGEST_WAIT_S = 10.0
"""For memory that others have, from one batch of lines to the next."""
Numbered = list[tuple[int, bytes]]


class _Held:
    """A connection's share of the budget. It waits for more of it, but not for long while it keeps what it has."""

    def __init__(self, reservation: Reservation) -> None:
        self._reservation = reservation
        self._waited_s = 0.0

    async def take(self, size: int) -> None:
        began = monotonic()
        refusal = await self._reservation.take_in_time(size, LONGEST_WAIT_S - self._waited_s)
        self._waited_s += monotonic() - began
        if refusal is not None:
            raise refused(refusal)

    def give_back(self, size: int) -> None:
        self._reservation.shrink_to(max(self._reservation.size - size, 0))
        self._waited_s = 0.0


async def line_batches(
    request: Request, budget: MemoryBudget, most_lines: int = MOST_LINES
) -> AsyncGenerator[Numbered]:
    """Lines with their numbers, without blank ones. Their memory is released when the next batch is requested."""
    waiting: Numbered = []
    cost = 0
    with Reservation(budget) as reservation:
        held = _Held(reservation)
        lines = _Lines(request, held, most_lines)
        async for number, line in lines.all():
            its = json_cost(line)
            await held.take(its)
            waiting.append((number, line))
            cost += its
            if len(waiting) == AT_ONCE or cost >= _COST_AT_ONCE:
                yield waiting
                waiting, cost = [], 0
                held.give_back(reservation.size - lines.unread)
        if waiting:
            yield waiting


class _Lines:
    """The lines of one body. `unread`: bytes that were received and are in no line yet."""

    def __init__(self, request: Request, held: _Held, most: int) -> None:
        self._request, self._held, self._most = request, held, most
        self._pieces: list[bytes] = []
        self._number = 0
        self.unread = 0

    async def all(self) -> AsyncGenerator[tuple[int, bytes]]:
        began, size = monotonic(), 0
        async for chunk in reading.chunks(self._request, MOST_STREAM_BYTES):
            await self._held.take(len(chunk))
            self.unread += len(chunk)
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                if line := self._ended(end, size):
                    yield self._number, line
                size = 0
            began = monotonic() if ends else began
            size += len(rest)
            self._pieces.append(rest)
            self._check(size, began)
        if size and (last := self._ended(b"", size)):
            yield self._number, last

    def _ended(self, end: bytes, size: int) -> bytes:
        self._check(size + len(end), monotonic())
        line = b"".join((*self._pieces, end))
        self._pieces.clear()
        self.unread -= len(line) + 1
        self._number += 1
        if self._number > self._most:
            raise _too_much(f"There are more than {self._most:,} lines: send the others in another request")
        return line if line and not line.isspace() else b""

    def _check(self, size: int, began: float) -> None:
        if size > MOST_LINE_BYTES:
            raise _too_much(f"Line {self._number + 1} is longer than {MOST_LINE_BYTES:,} bytes")
        if monotonic() - began > reading.LONGEST_BODY_S:
            raise reading.too_slow()


def _too_much(detail: str) -> HttpProblem:
    return HttpProblem(413, "TOO_LARGE", detail, {"Connection": "close"})


class LineAnswers:
    """Lines for a client, kept until it reads them. They count as memory: if it never reads, it is not read from."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._reservation = Reservation(budget)
        self._held = _Held(self._reservation)
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def put(self, lines: bytes) -> None:
        await self._held.take(len(lines))
        self._lines.put_nowait(lines)

    def end(self, last: bytes = b"") -> None:
        if last:
            self._lines.put_nowait(last)
        self._lines.put_nowait(None)

    async def all(self) -> AsyncGenerator[bytes]:
        with self._reservation:
            while (lines := await self._lines.get()) is not None:
                yield lines
                self._held.give_back(len(lines))
