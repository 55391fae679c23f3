"""What a value may be, for whoever may not look into the kernel."""

from conjoin.kernel.storable import LARGEST_INT32, LARGEST_INT64, LONGEST_KEY, is_text, read_fraction

__all__ = ["LARGEST_INT32", "LARGEST_INT64", "LONGEST_KEY", "is_text", "read_fraction"]
