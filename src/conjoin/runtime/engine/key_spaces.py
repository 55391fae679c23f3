"""The key spaces of a shard, and how little is kept of those at rest.

Most keys have one waiting element and nothing else, and there may be a million of them: such a key is kept as its
subscription alone, and made whole again when it is needed. What happened lately stays whole, so that an explanation
can say who stopped waiting a moment ago. Nothing of what the rules decide is lost by it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

from conjoin.kernel.correlation import KeySpace, Subscription

Place = tuple[str, str]
"""Tenant and correlation key."""

LATELY = 500
"""At least so many key spaces, and at most twice as many, stay whole after they were last touched."""

_MOST_SPARE = 1_000


class SpaceStore(ABC):
    """Where a shard finds its key spaces."""

    __slots__ = ()

    @abstractmethod
    def at(self, place: Place) -> KeySpace:
        """That of a tenant and a correlation key, which may be empty."""

    @abstractmethod
    def settle(self, touched: Mapping[Place, KeySpace]) -> None:
        """Nothing happens there any more for now."""


class KeySpaces(SpaceStore):
    __slots__ = ("_earlier", "_places", "_recent", "_spare")

    def __init__(self) -> None:
        self._places: dict[Place, KeySpace | Subscription] = {}
        self._recent: dict[Place, KeySpace] = {}
        self._earlier: dict[Place, KeySpace] = {}
        self._spare: list[KeySpace] = []

    def at(self, place: Place) -> KeySpace:
        found = self._places.get(place)
        if type(found) is KeySpace:
            return found
        if self._spare:
            space = self._spare.pop()
            space.tenant_id, space.key = place
        else:
            space = KeySpace(*place)
        self._places[place] = space
        if found is not None:
            space.add_subscription(found)
        return space

    def subscriptions(self) -> Iterator[tuple[Place, Subscription]]:
        for place, found in self._places.items():
            if isinstance(found, Subscription):
                yield place, found
            else:
                for subscription in found.subscriptions.values():
                    yield place, subscription

    def whole(self) -> Iterator[tuple[Place, KeySpace]]:
        """Those that hold more than one subscription, or did lately."""
        for place, found in self._places.items():
            if isinstance(found, KeySpace):
                yield place, found

    def settle(self, touched: Mapping[Place, KeySpace]) -> None:
        """What was not touched for long is put to rest, many at a time."""
        recent = self._recent
        recent.update(touched)
        if len(recent) > LATELY:
            for place, space in self._earlier.items():
                if place not in recent:
                    self._put_to_rest(place, space)
            self._earlier, self._recent = recent, {}

    def _put_to_rest(self, place: Place, space: KeySpace) -> None:
        """Keep only its subscription, if it has no more than one, to which nothing is on its way."""
        if space.locks or len(space.subscriptions) > 1:
            return
        for topic in space.topics.values():
            if topic.ids or topic.held or (topic.messages and len(topic.messages) > topic.gone):
                return
        for subscription in space.subscriptions.values():
            if subscription.busy_with is not None:
                return
            self._places[place] = subscription
            break
        else:
            del self._places[place]
        if len(self._spare) < _MOST_SPARE:
            space.clear("")
            self._spare.append(space)
