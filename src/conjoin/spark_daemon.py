"""`python -m conjoin.spark_daemon`: the process that Spark's Python workers come from, where PySpark is installed.

Spark puts the zip files of its distribution first on a worker's path, and Python compiles what is in them anew in every
process: three quarters of a second before the first task that needs Python. The same modules are installed beside them.
"""

import runpy
import sys
from importlib.machinery import PathFinder
from pathlib import Path


def path_without_zips(path: list[str]) -> list[str]:
    """Without the zip files of the PySpark that is found there also without them."""
    installed = PathFinder.find_spec("pyspark", [entry for entry in path if not entry.endswith(".zip")])
    if installed is None or installed.origin is None:
        return path
    zips = Path(installed.origin).parent / "python" / "lib"
    return [entry for entry in path if not (entry.endswith(".zip") and Path(entry).parent == zips)]


if __name__ == "__main__":
    sys.path[:] = path_without_zips(sys.path)
    # By this name its workers know whose they are.
    sys.modules["conjoin.spark_daemon"] = sys.modules["__main__"]
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)
