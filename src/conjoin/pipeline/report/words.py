"""How figures are said: instants, durations, codes and names, and the advice that follows from the gaps."""

from itertools import pairwise

from conjoin.kernel.verdicts.sentences import duration
from conjoin.pipeline.report.figures import AGES_MS, LADDER_MS, LostFigures, Name, Waited
from conjoin.times.iso8601 import instant_text

ENOUGH = 0.9
"""The shortest time to live is advised that saves so many of those that the longest would save."""
ARRIVED = {
    "lost": "one arrived and was lost: publish it again",
    "kept": "one is kept, but not for this instance",
    "taken": "one arrived, and was taken before",
    "other_key": "one arrived with almost this key",
    "nothing": "nothing arrived",
}


def shown_at(us: int) -> str:
    """To the minute, in UTC."""
    return instant_text(us)[:16].replace("T", " ")


def shown_name(name: Name) -> str:
    return "other names" if name is None else name


def shown_code(code: str) -> str:
    """A verdict or reason, to be read."""
    return code.replace("_", " ")


def shown_ages() -> list[str]:
    edges = [duration(edge) for edge in AGES_MS]
    between = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [f"under {edges[0]}", *between, f"over {edges[-1]}"]


def advised(lost: LostFigures) -> tuple[int, int] | None:
    """The shortest time to live that saves enough, and how many it saves; None if none does anything."""
    if not lost.saved[-1]:
        return None
    place = next(place for place, saved in enumerate(lost.saved) if saved >= ENOUGH * lost.saved[-1])
    return LADDER_MS[place], lost.saved[place]


def advice(lost: LostFigures) -> str:
    said = f"{_quoted(lost.name)}: {lost.messages:,} lost."
    found = advised(lost)
    if found is None:
        return f"{said} Nobody is known to have waited for one of them later: no time to live would have saved any."
    ttl_ms, saved = found
    had = f"half of them had {duration(lost.had_ms)} or less"
    return f"{said} A time to live of {duration(ttl_ms)} would have saved at least {saved:,} of them; {had}."


def patience(waited: Waited) -> str:
    return (
        f"{_quoted(waited.name)}: {waited.messages:,} came early, were kept and taken; half of them within"
        f" {duration(waited.median_ms)}, 95% within {duration(waited.most_ms)}, the last after"
        f" {duration(waited.longest_ms)}."
    )


def _quoted(name: Name) -> str:
    return shown_name(name) if name is None else f"'{name}'"
