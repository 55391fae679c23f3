"""Writing through the data source: frames and streams become messages of a store."""
