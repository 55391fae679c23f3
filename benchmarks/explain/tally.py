"""What was planted and what was said of it, counted by kind."""

from collections.abc import Iterable
from typing import Any, NamedTuple

NOTHING = "nothing near"


class Judged(NamedTuple):
    """`place`: store, tables or inbox. `right`: the true cause came first; where nothing was near, nothing was said."""

    place: str
    keys: str
    slip: str
    crowd: int
    right: bool
    told: str
    """What came first instead, for those who look for the reason."""
    took_ms: float = 0.0


def figures(judged: Iterable[Judged]) -> dict[str, Any]:
    """Shares in percent, by place, by slip and by kind of keys; those where nothing was near apart."""
    every = list(judged)
    planted = [it for it in every if it.slip != NOTHING]
    empty = [it for it in every if it.slip == NOTHING]
    places = list(dict.fromkeys(it.place for it in every))
    return {
        "planted": len(planted),
        "nothing_near": len(empty),
        "places": {
            place: {
                "true cause first": _share(it for it in planted if it.place == place),
                "advice where nothing is near": _wrong(it for it in empty if it.place == place),
                "planted": sum(it.place == place for it in planted),
                "nothing near": sum(it.place == place for it in empty),
                "p50_ms": percentile([it.took_ms for it in every if it.place == place], 50),
                "p99_ms": percentile([it.took_ms for it in every if it.place == place], 99),
            }
            for place in places
        },
        "slips": {slip: _by_place(planted, places, "slip", slip) for slip in _kinds(planted, "slip")},
        "keys": {kind: _by_place(planted, places, "keys", kind) for kind in _kinds(planted, "keys")},
        "crowds": {str(crowd): _by_place(planted, places, "crowd", crowd) for crowd in _kinds(planted, "crowd")},
        "advice by keys": {
            kind: {place: _wrong(it for it in empty if (it.place, it.keys) == (place, kind)) for place in places}
            for kind in _kinds(empty, "keys")
        },
    }


def _kinds(judged: Iterable[Judged], field: str) -> list[Any]:
    return sorted({getattr(it, field) for it in judged})


def _by_place(judged: Iterable[Judged], places: Iterable[str], field: str, value: Any) -> dict[str, float | None]:
    some = [it for it in judged if getattr(it, field) == value]
    return {place: _share(it for it in some if it.place == place) for place in places}


def _share(judged: Iterable[Judged]) -> float | None:
    right = [it.right for it in judged]
    return round(100 * sum(right) / len(right), 1) if right else None


def _wrong(judged: Iterable[Judged]) -> float | None:
    share = _share(judged)
    return None if share is None else round(100 - share, 1)


def percentile(values: list[float], share: int) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, len(ordered) * share // 100)], 1) if ordered else 0.0


def table(results: dict[str, Any]) -> str:
    """What the page shows, in Markdown."""
    places = results["places"]
    lines = [f"| | {' | '.join(places)} |", "|---|" + "---|" * len(places)]
    for what in ("true cause first", "advice where nothing is near"):
        lines.append(f"| **{what}** | " + " | ".join(f"{_text(it[what])}" for it in places.values()) + " |")
    counts = (f"{it['planted']:,} and {it['nothing near']:,}" for it in places.values())
    lines.append(f"| planted, and where nothing was near | {' | '.join(counts)} |")
    for slip, shares in results["slips"].items():
        lines.append(f"| {slip} | {' | '.join(_text(shares[place]) for place in places)} |")
    lines += ["", f"Seed {results['seed']}, commit `{results['commit']}`."]
    took = results.get("million")
    if took:
        lines[-1] += (
            f" Among a million who wait, `explain` took {took['cpu_p50_ms']} ms of CPU time in the middle and"
            f" {took['cpu_p99_ms']} ms at the 99th percentile ({took['wall_p50_ms']} and {took['wall_p99_ms']} ms of"
            " wall time on a machine that others used, too)."
        )
    return "\n".join(lines)


def _text(share: float | None) -> str:
    return "" if share is None else f"{share:g}%"
