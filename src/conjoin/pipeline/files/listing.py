"""Which files a path means, and their format, seen from the names alone. Nothing of Spark is needed for it."""

from pathlib import Path

from conjoin.errors import InputError

FORMATS = {"parquet": "parquet", "jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl", "csv": "csv"}
_READABLE = ".parquet, .jsonl, .ndjson, .json or .csv (the text ones also with .gz)"


def format_of(name: str) -> str | None:
    """The format of a file by its name; None when it is none of ours."""
    stem = name.lower()
    text = stem.removesuffix(".gz")
    found = FORMATS.get(text.rpartition(".")[2]) if "." in text else None
    return None if found == "parquet" and text != stem else found


def files_here(table: str, path: str) -> list[str] | None:
    """The files of a path on this machine, but for hidden ones, as Spark's own marks are. None: it is not here."""
    here = Path(path)
    if here.is_file():
        return [str(here)]
    if not here.is_dir():
        return None
    inside = [file for file in sorted(here.rglob("*")) if file.is_file()]
    files = [str(file) for file in inside if not _is_hidden(file.relative_to(here))]
    if not files and not (here / "_SUCCESS").exists():
        raise InputError([f"{table}: {path} is a folder without any file"])
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts)


def one_format(table: str, path: str, files: list[str]) -> str | None:
    """That of all files; None when there are none."""
    formats = sorted({found for found in map(format_of, files) if found})
    strange = [file for file in files if format_of(file) is None]
    if strange:
        raise InputError([f"{table}: {path}: {Path(strange[0]).name} is not {_READABLE}"])
    if len(formats) > 1:
        raise InputError([f"{table}: {path} holds files of more than one format: {', '.join(formats)}"])
    return formats[0] if formats else None


def header_names(table: str, file: str, names: list[str]) -> tuple[str, ...]:
    """The columns that a header names, each once."""
    other = next((sign for sign in (";", "\t", "|") if len(names) == 1 and sign in names[0]), None)
    if other is not None:
        raise InputError([f"{table}: {file}: its values are separated by {other!r}; only commas are read"])
    header = tuple(name.strip() or f"_c{place}" for place, name in enumerate(names))
    small = [name.lower() for name in header]
    twice = sorted({name for name in small if small.count(name) > 1})
    if twice:
        raise InputError([f"{table}: {file}: the header names {', '.join(twice)} twice"])
    return header
