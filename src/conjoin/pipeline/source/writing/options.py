"""Options of a write: which store, and how rows become messages. They mean what the parameters of `ingest` do.

What is wrong with them is reported before any task starts.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import types as T

from conjoin.errors import InputError
from conjoin.pipeline.ingest.frames import checked_mapping, is_kafka, place_problems
from conjoin.pipeline.source.options import address_in, problems_of_place
from conjoin.runtime.codec.json_text import NOT_JSON, json_text, read_client_json

OPTIONS = ("path", "url", "source", "mapping", "position", "part")
_OF_SPARK = ("checkpointlocation", "queryname")
"""Of a stream; Spark hands them over with ours, in small letters."""


class WriteOptions(NamedTuple):
    """Where rows go, and how they are read. `mapping` is JSON; None: a row has the fields of a message.

    `position` and `part` are columns; neither: rows are records of Kafka, or known by the batch of their stream.
    """

    address: str
    source: str
    mapping: str | None
    position: str | None
    part: str | None
    is_kafka: bool


def read_write_options(
    options: Mapping[str, str], schema: T.StructType, *, overwrite: bool, is_stream: bool = False
) -> WriteOptions:
    """Raises `InputError` with everything that is wrong with them."""
    problems = ["mode: a message that was published stays published, so a write can only append"] if overwrite else []
    problems += problems_of_place(options)
    problems += _problems_of_rest(options)
    position, part = options.get("position"), options.get("part")
    kafka = position is None and is_kafka(schema.names)
    if not kafka and not (is_stream and position is None and part is None):
        problems += place_problems(schema, position, part)
    mapping = _mapping(options.get("mapping"), problems)
    if problems:
        raise InputError(problems)
    return WriteOptions(address_in(options), options["source"], mapping, position, part, kafka)


def _problems_of_rest(options: Mapping[str, str]) -> Iterator[str]:
    if not options.get("source"):
        yield "source: give what is written a name; what was published is known to the store under it"
    for name in options:
        if name not in (*OPTIONS, *_OF_SPARK):
            yield f"there is no option {name!r}, but {', '.join(OPTIONS)}"


def _mapping(text: str | None, problems: list[str]) -> str | None:
    """The path of a YAML file, or the mapping itself as a JSON object."""
    if text is None:
        return None
    try:
        given = read_client_json(text) if text.lstrip().startswith("{") else Path(text)
        return json_text(checked_mapping(given))
    except NOT_JSON as error:
        problems.append(f"mapping: is not JSON: {error}")
    except InputError as error:
        problems += [f"mapping: {problem}" for problem in error.problems]
    return None
