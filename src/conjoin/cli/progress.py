"""Progress while Spark works: a line that moves on a terminal, plain lines anywhere else."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

Step = Callable[[str], None]
_EVERY_S = 0.2


@contextmanager
def progress(spark: Any = None, *, only_on_terminal: bool = False) -> Iterator[Step]:
    """Yields a function that shows a step on stderr; with a session of Spark, how far its running stages are, too.
    `only_on_terminal`: what a schedule runs every minute stays quiet there."""
    console = Console(stderr=True)
    if not console.is_terminal and only_on_terminal:
        yield lambda _: None
        return
    if not console.is_terminal:
        yield lambda text: console.print(f"conjoin: {text}", highlight=False, soft_wrap=True)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(30), TextColumn("{task.fields[stage]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as line:
        task = line.add_task("starting", total=None, stage="")
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(line, task, spark, done), daemon=True)
        watcher.start()
        try:
            yield lambda text: line.update(task, description=text, total=None, stage="")
        finally:
            done.set()
            watcher.join(timeout=2)


def _watch(line: Progress, task: TaskID, spark: Any, done: threading.Event) -> None:
    if spark is None:
        return
    from conjoin.pipeline.session.progress import running_stage

    while not done.wait(_EVERY_S):
        try:
            stage = running_stage(spark)
        except Exception:  # noqa: BLE001 - a session that just ends must not turn progress into a failure
            return
        if stage is not None and stage.tasks:
            line.update(task, total=stage.tasks, completed=stage.done, stage=f"{stage.done} of {stage.tasks} tasks")
