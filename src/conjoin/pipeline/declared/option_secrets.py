"""Options have passwords in them, JDBC's URLs too: what is told or noted of a source or a sink has none."""

import re
from collections.abc import Mapping
from hashlib import sha256

from conjoin.pipeline.session.session import spark_says

_HIDDEN = "(hidden)"
_SECRET = re.compile(r"ur[il]$|password|secret|token|credential|jaas|key", re.IGNORECASE)


def name_of_url(url: str) -> str:
    """Tells it from others. Without its login and its parameters, so that a new password makes no other of it."""
    place = re.split(r"[;?]", url, maxsplit=1)[0].rpartition("@")[2]
    return sha256(place.encode()).hexdigest()[:12]


def says(error: Exception, options: Mapping[str, str]) -> str:
    """What Spark says, in which a driver may repeat what it was given."""
    text = spark_says(error)
    for value in sorted((value for name, value in options.items() if _SECRET.search(name)), key=len, reverse=True):
        text = text.replace(value, _HIDDEN) if value else text
    return text
