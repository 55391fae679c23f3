"""The demo of `conjoin serve --demo`: a shop whose last hour is told in a few seconds, and which then goes on.

It decides nothing and knows no way in of its own: everything is done through the calls that clients have. What it does
follows from a seed; only the pace is that of the real clock.
"""
