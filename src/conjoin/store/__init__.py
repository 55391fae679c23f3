"""What is durable: one port, with SQLite for one machine and PostgreSQL for more.

It carries rows and decides nothing.
"""

from conjoin.store.opening import create_store, open_store

__all__ = ["create_store", "open_store"]
