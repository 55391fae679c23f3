"""Notices: receivers named in the settings learn what expired, was discarded, was parked or raised an incident.

Each is sent at least once, always under the same id, so that a receiver that keeps ids processes it exactly once. How
far a receiver has been notified is stored only after it has accepted: one that is down loses nothing.
"""

from conjoin.runtime.notices.notifier import NoticeRound, Notifier
from conjoin.runtime.notices.receivers import Receiver, read_receivers

__all__ = ["Notifier", "Receiver", "NoticeRound", "read_receivers"]
