"""Reading a store: lists, instances, messages, history and counts. Nothing is decided here."""
