"""Conjoin joins messages to the workflow instances that wait for them."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from conjoin.pipeline import Correlated, correlate

__all__ = ["Correlated", "__version__", "correlate"]


def __getattr__(name: str) -> Any:
    """`conjoin.correlate` needs Spark; it is looked up when it is first used."""
    if name in ("Correlated", "correlate"):
        from conjoin.errors import ExtraMissing

        try:
            from conjoin import pipeline
        except ModuleNotFoundError as missing:
            raise ExtraMissing(f"conjoin.{name}", "Apache Spark", "spark") from missing
        return getattr(pipeline, name)
    raise AttributeError(f"module 'conjoin' has no attribute {name!r}")
