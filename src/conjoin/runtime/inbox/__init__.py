"""The inbox on a store: messages that come in batches are kept, tried, retried and looked after.

The rules are the kernel's (`kernel/inbox`); here are the rows they are kept in, the requests to a shard that carry them
out, and whoever asks for those: `inbox.py` for people and servers, `runner.py` for runs, `schedule.py` for the clock.
For our own engine an attempt and what it came to are one commit.
"""
