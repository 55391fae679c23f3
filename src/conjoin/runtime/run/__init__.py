"""One run: load what a batch touches, fold it, commit. `carriers/` run batches."""
