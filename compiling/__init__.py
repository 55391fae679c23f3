"""Compiling: mypyc makes native modules of the hot part of the package, from the same source.

    python -m compiling            compile what is older than its source, and say so in a line
    CONJOIN_PURE=1 conjoin ...     run the source as it is

What comes of it lies in `src/conjoin/_compiled/<ABI>/`, never beside a source, so that a `.py` file is never shadowed:
`conjoin/compiled.py` imports it, and only while every source is the one that was compiled.
"""
