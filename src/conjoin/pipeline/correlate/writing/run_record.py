"""What a run tells of itself, whichever engine ran it: `_run.json`, and the fingerprint of its policies."""

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from conjoin import __version__
from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate.fold.counts import PartitionCounts
from conjoin.pipeline.correlate.fold.detail import iso
from conjoin.pipeline.correlate.writing.parquet_sink import WrittenFile


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """What a run has written: rows of each output, and what was counted. `as_of` in microseconds since 1970."""

    folder: str
    as_of: int
    rows: dict[str, int]
    counts: PartitionCounts


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What is known of a run before it writes."""

    as_of: int
    since: int | None
    policies: Policies
    file_format: str
    engine: str
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    def described(
        self, rows: dict[str, int], counts: PartitionCounts, files: dict[str, list[WrittenFile | str]]
    ) -> dict[str, Any]:
        """The content of `_run.json`."""
        return {
            "conjoin": __version__,
            "engine": self.engine,
            "as_of": iso(self.as_of),
            "since": None if self.since is None else iso(self.since),
            "policies": fingerprint(self.policies),
            "format": self.file_format,
            "began_at": self.began.isoformat(),
            "seconds": round((datetime.now(UTC) - self.began).total_seconds(), 3),
            "rows": rows,
            "counts": msgspec.to_builtins(counts),
            "files": {table: list(map(_file_entry, some)) for table, some in files.items()},
        }


def _file_entry(file: WrittenFile | str) -> dict[str, Any]:
    """What Spark has converted is known by its name alone."""
    if isinstance(file, str):
        return {"name": file}
    return {"name": file.name, "rows": file.rows, "bytes": file.bytes}


def fingerprint(policies: Policies) -> str:
    """The same for the same policies: a constraint counts by its name."""
    named = {"*": policies.default} | dict(sorted(policies.by_name.items()))
    said = [
        f"{name}: {replace(policy, constraint=None)} {getattr(policy.constraint, 'name', None)}"
        for name, policy in named.items()
    ]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]
