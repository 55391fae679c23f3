"""What `correlate` costs, beside the joins that people write instead of it."""
