"""conjoin spark report: one page about the messages of a store, with plots, advice and all numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from conjoin.cli.printing import AsJson, tell
from conjoin.cli.progress import progress
from conjoin.cli.spark.option import DriverMemory, Master, check_spark, started_spark
from conjoin.cli.store_option import Data, StoreUrl, address_of, shown
from conjoin.errors import InputError
from conjoin.runtime.opening import now_us
from conjoin.times.durations import read_duration_ms

if TYPE_CHECKING:
    from conjoin.pipeline.report.figures import ReportFigures


def report(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page, such as report.html.")],
    older_than: Annotated[
        str, typer.Option(metavar="DURATION", help="Ask why instances wait for longer than this.")
    ] = "1h",
    data: Data = None,
    store: StoreUrl = None,
    master: Master = None,
    driver_memory: DriverMemory = None,
    as_json: AsJson = False,
) -> None:
    """Write a page about the messages of a store: what became of them, and what would fix it.

    It tells, for all messages and for each name: [bold]verdicts[/bold] by reason and hour; which [bold]time to
    live[/bold] would have saved those that were lost; which [bold]instances wait[/bold] in vain, and whether what they
    wait for arrived and was lost (publish it again); how old [bold]kept messages[/bold] are; the busiest
    [bold]keys[/bold]. The page is one file: it opens without a server and loads nothing.

    [bold]Examples[/bold]

      conjoin spark report --out report.html

      conjoin spark report --out report.html --older-than 7d --store postgresql://conjoin@db/orders
    """
    check_spark("conjoin spark report")
    from conjoin.pipeline.report import collect_figures, write_page
    from conjoin.pipeline.session.progress import running_stage
    from conjoin.pipeline.source.options import check_store

    older_than_ms = _checked(out, older_than)
    address = address_of(data, store)
    check_store(str(address))
    spark = started_spark("conjoin spark report", master, driver_memory)
    with progress(Console(stderr=True), lambda: running_stage(spark)) as step:
        figures = collect_figures(spark, str(address), now_us(), older_than_ms, step)
        step(f"writing {out}")
        write_page(out, figures, shown(address))
    tell({"report": str(out), "verdicts": figures.verdicts()}, _in_words(figures, out), as_json)


def _checked(out: Path, older_than: str) -> int:
    problems = []
    if out.is_dir():
        problems.append(f"--out: {out} is a folder: name a file, such as {out / 'report.html'}")
    elif not out.parent.is_dir():
        problems.append(f"--out: there is no folder {out.parent}")
    older_than_ms = read_duration_ms(older_than)
    if older_than_ms is None:
        problems.append(f"--older-than: {older_than!r} is no duration, such as 30m, 1h or 7d")
    if problems or older_than_ms is None:
        raise InputError(problems)
    return older_than_ms


def _in_words(figures: "ReportFigures", out: Path) -> str:
    counts = figures.verdicts()
    told = ", ".join(f"{verdict} {counts[verdict]:,}" for verdict in sorted(counts))
    return f"{sum(counts.values()):,} messages{': ' if told else ''}{told}\nwrote {out}"
