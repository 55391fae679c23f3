"""Texts that clients make, as an index of PostgreSQL holds them: by `short_text`, a function of the schema.

A row of an index has room for about 2,700 bytes, a key or a name may have 131,072. `short_text` is a text itself up to
100 characters, and else its beginning and its digest: different for different texts. An index is used where a
statement asks in its words, so every statement that looks such a text up is written plainly and goes through here.
"""

import re

SHORT_TEXT = "short_text"
COLUMNS = frozenset(
    {
        *("tenant_id", "correlation_key", "name", "message_id", "business_id", "process_id", "type"),
        *("channel", "group_key", "source", "part"),
    }
)
"""In no index does one of these stand as it is."""
_COMPARED = re.compile(rf"((?:\b\w\.)?\b(?:{'|'.join(sorted(COLUMNS))})) ([=>]) (%s|many\.value|gone\.\w+)")


def short(column: str) -> str:
    """A column as it stands in an index."""
    return f"{SHORT_TEXT}({column})" if column.rpartition(".")[2] in COLUMNS else column


def asked_short(statement: str) -> str:
    """The statement with each such column compared by its short text."""
    return _COMPARED.sub(rf"{SHORT_TEXT}(\1) \2 {SHORT_TEXT}(\3)", statement)
