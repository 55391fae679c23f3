"""A model in a test: copy `test_order.py`, and put your own file and messages in."""
