"""Conjoin joins messages to the workflow instances that wait for them."""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from conjoin import compiled

__version__ = "0.1.0"
runs_as = compiled.use()

if TYPE_CHECKING:
    from conjoin.client import AsyncClient, Client
    from conjoin.pipeline import Correlated, spark_session
    from conjoin.pipeline.correlate.correlate import correlate
    from conjoin.pipeline.streaming.stream import correlate_stream

__all__ = [
    "AsyncClient",
    "Client",
    "Correlated",
    "__version__",
    "correlate",
    "correlate_stream",
    "sentence",
    "spark_session",
]


def sentence(row: Any) -> str:
    """A row of `verdicts` as one sentence: what became of the message, why, and what came nearest to taking it.

    The row is a Spark `Row`, or any mapping with the columns of `verdicts`.
    """
    from conjoin.kernel.verdicts.sentences import sentence as sentence_of

    fields: Mapping[str, Any] = row if isinstance(row, Mapping) else row.asDict()
    parameters = json.loads(fields.get("detail") or "{}")
    name, key = fields.get("name") or "", fields.get("correlation_key") or ""
    return sentence_of(fields["verdict"], fields["reason"], parameters, name, key)


def __getattr__(name: str) -> Any:
    """What needs Spark (`correlate`, `spark_session`) or httpx (`Client`) is looked up when it is first used."""
    if name in ("AsyncClient", "Client"):
        from conjoin import client

        return getattr(client, name)
    if name in ("Correlated", "correlate", "correlate_stream", "spark_session"):
        from conjoin.errors import ExtraMissing

        if find_spec("pyspark") is None:
            raise ExtraMissing(f"conjoin.{name}", "Apache Spark", "spark")
        from conjoin import pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module 'conjoin' has no attribute {name!r}")
