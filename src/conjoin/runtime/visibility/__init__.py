"""What a caller may see of a store, and how values are shown."""
