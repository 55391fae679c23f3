"""The baseline: the home-made solution that a good engineer writes in a day, run as it was given."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

BASELINES = Path(__file__).parent.parent / "baselines"
_LINE = re.compile(r"batch=(?P<batch>\d+)(?: clients=(?P<clients>\d+))? .*rate=(?P<rate>\d+)/s")

Rates = dict[tuple[int, int], float]
"""Messages a second, by batch and clients."""


def sqlite(instances: int) -> Rates:
    with tempfile.TemporaryDirectory(prefix="baseline-") as folder:
        return _rates("sqlite.py", str(Path(folder) / "baseline.db"), str(instances))


def postgres(url: str, instances: int) -> Rates:
    return _rates("postgres.py", url, str(instances))


def _rates(script: str, *arguments: str) -> Rates:
    told = subprocess.run(
        [sys.executable, str(BASELINES / script), *arguments], check=True, capture_output=True, text=True
    ).stdout
    found = [_LINE.search(line) for line in told.splitlines()]
    return {(int(m["batch"]), int(m["clients"] or 1)): float(m["rate"]) for m in found if m is not None}
