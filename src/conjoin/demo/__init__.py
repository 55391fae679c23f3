"""The demo of `conjoin serve --demo`: a shop that replays its last hour in a few seconds and then continues live.

It decides nothing and knows no way in of its own: everything is done through the calls that clients have. What it does
follows from a seed; only the pace is that of the real clock.
"""
