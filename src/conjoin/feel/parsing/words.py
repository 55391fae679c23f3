"""Names of several words: FEEL has them for built-in functions, types and properties; variables need backticks."""

from collections.abc import Iterable, Mapping

from conjoin.feel.parsing.cursor import Cursor

PROPERTY_NAMES: Mapping[str, str] = {name: name for name in ("time offset", "start included", "end included")}

TYPE_NAMES: Mapping[str, str] = {
    **{name: name for name in ("number", "string", "boolean", "date", "time", "list", "context", "function", "Any")},
    **dict.fromkeys(("date time", "date and time"), "date and time"),
    **dict.fromkeys(("day-time-duration", "days and time duration"), "days and time duration"),
    **dict.fromkeys(("year-month-duration", "years and months duration"), "years and months duration"),
    "range": "range",
}

_MOST_WORDS = 5


def longest(cursor: Cursor, names: Iterable[str], followed_by: str = "") -> str | None:
    """The longest of the names that the next tokens spell, taken; None, and nothing taken, if they spell none.

    A word may be a keyword (`date and time`) or a dash; `followed_by` is the symbol that has to come next.
    """
    words, found, length = [""], None, 0
    for distance in range(_MOST_WORDS):
        token = cursor.ahead(distance)
        if token.kind not in ("name", "keyword") and token.value != "-":
            break
        words.append(token.value)
        spelled = " ".join(words[1:]).replace(" - ", "-")
        if spelled in names and (not followed_by or cursor.ahead(distance + 1).value == followed_by):
            found, length = spelled, distance + 1
    cursor.position += length
    return found
