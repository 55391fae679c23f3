"""Building: Python to C with mypyc, C to native modules with the compiler that Python was built for.

What has not changed since the last time is not compiled again, neither in C nor at all.
"""

import io
import json
import os
import shutil
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from importlib.util import source_hash
from pathlib import Path
from typing import Any

from compiling.sources import written_out

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
PACKAGE = SRC / "conjoin"
WORK = ROOT / "build" / "compiling"
ABI = sysconfig.get_config_var("SOABI")
TARGET = PACKAGE / "_compiled" / str(ABI)

COMPILED = (
    "kernel/**/*.py",
    "pipeline/correlate/fold/walk.py",
    "runtime/engine/shard.py",
    "runtime/engine/key_spaces.py",
    "runtime/codec/*.py",
    "runtime/run/working_set/*.py",
    "runtime/run/changes.py",
    "runtime/run/fold.py",
    "runtime/run/home_waits.py",
    "runtime/run/limits.py",
    "runtime/run/log.py",
    "runtime/run/noted_changes.py",
    "runtime/run/touched.py",
)
"""What pays. A package's own file only imports, and is left as it is."""
OPTIMIZATION = "1"


class NotCompiledError(Exception):
    """The text says why."""


def sources() -> list[Path]:
    found = {path for pattern in COMPILED for path in PACKAGE.glob(pattern)}
    return sorted(path for path in found if path.name != "__init__.py")


def hashes() -> dict[str, str]:
    """Of each source, as `conjoin/compiled.py` compares them."""
    return {it.relative_to(PACKAGE).as_posix(): source_hash(it.read_bytes()).hex() for it in sources()}


def manifest() -> dict[str, Any]:
    """What the compiled modules were made of, and how: our own tool is part of that."""
    made_by = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return {"made_by": source_hash(made_by).hex(), "sources": hashes()}


def is_up_to_date() -> bool:
    try:
        return bool(json.loads((TARGET / "manifest.json").read_bytes()) == manifest())
    except (OSError, ValueError):
        return False


def build() -> int:
    """Compile everything; answers with the number of modules."""
    _require_compiler()
    made_of = manifest()
    TARGET.mkdir(parents=True, exist_ok=True)
    (TARGET / "manifest.json").unlink(missing_ok=True)
    extensions = _translated(sources())
    compiler = _compiler()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = dict(pool.map(lambda it: _compiled(compiler, *it), _units(extensions)))
        list(pool.map(lambda it: _linked(compiler, it, objects), extensions))
    if made_of != manifest():
        raise NotCompiledError("a source was changed meanwhile")
    wanted = {_file_of(extension.name) for extension in extensions}
    for path in TARGET.iterdir():
        if path.name not in wanted:
            path.unlink()
    (TARGET / "manifest.json").write_text(json.dumps(made_of, indent=1), encoding="utf-8")
    return len(made_of["sources"])


def _require_compiler() -> None:
    try:
        import mypyc  # noqa: F401
        import setuptools  # noqa: F401
    except ImportError as missing:
        raise NotCompiledError(f"{missing.name} is not installed") from None
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    if shutil.which(command.split()[0]) is None:
        raise NotCompiledError("no C compiler")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise NotCompiledError("Python's headers are not installed")


def _translated(paths: Iterable[Path]) -> list[Any]:
    """To C. Files are named relative to `src`, and so are the frames of a traceback."""
    from mypyc.build import mypycify

    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(WORK / "mypy")]
    # What is imported but not compiled may need packages that are not installed where a wheel is built.
    options += ["--follow-imports", "silent", "--ignore-missing-imports"]
    names = []
    for path in paths:
        name = path.relative_to(SRC).as_posix()
        shadow = WORK / "sources" / name
        shadow.parent.mkdir(parents=True, exist_ok=True)
        shadow.write_text(written_out(path.read_text(encoding="utf-8")), encoding="utf-8")
        options += ["--shadow-file", name, str(shadow)]
        names.append(name)
    before = Path.cwd()
    os.chdir(SRC)
    said = io.StringIO()
    try:
        # It tells of every generator that becomes a list; where that matters, the source has none.
        with redirect_stdout(said):
            found = mypycify(
                [*options, *names],
                opt_level=OPTIMIZATION,
                debug_level="0",
                multi_file=True,
                target_dir=str(WORK / "c"),
                group_name="conjoin",
            )
    except SystemExit:
        print(said.getvalue(), end="", flush=True)
        raise NotCompiledError("mypyc refuses it, see above") from None
    finally:
        os.chdir(before)
    return list(found)


def _compiler() -> Any:
    from setuptools._distutils import ccompiler
    from setuptools._distutils import sysconfig as settings

    made = ccompiler.new_compiler()
    settings.customize_compiler(made)
    return made


def _units(extensions: Iterable[Any]) -> list[tuple[str, Any]]:
    """Every C file with the extension that it belongs to, the largest first, so that no core waits at the end."""
    found = [(source, extension) for extension in extensions for source in extension.sources]
    return sorted(found, key=lambda it: -Path(it[0]).stat().st_size)


def _compiled(compiler: Any, source: str, extension: Any) -> tuple[str, str]:
    made = WORK / "o" / Path(source).relative_to(WORK / "c").with_suffix(".o")
    newest = max(path.stat().st_mtime for path in (Path(source), *(WORK / "c").glob("*.h")))
    if not made.exists() or made.stat().st_mtime < newest:
        made.parent.mkdir(parents=True, exist_ok=True)
        arguments = [it for it in extension.extra_compile_args if it != "-Werror"]
        include = [*extension.include_dirs, sysconfig.get_path("include")]
        (there,) = compiler.compile([source], str(made.parent), None, include, extra_postargs=arguments)
        Path(there).replace(made)
    return source, str(made)


def _linked(compiler: Any, extension: Any, objects: dict[str, str]) -> None:
    made = TARGET / _file_of(extension.name)
    made.unlink(missing_ok=True)
    compiler.link_shared_object([objects[source] for source in extension.sources], str(made))


def _file_of(module: str) -> str:
    return f"{module}{sysconfig.get_config_var('EXT_SUFFIX')}"
