"""conjoin export: the tables of a store as folders of Parquet, events once each and all else as it is now."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from conjoin.cli.printing import AsJson, tell
from conjoin.cli.progress import progress
from conjoin.cli.spark_option import DriverMemory, Master, check_spark, started_spark
from conjoin.cli.store_option import Data, StoreUrl, address_of

if TYPE_CHECKING:
    from conjoin.pipeline.export import Exported


def export(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the tables, one folder each.")],
    tables: Annotated[
        str | None,
        typer.Option(metavar="TABLE,...", help="Only these. Default: all of them.", show_default=False),
    ] = None,
    data: Data = None,
    store: StoreUrl = None,
    master: Master = None,
    driver_memory: DriverMemory = None,
    as_json: AsJson = False,
) -> None:
    """Write the tables of a store as Parquet, for any tool that reads it.

    [bold]events[/bold] are added: every event of the log once, however often this runs and wherever it was
    interrupted. [bold]messages[/bold], [bold]verdicts[/bold], [bold]correlations[/bold], [bold]subscriptions[/bold],
    [bold]instances[/bold], [bold]incidents[/bold] and [bold]dead_letters[/bold] are replaced by how they are now, each
    in one step. Others may go on writing to the store and reading from the folder.

    [bold]Examples[/bold]

    Run it as often as you like; it goes on after what was exported last:

      conjoin export --out lake

      conjoin export --out lake --tables events,verdicts --store postgresql://conjoin@db/orders

    Then, in any Spark session:

      spark.read.parquet("lake/events").where("day >= '2026-01-31'")
    """
    check_spark("conjoin export")
    from conjoin.pipeline.export import Order, export_tables
    from conjoin.pipeline.export.exporting import check_order
    from conjoin.pipeline.stages import running_stage

    order = Order(str(address_of(data, store)), out)
    if tables is not None:
        order = Order(order.address, out, tuple(dict.fromkeys(name.strip() for name in tables.split(","))))
    check_order(order)
    spark = started_spark("conjoin export", master, driver_memory)
    with progress(Console(stderr=True), lambda: running_stage(spark)) as step:
        exported = export_tables(spark, order, step)
    tell(_as_object(exported), _in_words(exported, out), as_json)


def _as_object(exported: "Exported") -> dict[str, object]:
    return {"written": exported.rows, "notes": exported.notes, **exported.manifest}


def _in_words(exported: "Exported", out: Path) -> str:
    lines = [f"{'table':<14} {'written':>12} {'in all':>12}"]
    for table, rows in exported.rows.items():
        there = exported.manifest["tables"].get(table, {"rows": 0})
        lines.append(f"{table:<14} {rows:>12,} {there['rows']:>12,}")
    return "\n".join([*(f"note: {note}" for note in exported.notes), *lines, f"exported to {out}"])
