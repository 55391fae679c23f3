"""Replay: the log carried out again, by other code, and compared with what the store holds."""
