"""Compiled modules: where a compiler was, the hot part of the package runs as native code made of the same source.

They lie apart, in `_compiled/<ABI>/`, and are imported only while every source is the one they were made of: whoever
changes a source runs it. The environment variable `CONJOIN_PURE` leaves them alone.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import source_hash, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

_PACKAGE = Path(__file__).parent
_SUFFIX = EXTENSION_SUFFIXES[0]
ABI = _SUFFIX.split(".")[1]


class _CompiledModules:
    """Finds them, by the names of their files."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self.files.get(name)
        return None if file is None else spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file))


def pickle_by_arguments(*kinds: type) -> None:
    """A native class is made by its constructor alone, also by pickle. Called by the compiled modules."""
    from dataclasses import fields

    for kind in kinds:
        kind.__getnewargs__ = _values_of([it.name for it in fields(kind) if it.init])  # type: ignore[attr-defined]


def _values_of(names: Sequence[str]) -> Callable[[object], tuple[Any, ...]]:
    return lambda it: tuple([getattr(it, name) for name in names])


def use() -> str:
    """From here on. Answers how the package runs, in words for `--version`."""
    if os.environ.get("CONJOIN_PURE"):
        return "pure Python"
    folder = _PACKAGE / "_compiled" / ABI
    try:
        made_of = json.loads((folder / "manifest.json").read_bytes())["sources"]
        if any(source_hash((_PACKAGE / name).read_bytes()).hex() != made for name, made in made_of.items()):
            return "pure Python: the compiled modules are older than the sources"
    except OSError:
        return "pure Python"
    files = {file.name.removesuffix(_SUFFIX): str(file) for file in folder.glob(f"*{_SUFFIX}")}
    sys.meta_path.insert(0, _CompiledModules(files))
    return "compiled"
