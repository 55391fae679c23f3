"""Where subscriptions are written: in the row of their instance, at home, or apart, in a row of their own.

At home is a subscription that is the only open one there, on a correlation key on which few wait; nothing is on its way
to it, since a delivery on its own shard is answered in the same run. One that stands apart stays there. The last one
closed of its name stays where it was, if there is room for it. Which of the two it is makes no difference to any rule.
"""

from typing import Final

from conjoin.kernel.correlation import Subscription
from conjoin.kernel.correlation.events import SubscriptionClosed
from conjoin.runtime.codec.instance_waits import InstanceWaits
from conjoin.runtime.codec.key_spaces import Loaded
from conjoin.runtime.engine.key_spaces import Place
from conjoin.runtime.run.working_set.loaded_instances import LoadedState

FEW: Final = 8
"""A key with more subscriptions has the others apart: an instance is read as a whole with the key that it is on."""
_Leaving = tuple[str, SubscriptionClosed]
"""With its correlation key."""


class HomeWaits:
    def __init__(self, state: LoadedState) -> None:
        self._state = state
        self.changed: dict[int, InstanceWaits] = {}
        """By the key of the instance."""

    def take_out(self, loaded: Loaded, key: int) -> bool:
        """A subscription, open or kept, is at home no more. Was it?"""
        instance_key = loaded.at_home.get(key)
        if instance_key is None:
            return False
        waits = self._of(instance_key)
        assert waits is not None, "whoever stands at home was read with its row"
        if waits.open_key == key:
            waits.open_key = 0
        else:
            waits.closed = {name: it for name, it in waits.closed.items() if it.subscription.key != key}
        self.changed[instance_key] = waits
        return True

    def open(self, place: Place, subscription: Subscription, loaded: Loaded) -> list[_Leaving] | None:
        """It stands at home from now on; None: there is no room. Those on another key have to leave, each with it."""
        waits = self._of(subscription.instance_id)
        if waits is None or len(loaded.space.subscriptions) > FEW or waits.open_key not in (0, subscription.key):
            return None
        leaving: list[_Leaving] = []
        if waits.on is not None and waits.on != place[1]:
            leaving = [(waits.on, closed) for closed in waits.closed.values()]
            waits.closed = {}
        waits.open(place[1], subscription)
        self.changed[subscription.instance_id] = waits
        return leaving

    def keep(self, place: Place, closed: SubscriptionClosed) -> bool:
        """The last one closed of its name. False: there is no room."""
        key = closed.subscription.instance_id
        waits = self._of(key)
        if waits is None or not waits.has_room_for_closed(closed.subscription.name, place[1]):
            return False
        waits.keep(place[1], closed)
        self.changed[key] = waits
        return True

    def _of(self, key: int) -> InstanceWaits | None:
        """None: the instance lives on another shard."""
        found = self.changed.get(key)
        if found is not None:
            return found
        row = self._state.rows.get(key)
        return None if row is None and key not in self._state.live else InstanceWaits(row)
