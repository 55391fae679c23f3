"""What can be said of a model without running it: its ways, branches, expressions and variables."""
