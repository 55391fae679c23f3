"""The console: pages in which a person sees what waits, what happened and why, and fixes it.

It uses the queries of the gateway and decides nothing. `app.py` has the table of its pages.
"""
