"""conjoin spark report: one page about the messages of a store, with plots, advice and all numbers."""

from pathlib import Path
from typing import Annotated

from conjoin.cli.invocation import SPARK, STORE, CommandCall, check_spark, command
from conjoin.cli.options import option
from conjoin.cli.printing import shown
from conjoin.cli.progress import progress
from conjoin.errors import InputError
from conjoin.runtime.opening import now_us
from conjoin.times.durations import read_duration_ms


@command(
    STORE | {name: SPARK[name] for name in ("master", "driver_memory")},
    "conjoin spark report --out report.html",
    "conjoin spark report --out report.html --older-than 7d --store postgresql://conjoin@db/orders",
)
def report(
    call: CommandCall,
    out: Annotated[Path, option("--out", "The page, such as report.html.", "FILE")],
    older_than: Annotated[
        str, option("--older-than", "Ask why instances wait for longer than this.", "DURATION", show_default=True)
    ] = "1h",
) -> None:
    """Write a page about the messages of a store: what became of them, and what would fix it.

    It shows, for all messages and for each name: [bold]verdicts[/bold] by reason and hour; which [bold]time to
    live[/bold] would have saved those that were lost; which [bold]instances wait[/bold] in vain, and whether what they
    wait for arrived and was lost (publish it again); how old [bold]kept messages[/bold] are; the busiest
    [bold]keys[/bold]. The page is one file: it opens without a server and loads nothing.
    """
    check_spark("conjoin spark report")
    from conjoin.pipeline.report import collect_figures, write_page
    from conjoin.pipeline.source.options import check_store

    problems, older_than_ms = [], read_duration_ms(older_than)
    if out.is_dir():
        problems.append(f"--out: {out} is a folder: name a file, such as {out / 'report.html'}")
    elif not out.parent.is_dir():
        problems.append(f"--out: there is no folder {out.parent}")
    if older_than_ms is None:
        problems.append(f"--older-than: {older_than!r} is no duration, such as 30m, 1h or 7d")
    if problems or older_than_ms is None:
        raise InputError(problems)
    address = call.address
    check_store(str(address))
    spark = call.spark("conjoin spark report")
    with progress(spark) as step:
        figures = collect_figures(spark, str(address), now_us(), older_than_ms, step)
        step(f"writing {out}")
        write_page(out, figures, shown(address))
    counts = figures.verdicts()
    listed = ", ".join(f"{verdict} {counts[verdict]:,}" for verdict in sorted(counts))
    text = f"{sum(counts.values()):,} messages{': ' if listed else ''}{listed}\nwrote {out}"
    call.print({"report": str(out), "verdicts": counts}, text)
