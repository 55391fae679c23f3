"""HTML and SVG as text that is safe by the way it is made: whatever is no `Markup` is escaped.

Names and keys come from strangers. There is no other way to put a text on the page than through `tag`.
"""

from html import escape
from typing import Any


class Markup(str):
    """A text that is HTML already, for templates too."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element. Underscores in attributes are dashes, but for one at the end (`class_`); None leaves one out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{together(*children)}</{name}>")


def together(*children: Any) -> Markup:
    return Markup("".join(child if isinstance(child, Markup) else escape(str(child)) for child in children))
