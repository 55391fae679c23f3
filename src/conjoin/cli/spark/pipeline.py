"""conjoin pipeline run: a pipeline that a file describes, once or until it is stopped."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjoin.cli.invocation import SPARK, CommandCall, check_spark, command
from conjoin.cli.options import option
from conjoin.cli.progress import progress
from conjoin.cli.spark.ingest import await_query
from conjoin.errors import ExtraMissing
from conjoin.settings import load

if TYPE_CHECKING:
    from conjoin.pipeline.declared.pipeline import Pipeline, PipelineResult
    from conjoin.pipeline.watching import PipelineFigures

_MICROS = 1_000_000


@command(SPARK)
def run(
    call: CommandCall,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="TOML or YAML.", show_default=False)],
    once: Annotated[bool, typer.Option("--once", help="End when everything that is there has been taken.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether the file is right; Spark is not started.")
    ] = False,
    metrics: Annotated[
        str | None, option("--metrics", "Figures for Prometheus, such as 9400 or 0.0.0.0:9400.", "[ADDRESS:]PORT")
    ] = None,
    new_checkpoint: Annotated[
        bool,
        typer.Option("--new-checkpoint", help="Go on without the old checkpoint: the sources repeat nothing."),
    ] = False,
) -> None:
    """Run the pipeline of a file: sources, what to do with their rows, and where results go.

    One of four things is done. [bold]correlate[/bold] says for every message what became of it, against
    streams or tables of who waits, without a store. [bold]publish[/bold] puts messages into a store.
    [bold]receive[/bold] hands them to a channel of the inbox. [bold]schedule[/bold] runs the schedule of an inbox, of a
    store or over tables. Each takes every row exactly once, whenever it is killed, and goes on where it was.

      [sources.messages]
      format = "kafka"
      options."kafka.bootstrap.servers" = "localhost:9092"
      options.subscribe = "payments"
      types = "order string, paid_at timestamp"
      columns.name = "'Paid'"
      columns.correlation_key = "order"
      columns.published_at = "paid_at"

      [sources.subscriptions]
      table = "lake.waiting"

      [correlate]
      state = "state/payments"
      out = "lake/payments"
      lateness = "10m"

    [bold]Examples[/bold]

      conjoin pipeline run payments.toml --check
      conjoin pipeline run payments.toml --once
      conjoin pipeline run payments.toml --metrics 9400 --master spark://head:7077

    After each batch it says what was done: rows, verdicts, dead letters, what is held,
    and how far behind the clock the rows are; --metrics tells Prometheus the same.
    """
    check_spark("conjoin pipeline run")
    from conjoin.pipeline.declared.pipeline import Pipeline

    pipeline = Pipeline.load(file, load().inbox or {})
    if check:
        call.print({"file": str(file), "does": pipeline.does}, f"{file} is right: it would {pipeline.does}")
        return
    from conjoin.pipeline.session.master import refuse_connect

    if pipeline.does != "correlate tables":
        refuse_connect(call.settings, "conjoin pipeline run")
    began = time.perf_counter()
    with _figures(pipeline.declared.name or file.stem, metrics) as figures:
        spark = call.spark("conjoin pipeline run")
        from conjoin.pipeline.session.session import spark_errors

        with progress(spark) as step, spark_errors():
            step("looking for rows")

            def done(result: "PipelineResult") -> None:
                step(_step(result))
                if figures is not None:
                    figures.take(result)

            how: dict[str, Any] = {"once": once, "new_checkpoint": new_checkpoint}
            result = pipeline.run(spark, wait=_waiting(figures), on_batch=done, **how)
    _print(call, pipeline, result, time.perf_counter() - began)


@contextmanager
def _figures(name: str, address: str | None) -> "Iterator[PipelineFigures | None]":
    """None: nobody asked for them."""
    if address is None:
        yield None
        return
    try:
        from conjoin.pipeline.watching import PipelineFigures, figures_served
    except ModuleNotFoundError:
        raise ExtraMissing("--metrics", "prometheus-client", "server") from None

    figures = PipelineFigures(name)
    with figures_served(figures, address):
        yield figures


def _waiting(figures: "PipelineFigures | None") -> Callable[[Any], None]:
    def wait(query: Any) -> None:
        with ExitStack() as stack:
            if figures is not None:
                from conjoin.pipeline.watching import listening

                stack.enter_context(listening(query, figures.hear))
            await_query(query)

    return wait


def _in_words(result: "PipelineResult") -> str:
    counted = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in result.out.items() if count)
    held = ", ".join(f"{count:,} {name}" for name, count in result.held.items() if count)
    return f"{result.rows:,} rows" + (f": {counted}" if counted else "") + (f"; held: {held}" if held else "")


def _step(result: "PipelineResult") -> str:
    """The last batch first, as a terminal may be narrow: how long it took, how far behind the clock its rows are."""
    last = result.last
    if last is None:
        return _in_words(result)
    behind = "" if last.latest is None else f", {_span(time.time() - last.latest / _MICROS)} behind"
    batch = f"batch {last.sequence}: {last.rows:,} rows in {last.seconds:.1f} s{behind}"
    return f"{batch}; state {last.state_bytes / 1e6:,.1f} MB; in all {_in_words(result)}"


def _span(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _print(call: CommandCall, pipeline: "Pipeline", result: "PipelineResult", seconds: float) -> None:
    figures: dict[str, Any] = {"does": pipeline.does, "batches": result.batches, "rows": result.rows}
    verdicts = [{"verdict": verdict, "reason": why, "count": n} for (verdict, why), n in result.verdicts.most_common()]
    figures |= result.out | {"held": result.held, "verdicts_by_reason": verdicts}
    call.print(figures, f"{_in_words(result)}, in {seconds:.1f} s")
