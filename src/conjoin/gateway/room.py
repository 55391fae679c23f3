"""Room for requests: how many bytes of them may be in memory at a time. Whoever does not fit is told to come again.

Requests are counted by `Asking`; this is for those that are few and large.
"""

from conjoin.runtime.answers import Refusal


class Room:
    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0

    def no_room(self) -> Refusal:
        text = f"requests of more than {self.most:,} bytes are waiting already: try again in a moment"
        return Refusal("RESOURCE_EXHAUSTED", text)


class Share:
    """What one request takes; all of it is given back at the end of the block."""

    __slots__ = ("_room", "_size")

    def __init__(self, room: Room) -> None:
        self._room = room
        self._size = 0

    def take(self, size: int) -> Refusal | None:
        """None: there is room for so many bytes more."""
        room = self._room
        if room.taken + size > room.most:
            return room.no_room()
        room.taken += size
        self._size += size
        return None

    def __enter__(self) -> "Share":
        return self

    def __exit__(self, *raised: object) -> None:
        self._room.taken -= self._size
