"""The inbox on a store: messages that come in batches are kept, tried, retried and operated on.

The rules are the kernel's (`kernel/inbox`); here are the rows they are kept in, the requests to a shard (carried out in
`on_shard/`), and what sends those: `inbox.py` for operators and servers, `runner.py` for runs, `schedule.py` for the
clock. For our own engine an attempt and its outcome are one commit.
"""
