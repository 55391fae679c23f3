"""Values as they are shown, in text and as JSON: instants and keys as text, records as mappings. Nothing is decided.

An instant is known by its name, which ends in `_at`; the key of a record by the shard in it. Keys outgrow the numbers
that jq and JavaScript keep exact. Variables are the client's, and stay as they are.
"""

from collections.abc import Mapping
from typing import Any

from conjoin.kernel.instants import NEVER
from conjoin.kernel.keys import shard_of_key
from conjoin.times.iso8601 import instant_text


def to_plain(value: Any) -> Any:
    """The same value with every instant and every key in it as text."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: _named(name, it) for name, it in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(it) for it in value]
    return str(value) if type(value) is int and shard_of_key(value) >= 0 else value


def _named(name: str, value: Any) -> Any:
    if name == "variables":
        return value
    if name.endswith("_at") and isinstance(value, int):
        return "never" if value >= NEVER else instant_text(value)
    return to_plain(value)
