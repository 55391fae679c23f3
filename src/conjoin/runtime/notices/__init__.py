"""Notices: whoever is named in the settings is told of what expired, was discarded, parked or raised an incident.

Told at least once, each time under the same id, so that a receiver that notes ids is told exactly once. What was told
is noted in the store, and only after the receiver has said yes: a receiver that is down loses nothing.
"""

from conjoin.runtime.notices.configuration import Receiver, read_receivers
from conjoin.runtime.notices.notifier import NoticeRound, Notifier

__all__ = ["Notifier", "Receiver", "NoticeRound", "read_receivers"]
