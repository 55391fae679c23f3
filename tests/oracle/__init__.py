"""The independent oracle: a slow, obvious model of the rules, sharing no code with the product."""
