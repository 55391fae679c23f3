"""The engine of all searches: filter, sort, page and count over what a store holds now."""
