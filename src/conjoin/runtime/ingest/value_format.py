"""What the bytes of a row are, where they are not JSON: Avro, framed as the serializers of a schema registry do it.

A frame is a zero byte, the number of the schema in four bytes, and the value. In a mapping:

    value: {format: avro, registry: "http://registry:8081"}       the schema of each record is asked for, once
    value: {format: avro, schema: order.avsc}                     one schema has written all of them
    value: {format: avro, schemas: {7: first.avsc, 9: second.avsc}}
    value: {format: avro, schema: order.avsc, framed: false}      only Avro, without a frame

Files and variables of the environment are read where the mapping is: tasks get what was in them.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import PlainValidator

from conjoin.errors import SettingsError
from conjoin.runtime.codec.json_text import json_bytes, read_client_json
from conjoin.runtime.ingest.avro import Names, NotAvro, avro_reader
from conjoin.runtime.ingest.schema_registry import SchemaRegistry
from conjoin.setting_tables import Flag, Secret, SecretText, SettingTable, Text, one_of, read_table

VALUE = "value"
AVRO = "avro"
FRAME = 5
_MAGIC = b"\0"
_READ = "read"
"""The key of a format whose files and variables were read already."""


class ValueFormat(NamedTuple):
    """Everything a task must know. `schemas` are by number, or one under no number, as JSON."""

    framed: bool
    schemas: tuple[tuple[int | None, str], ...]
    registry: SchemaRegistry | None

    def written(self) -> dict[str, Any]:
        """As `read_value_format` takes it elsewhere."""
        registry = self.registry and [*map(str, self.registry)]
        return {_READ: [self.framed, self.schemas, registry]}


def _schemas(value: object) -> dict[int, str]:
    if not isinstance(value, Mapping) or not value:
        raise ValueError("is not a table of files by the numbers of their schemas")
    if not all(str(number).isdecimal() and isinstance(file, str) for number, file in value.items()):
        raise ValueError("is not a table of files by the numbers of their schemas, such as {7: order.avsc}")
    return {int(number): file for number, file in value.items()}


class ValueTable(SettingTable):
    """As it is written in a mapping."""

    format: Annotated[str, one_of(AVRO)] = AVRO
    framed: Flag = True
    schema_file: Text = ""
    schemas: Annotated[dict[int, str], PlainValidator(_schemas)] = {}  # noqa: RUF012 - never changed
    registry: Text = ""
    user: Text = ""
    password: SecretText = Secret()
    ca: Text = ""

    def contradictions(self) -> Iterable[tuple[str, str]]:
        given = [name for name in ("schema_file", "schemas", "registry") if getattr(self, name)]
        if len(given) != 1:
            yield "format", "needs one of schema (a file), schemas (files by number) and registry (a URL)"
        if not self.framed and not self.schema_file:
            yield "framed", "is false, and only a frame says which schema has written a record: give schema, a file"
        if self.registry and not self.registry.startswith(("http://", "https://")):
            yield "registry", "is not a URL such as http://registry:8081"
        if (self.user or self.password or self.ca) and not self.registry:
            yield "registry", "is missing: user, password and ca are for it"


def read_value_format(written: object) -> ValueFormat:
    """Raises `SettingsError` with everything that is wrong with it."""
    if isinstance(written, Mapping) and _READ in written:
        framed, schemas, registry = written[_READ]
        return ValueFormat(framed, tuple((number, text) for number, text in schemas), registry and _registry(*registry))
    spelled = {"schema_file": "schema"}
    if isinstance(written, Mapping):
        # pydantic's models have a method of that name.
        written = {("schema_file" if name == "schema" else name): it for name, it in written.items()}
    table = read_table(ValueTable, written, VALUE, os.environ, spelled)
    problems: list[str] = []
    files: dict[int | None, str] = dict(table.schemas.items())
    if table.schema_file:
        files[None] = table.schema_file
    schemas = tuple((number, _text_of(file, problems, _check_schema)) for number, file in files.items())
    ca = _text_of(table.ca, problems) if table.ca else ""
    if problems:
        raise SettingsError([f"{VALUE}: {problem}" for problem in problems])
    registry = _registry(table.registry, table.user, table.password, ca) if table.registry else None
    return ValueFormat(table.framed, schemas, registry)


def _registry(url: str, user: str, password: str, ca: str) -> SchemaRegistry:
    return SchemaRegistry(url, user, Secret(password), ca)


def _text_of(file: str, problems: list[str], check: Callable[[str], object] = lambda _: None) -> str:
    try:
        text = Path(file).read_text(encoding="utf-8")
        check(text)
    except OSError as error:
        problems.append(f"{file}: {error.strerror}")
    except ValueError as error:
        problems.append(f"{file}: is not JSON: {error}")
    except NotAvro as error:
        problems.append(f"{file}: {error}")
    else:
        return text
    return ""


def _check_schema(text: str) -> None:
    avro_reader(json.loads(text))


def unframed_json(raw: bytes) -> bytes:
    """The JSON of a schema registry's serializer has a frame too, which no JSON begins with."""
    return raw[FRAME:] if raw[:1] == _MAGIC and len(raw) > FRAME else raw


class AvroValues:
    """Reads the values of one task."""

    def __init__(self, its: ValueFormat) -> None:
        self._its = its
        self._known = dict(its.schemas)
        self._unknown: set[int] = set()

    def read(self, raw: bytes) -> Any:
        """As JSON has it: what comes out can be stored. Raises `NotAvro`."""
        if not self._its.framed:
            return _storable(_reader_of(self._known[None])(raw))
        if raw[:1] != _MAGIC or len(raw) < FRAME:
            raise NotAvro("it has no frame of a schema registry")
        return _storable(self._reader(int.from_bytes(raw[1:FRAME]))(raw[FRAME:]))

    def _reader(self, number: int) -> Callable[[bytes], Any]:
        text = self._known.get(None) or self._known.get(number)
        if text is not None:
            return _reader_of(text)
        if self._its.registry is None:
            raise NotAvro(f"there is no schema with the number {number}")
        if number not in self._unknown:
            try:
                found = _fetched(self._its.registry, number)
            except LookupError:
                self._unknown.add(number)
            else:
                if isinstance(found, NotAvro):
                    raise NotAvro(*found.args)
                return found
        raise NotAvro(f"the schema registry knows no schema with the number {number}")


def _storable(value: Any) -> Any:
    return read_client_json(json_bytes(value))


@lru_cache(maxsize=64)
def _reader_of(text: str) -> Callable[[bytes], Any]:
    return avro_reader(json.loads(text))


@lru_cache(maxsize=1_000)
def _fetched(registry: SchemaRegistry, number: int) -> Callable[[bytes], Any] | NotAvro:
    """A number stands for the same schema for ever, and one that is no Avro for none."""
    names: Names = {}
    found = registry.schema(number)
    try:
        _refer(registry, found, names, set())
        return avro_reader(_avro_of(found), names)
    except NotAvro as error:
        return error


def _refer(registry: SchemaRegistry, found: Mapping[str, Any], names: Names, seen: set[tuple[str, int]]) -> None:
    """The types of schemas that one refers to, those first that they refer to themselves."""
    for reference in found.get("references") or ():
        where = (str(reference["subject"]), int(reference["version"]))
        if where not in seen:
            seen.add(where)
            other = registry.version(*where)
            _refer(registry, other, names, seen)
            avro_reader(_avro_of(other), names)


def _avro_of(found: Mapping[str, Any]) -> Any:
    kind = found.get("schemaType") or "AVRO"
    if kind != "AVRO":
        raise NotAvro(f"its schema is {kind}, and not Avro")
    try:
        return json.loads(found["schema"])
    except ValueError as error:
        raise NotAvro(f"its schema is not JSON: {error}") from None
