"""The text of an error, cut to what is kept of it.

Of a text that is too long its head stays, and of the chain of causes behind it (lines that begin with `Caused by:`)
the last ones, as the root of the trouble is there. Never longer than the limit.
"""

CAUSE = "Caused by:"
_CUT = "\n...\n"


def cut_text(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = max(limit // 2, limit - len(_CUT) - sum(len(line) + 1 for _, line in _causes(text)))
    causes = "\n".join(line for at, line in _causes(text) if at >= head)
    room = limit - head - len(_CUT)
    if not causes or room <= 0:
        return text[:limit]
    return text[:head] + _CUT + causes[-room:]


def _causes(text: str) -> list[tuple[int, str]]:
    """The lines of the chain, each with its place in the text."""
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith(CAUSE):
            found.append((at, line.strip()))
        at += len(line)
    return found
