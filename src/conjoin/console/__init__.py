"""The console: pages in which a person sees what waits, what happened and why, and mends it.

It asks the gateway and decides nothing. `app.py` has the table of its pages.
"""
