"""conjoin spark export: the tables of a store as Parquet or Delta, or its events into a Kafka topic."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from conjoin.cli.invocation import SPARK, STORE, CommandCall, check_spark, command
from conjoin.cli.options import option
from conjoin.cli.progress import Step, progress
from conjoin.cli.reading import checkpoint_folder
from conjoin.errors import InputError

if TYPE_CHECKING:
    from conjoin.pipeline.export import Exported

Run = Callable[[Any, Step], "Exported"]


@command(STORE | SPARK)
def export(
    call: CommandCall,
    out: Annotated[Path | None, option("--out", "Folder for the tables, one folder each.", "DIR")] = None,
    format_: Annotated[str, option("--format", "parquet, or delta.", "FORMAT", show_default=True)] = "parquet",
    tables: Annotated[str | None, option("--tables", "Only these. Default: all of them.", "TABLE,...")] = None,
    to: Annotated[str | None, option("--to", "Instead of --out: kafka://HOST:PORT/TOPIC.", "URL")] = None,
    checkpoint: Annotated[
        Path | None, option("--checkpoint", "Where it is noted what was sent. Default: beside the data.", "DIR")
    ] = None,
) -> None:
    """Write the tables of a store as Parquet or Delta, for any tool that reads it, or its events to Kafka.

    [bold]events[/bold] are added: every event of the log once, however often this runs and wherever it was
    interrupted. [bold]messages[/bold], [bold]verdicts[/bold], [bold]correlations[/bold], [bold]subscriptions[/bold],
    [bold]instances[/bold], [bold]incidents[/bold] and [bold]dead_letters[/bold] are replaced by how they are now, each
    in one step. Others may keep writing to the store and reading from the folder.

    With --to, events are records of a topic: each at least once, with an id that stays the same.

    [bold]Examples[/bold]

    Run it as often as you like; it goes on after what was exported last:

      conjoin spark export --out lake

      conjoin spark export --out lake --format delta --tables events,verdicts --store postgresql://conjoin@db/orders

      conjoin spark export --to kafka://localhost:9092/events --jars $(ls connector/*.jar | paste -sd,)

    Then, in any Spark session:

      spark.read.parquet("lake/events").where("day >= '2026-01-31'")
    """
    check_spark("conjoin spark export")
    address = str(call.address)
    chosen = () if tables is None else tuple(dict.fromkeys(name.strip() for name in tables.split(",")))
    if (out is None) == (to is None):
        raise InputError(["give either --out with a folder or --to with a topic"])
    run = _to_folder(address, out, chosen, format_) if out else _to_topic(address, str(to), chosen, checkpoint)
    spark = call.spark("conjoin spark export")
    with progress(spark) as step:
        exported = run(spark, step)
    figures = {"written": exported.rows, "notes": exported.notes, **exported.manifest}
    call.print(figures, _in_words(exported, str(out or to)))


def _to_folder(address: str, out: Path, tables: tuple[str, ...], format_: str) -> Run:
    from conjoin.pipeline.export import ExportRequest, export_tables
    from conjoin.pipeline.export.exporting import check_order

    order = ExportRequest(address, out, format=format_)
    if tables:
        order = replace(order, tables=tables)
    check_order(order)
    return lambda spark, step: export_tables(spark, order, step)


def _to_topic(address: str, url: str, tables: tuple[str, ...], checkpoint: Path | None) -> Run:
    from conjoin.pipeline.export import KafkaOrder, export_to_kafka
    from conjoin.pipeline.export.kafka import check_kafka_order

    if tables not in ((), ("events",)):
        raise InputError(["--tables: a topic takes events; the other tables change, and go to a folder"])
    order = KafkaOrder(address, url, checkpoint or checkpoint_folder(address, f"export {url}"))
    check_kafka_order(order)
    return lambda spark, step: export_to_kafka(spark, order, step)


def _in_words(exported: "Exported", target: str) -> str:
    counted = exported.manifest.get("tables")
    lines = [f"{'table':<14} {'written':>12}" + (f" {'in all':>12}" if counted is not None else "")]
    for table, rows in exported.rows.items():
        in_all = f" {counted.get(table, {'rows': 0})['rows']:>12,}" if counted is not None else ""
        lines.append(f"{table:<14} {rows:>12,}{in_all}")
    return "\n".join([*(f"note: {note}" for note in exported.notes), *lines, f"exported to {target}"])
