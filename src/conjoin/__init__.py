"""Conjoin joins messages to the workflow instances that wait for them."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from conjoin.client import AsyncClient, Client
    from conjoin.pipeline import Correlated
    from conjoin.pipeline.correlate import correlate

__all__ = ["AsyncClient", "Client", "Correlated", "__version__", "correlate"]


def __getattr__(name: str) -> Any:
    """`conjoin.correlate` needs Spark, and `conjoin.Client` httpx: they are looked up when they are first used."""
    if name in ("AsyncClient", "Client"):
        from conjoin import client

        return getattr(client, name)
    if name in ("Correlated", "correlate"):
        from conjoin.errors import ExtraMissing

        try:
            from conjoin import pipeline
        except ModuleNotFoundError as missing:
            raise ExtraMissing(f"conjoin.{name}", "Apache Spark", "spark") from missing
        return getattr(pipeline, name)
    raise AttributeError(f"module 'conjoin' has no attribute {name!r}")
