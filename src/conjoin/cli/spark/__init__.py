"""conjoin spark: whole tables, ingest, exports, reports and what-if, on Apache Spark."""
