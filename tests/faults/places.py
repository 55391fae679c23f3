"""Where a round happens: a store with the model deployed, a history beside it, and what the checker says at the end."""

import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conjoin.runtime.client_api.answers import Deployment
from conjoin.runtime.opening import create_broker
from conjoin.store import open_store
from conjoin.testing.checking import Finding, check, read_history
from tests.faults.model import MODEL, RESOURCE
from tests.faults.writer import BEGIN_US, Chapter


@dataclass(frozen=True)
class Round:
    """The place and the seed of one round."""

    store: str
    history: Path
    seed: str

    def chapter(self, first: int, count: int, **options: Any) -> Chapter:
        return Chapter(self.store, self.history, self.seed, first, count, **options)

    def finding(self) -> Finding:
        with closing(open_store(self.store)) as store:
            return check(read_history(self.history), store)


def make_store(address: str | Path, shards: int) -> None:
    with closing(create_broker(address, shards, lambda: BEGIN_US)) as broker:
        assert isinstance(broker.deploy([(RESOURCE, MODEL)]), Deployment)


class Templates:
    """Stores that were made once and are copied for each round."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def round(self, folder: Path, seed: str, shards: int) -> Round:
        template = self._folder / f"{shards}-shards"
        if not template.exists():
            make_store(template, shards)
        shutil.copytree(template, folder / "store")
        return Round(str(folder / "store"), folder / "history", seed)
