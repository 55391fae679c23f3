"""Ingest: rows of any Spark source become messages of a store, each exactly once.

arrivals.py    a source -> rows with their place in it
tasks.py       rows -> messages or dead letters; messages of a shard -> commits
batch.py       one batch: map, shuffle by shard, commit, deliver what shards sent to each other
files.py, kafka.py, stream.py    where batches come from
"""

from conjoin.pipeline.ingest.batch import Ingested
from conjoin.pipeline.ingest.frames import ingest

__all__ = ["Ingested", "ingest"]
