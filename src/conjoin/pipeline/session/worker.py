"""In a Python worker of Spark: what makes it ready for our tasks. It stays so for the tasks that follow in it."""

import gc
import zipimport
from collections.abc import Callable
from pathlib import Path
from typing import Any

_seen: dict[str, int] = {}


def make_ready() -> None:
    # Nearly all objects of a fold die with their key and without the collector, which would look in vain.
    gc.set_threshold(1_000_000, 20, 20)
    if not gc.get_freeze_count():
        # Spark collects after each task: a twentieth of a second to find all modules still alive.
        gc.collect()
        gc.freeze()
    current: Any = zipimport.zipimporter.invalidate_caches
    if not hasattr(current, "only_if_changed"):
        zipimport.zipimporter.invalidate_caches = _only_if_changed(current)  # type: ignore[method-assign, assignment]


def _only_if_changed(look_again: Callable[[zipimport.zipimporter], None]) -> Callable[[zipimport.zipimporter], None]:
    """Before each task Spark has all zip files on Python's path read over again, its own of a thousand files among
    them: a tenth of a second and more for every task. A file that is still the same needs no second look."""

    def invalidate_caches(importer: zipimport.zipimporter) -> None:
        try:
            changed = Path(importer.archive).stat().st_mtime_ns
        except OSError:
            changed = -1
        if changed < 0 or _seen.get(importer.archive) != changed:
            look_again(importer)
            _seen[importer.archive] = changed

    invalidate_caches.only_if_changed = True  # type: ignore[attr-defined]
    return invalidate_caches
