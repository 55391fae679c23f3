"""The local engine: small tables through the same rules, the same fold and the same writing, without Spark.

Rules of reading are SQL texts (`columns.py`, `events.py`); here they are carried out over Arrow arrays. What cannot be
carried out exactly as Spark would is `NotLocal`: then the run is Spark's.
"""
