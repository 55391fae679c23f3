"""The Spark session and its Java, and what a worker needs."""
