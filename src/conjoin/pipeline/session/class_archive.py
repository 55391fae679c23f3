"""Where the archive of Spark's classes lies (`archive_classes.py` makes it), and how Java is told of it.

Java takes it only for the very jars and the Java that it was made with, and else, without a word, reads the classes as
ever.
"""

import sys
from pathlib import Path

ARCHIVE = Path(sys.prefix, "share", "conjoin", "spark-classes.jsa")
QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"


def options_with_archive() -> str:
    """What Java is to be started with: the archive, if one was made."""
    return f'"-XX:SharedArchiveFile={ARCHIVE}" {QUIET}' if ARCHIVE.is_file() else ""
