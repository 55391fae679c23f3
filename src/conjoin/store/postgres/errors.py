"""What the words and codes of PostgreSQL mean, and what to do about it."""

import psycopg

from conjoin.errors import StoreFailed

_TOO_MANY = "the server takes no more connections; raise its max_connections or try again"
_STARTING = "the server is just starting or stopping; try again in a moment"
_LET_IN = "the server does not let this user in; look at the user and the password of the address (or PGPASSWORD)"
MEANINGS = {
    "53100": "the disk of the server is full, and nothing of this was written; make room and try again",
    "53200": "the server has no memory left; give it more or try again",
    "53300": _TOO_MANY,
    "25006": "the server takes no writes; name the primary one",
    "42501": "this user may not do that; give it the right to",
    "57P01": _STARTING,
    "57P02": _STARTING,
    "57P03": _STARTING,
    "58030": "the disk of the server cannot be read or written; look at it and try again",
}
"""By the code of an error."""
DAMAGED = ("XX001", "XX002", "3F000", "42P01", "42703")
"""A damaged page or index; and a schema, table or column that is not there any more."""
_AT_THE_DOOR = (
    ("password", _LET_IN),
    ("pg_hba.conf", _LET_IN),
    ("authentication", _LET_IN),
    ('role "', "the server does not know this user; name another one in the address, or create it"),
    (
        'database "',
        "the server has no such database: create it, then make a store with conjoin store init --store",
    ),
    ("too many", _TOO_MANY),
    ("connection slots", _TOO_MANY),
    ("starting up", _STARTING),
    ("shutting down", _STARTING),
    ("recovery mode", _STARTING),
    ("translate host", "there is no server of that name; look at the address"),
    ("", "the server does not answer; look whether it runs, and at the address"),
)
"""What is said to one who is not connected yet has no code: the first whose words are in it counts."""

_OF_THE_ITEM = ("22", "23", "54")
"""Classes of codes: a value it cannot take, one that breaks a rule of a table, one beyond a limit of the server."""


def is_of_the_item(error: psycopg.Error) -> bool:
    """What was to be written cannot be, now or later; whatever else is to be written can."""
    return (error.sqlstate or "")[:2] in _OF_THE_ITEM


def not_connected(place: str, error: psycopg.OperationalError) -> StoreFailed:
    """The words of the server stay beside ours; they never hold the password."""
    said = " ".join(str(error).rpartition("FATAL:")[2].split())
    meaning = next(meaning for words, meaning in _AT_THE_DOOR if words in said)
    return StoreFailed(f"{place}: {meaning} ({said})")
