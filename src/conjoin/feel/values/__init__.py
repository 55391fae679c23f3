"""FEEL values that JSON does not have: temporal values, ranges, functions. None, bool, int, Decimal, str, list and
dict are themselves."""
