"""Ingest: rows of any Spark source become messages of a store, or of a channel of its inbox, each exactly once.

frames.py      a DataFrame, records of Kafka -> rows with their positions
stream.py      new files or records, batch after batch
batch.py       one batch: map, shuffle by shard, commit, deliver what shards sent to each other
tasks.py       rows -> requests; requests of a shard -> commits
alike_files.py which files Spark need not be asked about one by one
packs.py       how rows travel from one to the other
arrivals.py    the same for rows that a channel of the inbox takes
"""

from conjoin.pipeline.ingest.arrivals import Into
from conjoin.pipeline.ingest.batch import Ingested
from conjoin.pipeline.ingest.frames import ingest

__all__ = ["Ingested", "Into", "ingest"]
