"""What the console asks of a store: lists and single things in plain values, within a bound of time."""
