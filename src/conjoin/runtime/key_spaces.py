"""The key spaces of a shard, and how little is kept of those at rest.

Most keys have one waiting element and nothing else, and there may be a million of them: such a key is kept as its
subscription alone, and made whole again when it is needed. What happened lately stays whole, so that an explanation
can say who stopped waiting a moment ago. Nothing of what the rules decide is lost by it.
"""

from collections.abc import Iterator

from conjoin.kernel.correlation import KeySpace, Subscription
from conjoin.kernel.correlation.apply import APPLY
from conjoin.kernel.correlation.events import SubscriptionOpened

Place = tuple[str, str]
"""Tenant and correlation key."""

LATELY = 500
"""At least so many key spaces, and at most twice as many, stay whole after they were last touched."""

_MOST_SPARE = 1_000
_open = APPLY[SubscriptionOpened]


class KeySpaces:
    __slots__ = ("_earlier", "_places", "_recent", "_spare")

    def __init__(self) -> None:
        self._places: dict[Place, KeySpace | Subscription] = {}
        self._recent: dict[Place, None] = {}
        self._earlier: dict[Place, None] = {}
        self._spare: list[KeySpace] = []

    def at(self, place: Place) -> KeySpace:
        found = self._places.get(place)
        if isinstance(found, KeySpace):
            return found
        if self._spare:
            space = self._spare.pop()
            space.tenant_id, space.key = place
        else:
            space = KeySpace(*place)
        self._places[place] = space
        if found is not None:
            _open(space, SubscriptionOpened(found, found.opened_at))
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

    def settle(self, place: Place) -> None:
        """Nothing happens there any more for now. What was not touched for long is put to rest, many at a time."""
        self._recent[place] = None
        if len(self._recent) > LATELY:
            for earlier in self._earlier:
                if earlier not in self._recent:
                    self._put_to_rest(earlier)
            self._earlier, self._recent = self._recent, {}

    def _put_to_rest(self, place: Place) -> None:
        space = self._places[place]
        if not isinstance(space, KeySpace) or space.locks or len(space.subscriptions) > 1:
            return
        for topic in space.topics.values():
            if topic.ids or topic.held or len(topic.messages) > topic.gone:
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
