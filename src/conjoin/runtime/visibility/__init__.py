"""What somebody may see of a store, and how values are shown."""
