"""Paths that Spark reads, and folders where it notes how far it came."""

import re
from pathlib import Path

_NOT_FOR_A_FOLDER = re.compile(r"[^\w.-]+")


def is_missing(path: str) -> bool:
    """Plain paths only: Spark knows about patterns and other file systems."""
    return "://" not in path and not re.search(r"[*?\[{]", path) and not Path(path).exists()


def checkpoint_folder(address: str, name: str) -> Path:
    """Beside the files of a data directory, or here where the store is somewhere else."""
    folder = Path("conjoin-checkpoints") if "://" in address else Path(address) / "checkpoints"
    return folder / _NOT_FOR_A_FOLDER.sub("_", name)
