"""The inbox's settings and channels: what can be configured, under which names, and how it is read."""
