"""What a running pipeline tells: a listener of Spark's queries, and figures for Prometheus. It changes nothing."""

from conjoin.pipeline.watching.figures import PipelineFigures, figures_served
from conjoin.pipeline.watching.query_listener import QueryProgress, listening

__all__ = ["PipelineFigures", "QueryProgress", "figures_served", "listening"]
