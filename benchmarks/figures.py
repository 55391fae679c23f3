"""Writes the tables of figures in README.md and docs/ from benchmarks/results: nobody types a figure twice.

    python -m benchmarks.figures          writes them
    python -m benchmarks.figures --check  fails where a page says something else than the results

A part of a page that is written here stands between `<!-- figures: NAME -->` and `<!-- /figures -->`.
"""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.broker.__main__ import table as broker_table
from benchmarks.broker.hot import table
from benchmarks.explain.tally import table as explain_table
from benchmarks.kernel import table as kernel_table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = (ROOT / "README.md", ROOT / "docs" / "performance.md", ROOT / "docs" / "explain.md")
_PART = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- /figures -->)", re.DOTALL)

Results = dict[str, Any]


def bulk_joins(results: Results) -> str:
    """correlate against the joins, one line each."""
    lines = [
        "| 2 cores, the day of `make run` | wall s | CPU s | events/s | against the rank-join | against the peer |",
        "|---|---|---|---|---|---|",
    ]
    for row in results["joins"]:
        ratios = [f"{row[f'to {other}']['cpu_s']} ({row[f'to {other}']['wall_s']})" for other in ("rank-join", "peer")]
        what = f"{row['events']:,} events: {row['what']}"
        lines.append(f"| {what} | {row['wall_s']} | {row['cpu_s']} | {row['events_per_s']:,} | {' | '.join(ratios)} |")
    return "\n".join([*lines, "", _from(results)])


def bulk_mixes(results: Results) -> str:
    """Mixes, each against the first."""
    lines = [
        "| mix | events | CPU µs an event | against the first | rows that shared an answer | worker peak |",
        "|---|---|---|---|---|---|",
    ]
    for row in results["mixes"]:
        ratio = f"{row['to the example']['cpu_us']} ({row['to the example']['wall_us']})"
        figures = f"{row['events']:,} | {row['cpu_us']} | {ratio} | {row['shared']:.0%} | {row['worker_peak_mib']} MiB"
        lines.append(f"| {row['what']} | {figures} |")
    return "\n".join([*lines, "", _from(results)])


def bulk_near(results: Results) -> str:
    """With near misses on other keys and without."""
    lines = ["| 3% of the keys have a slip | events | CPU µs an event | found |", "|---|---|---|---|"]
    for row in results["near"]:
        lines.append(f"| {row['what']} | {row['events']:,} | {row['cpu_us']} | {sum(row['near'].values()):,} |")
    return "\n".join(lines)


def bulk_cold(results: Results) -> str:
    """`make run` after set-up."""
    took = [row["wall_s"] for row in results["cold"]]
    return (
        f"`make run` after set-up, 200,000 events, a JVM started for it: {took[len(took) // 2]} s of wall time,"
        f" the median of {len(took)} ({took[0]} to {took[-1]})."
    )


def bulk_line(results: Results) -> str:
    """One sentence for README."""
    row = max((row for row in results["joins"] if row["what"] == "correlate"), key=lambda row: row["events"])
    join, peer = row["to rank-join"]["cpu_s"], row["to peer"]["cpu_s"]
    return (
        f"- **Tables**: `correlate` on Spark (`local[2]`), all eight outputs written, takes {row['events']:,} events\n"
        f"  at {row['events_per_s']:,} events/s: {join} times the rate of a bare rank-join without any rules on\n"
        f"  the same tables, and {peer} times that of hand-written Spark that delivers such tables, by CPU time"
        " (`make bench-bulk`)."
    )


def pipeline_streaming(results: Results) -> str:
    """Streaming correlate, with all buckets touched and with few."""
    found = results["streaming"]
    all_, few = found["all"], found["few"]
    what = {f"all {all_['buckets']} buckets touched": all_, f"{few['buckets']} of {all_['buckets']} touched": few}
    lines = ["| a batch | s | CPU s | rows/s | state | worker peak |", "|---|---|---|---|---|---|"]
    for name, row in what.items():
        about = f"{row['rows']:,} rows over {row['open']:,} open, {name}"
        figures = f"{row['wall_s']} | {row['cpu_s']} | {row['rows_per_s']:,} | {row['state_mb']} MB"
        lines.append(f"| {about} | {figures} | {row['worker_peak_mib']} MiB |")
    return "\n".join([*lines, "", f"Commit `{found['commit']}`."])


def pipeline_stores(results: Results) -> str:
    """Files and Kafka into a store against the broker alone."""
    found = results["stores"]
    broker, files = found["broker"], found["files"]
    lines = [
        f"| {found['messages']:,} messages, {found['open']:,} open instances | messages/s | CPU µs a message | ratio |"
    ]
    lines.append("|---|---|---|---|")
    against = {"the broker alone": None, "files, on Spark": broker, "Kafka, on Spark": files}
    whose = {"files, on Spark": "the broker's", "Kafka, on Spark": "that of files"}
    for (what, other), row in zip(against.items(), (broker, files, found.get("kafka")), strict=True):
        if row is not None:
            ratio = "" if other is None else f"{row['rate'] / other['rate']:.2f} of {whose[what]}"
            lines.append(f"| {what} | {row['rate']:,.0f} | {row['cpu_us']:.0f} | {ratio} |")
    return "\n".join([*lines, "", f"Commit `{found['commit']}`."])


def hot(results: Results) -> str:
    """Hot keys, beside unrelated publishes."""
    return f"{table(results)}\n\nCommit `{results['commit']}`."


def broker(results: Results) -> str:
    """The durable broker against the baseline."""
    return broker_table(results)


def kernel(results: Results) -> str:
    """The engine in memory."""
    return f"{kernel_table(results)}\n\nCommit `{results['commit']}`."


def broker_line(results: Results) -> str:
    """One sentence for README."""
    (rate, ratio), (other_rate, other_ratio) = (
        (its["batches"]["rate"], its["batches"]["ratio"]) for its in results["stores"].values()
    )
    return (
        f"- **Broker**: {rate:,} messages/s on SQLite and {other_rate:,} on PostgreSQL in batches of 1,000 with\n"
        f"  {results['open']:,} open instances, {ratio} and {other_ratio} of a hand-made table without rules\n"
        "  (`make bench-broker`)."
    )


def _from(results: Results) -> str:
    return f"Ratios of rates by CPU time, in brackets by wall time. Commit `{results['commit']}`."


WRITERS: dict[str, tuple[str, Callable[[Results], str]]] = {
    "bulk_joins": ("bulk.json", bulk_joins),
    "bulk_mixes": ("bulk.json", bulk_mixes),
    "bulk_cold": ("bulk.json", bulk_cold),
    "bulk_near": ("bulk.json", bulk_near),
    "pipeline_stores": ("pipeline.json", pipeline_stores),
    "pipeline_streaming": ("pipeline.json", pipeline_streaming),
    "hot": ("hot.json", hot),
    "bulk_line": ("bulk.json", bulk_line),
    "broker": ("broker.json", broker),
    "kernel": ("kernel.json", kernel),
    "broker_line": ("broker.json", broker_line),
    "explain": ("explain.json", explain_table),
}


def with_figures(text: str) -> str:
    def written(part: re.Match[str]) -> str:
        file, write = WRITERS[part[2]]
        return f"{part[1]}{write(json.loads((RESULTS / file).read_text()))}\n{part[3]}"

    return _PART.sub(written, text)


def main() -> int:
    stale = []
    for page in PAGES:
        text = page.read_text()
        if (new := with_figures(text)) != text:
            stale.append(page.relative_to(ROOT))
            if "--check" not in sys.argv:
                page.write_text(new)
    for page in stale:
        print(f"{page}: {'does not say what the results say' if '--check' in sys.argv else 'written'}")
    return int("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
