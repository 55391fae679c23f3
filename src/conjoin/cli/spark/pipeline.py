"""conjoin pipeline run: a pipeline that a file describes, once or until it is stopped."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjoin.cli.invocation import SPARK, CommandCall, check_spark, command
from conjoin.cli.progress import progress
from conjoin.cli.spark.ingest import await_query
from conjoin.settings import load

if TYPE_CHECKING:
    from conjoin.pipeline.declared.pipeline import Pipeline, PipelineResult


@command(SPARK)
def run(
    call: CommandCall,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="TOML or YAML.", show_default=False)],
    once: Annotated[bool, typer.Option("--once", help="End when everything that is there has been taken.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether the file is right; Spark is not started.")
    ] = False,
) -> None:
    """Run the pipeline of a file: sources, what to do with their rows, and where results go.

    One of three things is done with them. [bold]correlate[/bold] says for every message what became of it, against
    streams or tables of who waits, without a store. [bold]publish[/bold] puts messages into a store.
    [bold]receive[/bold] hands them to a channel of the inbox. Each takes every row exactly once, whenever it is
    killed, and goes on where it was.

      [sources.messages]
      format = "kafka"
      options = { "kafka.bootstrap.servers" = "localhost:9092", subscribe = "payments" }
      types = "order string, paid_at timestamp"
      columns = { name = "'Paid'", correlation_key = "order", published_at = "paid_at" }

      [sources.subscriptions]
      table = "lake.waiting"

      [correlate]
      state = "state/payments"
      out = "lake/payments"
      lateness = "10m"

    [bold]Examples[/bold]

      conjoin pipeline run payments.toml --check
      conjoin pipeline run payments.toml --once
      conjoin pipeline run payments.toml --master spark://head:7077
    """
    check_spark("conjoin pipeline run")
    from conjoin.pipeline.declared.pipeline import Pipeline

    pipeline = Pipeline.load(file, load().inbox or {})
    if check:
        call.print({"file": str(file), "does": pipeline.does}, f"{file} is right: it would {pipeline.does}")
        return
    began = perf_counter()
    from conjoin.pipeline.session.master import refuse_connect

    if pipeline.does != "correlate tables":
        refuse_connect(call.settings, "conjoin pipeline run")
    spark = call.spark("conjoin pipeline run")
    from conjoin.pipeline.session.session import spark_errors

    with progress(spark) as step, spark_errors():
        step("looking for rows")
        result = pipeline.run(spark, once=once, wait=await_query, on_batch=lambda done: step(_in_words(done)))
    _print(call, pipeline, result, perf_counter() - began)


def _in_words(result: "PipelineResult") -> str:
    counted = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in result.out.items() if count)
    held = ", ".join(f"{count:,} {name}" for name, count in result.held.items() if count)
    return f"{result.rows:,} rows" + (f": {counted}" if counted else "") + (f"; held: {held}" if held else "")


def _print(call: CommandCall, pipeline: "Pipeline", result: "PipelineResult", seconds: float) -> None:
    figures: dict[str, Any] = {"does": pipeline.does, "batches": result.batches, "rows": result.rows}
    call.print(figures | result.out | {"held": result.held}, f"{_in_words(result)}, in {seconds:.1f} s")
