"""One run: load what a batch touches, fold it, commit. `carriers/` says who runs batches, and when."""
