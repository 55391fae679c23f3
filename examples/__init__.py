"""Examples that run: each is a package with a `__main__`."""
