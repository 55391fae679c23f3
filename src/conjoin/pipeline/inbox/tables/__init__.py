"""An inbox without a store: its messages are a table, and each run makes the next one of it.

columns.py     the columns of such a table
reading.py     rows that come in and rows of who waits, as rows of that shape
group_run.py   one group in one run, by the rules of the inbox
waiting.py     who waits on a correlation key
inbox_run.py   a run, as a function of DataFrames
folder.py      runs in a folder, each going on from the last one
"""
