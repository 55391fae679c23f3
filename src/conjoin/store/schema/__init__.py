"""The schema, in numbered steps.

A store remembers how many it has taken: an older one takes the rest, one that has taken more is refused. A step that
only one database needs has its name in the name of its file (`0009.postgresql.sql`); for the others it is empty.
"""

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

VERSION = 11
FOLDER: Traversable = files(__name__)


def steps(part: str, after: int, words: Mapping[str, str]) -> list[tuple[int, list[str]]]:
    """The statements that lead from schema version `after` to the newest, for `shard` or `catalog`."""
    return [(number, _statements(part, number, words)) for number in range(after + 1, VERSION + 1)]


def _statements(part: str, number: int, words: Mapping[str, str]) -> list[str]:
    names = (f"{number:04}.sql", f"{number:04}.{words.get('database', 'sqlite')}.sql")
    files = [file for file in (FOLDER.joinpath(part, name) for name in names) if file.is_file()]
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    for word, meaning in {"text": "text", "room": "", **words}.items():
        text = text.replace("{" + word + "}", meaning)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    return [statement.strip() for statement in "\n".join(lines).split(";") if statement.strip()]
