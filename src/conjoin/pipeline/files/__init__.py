"""Tables as files: read from Parquet, JSON lines or CSV, and written."""
