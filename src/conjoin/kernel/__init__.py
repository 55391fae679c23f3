"""The kernel: every rule of message correlation, once, as pure functions.

It looks at nothing but its arguments: time and keys arrive with the command, nothing is read from a clock, a
file or a random source. Invariant: the same commands in the same order give the same events everywhere.
"""
