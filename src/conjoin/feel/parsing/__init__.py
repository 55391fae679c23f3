"""Expression text into a syntax tree."""
