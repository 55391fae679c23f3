"""What a page must say, counted row by row from the tables of the store, without Spark and without the report."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.pipeline.source.stories import asking, read

Row = dict[str, Any]
MS = timedelta(milliseconds=1)
AGES = [timedelta(minutes=1), timedelta(minutes=10)]
AGES += [timedelta(hours=1), timedelta(hours=6), timedelta(days=1), timedelta(days=7)]


class Expected:
    """The rows of every table of the page, as texts and exact numbers."""

    def __init__(self, address: str, as_of: datetime) -> None:
        self.as_of = as_of
        self.messages = read(asking(address, "messages"))
        self.subscriptions = read(asking(address, "subscriptions"))
        self.active = sum(row["state"] == "active" for row in read(asking(address, "instances")))

    def reasons(self, name: str | None = None) -> Counter[tuple[str, str]]:
        return Counter((row["verdict"], row["reason"].replace("_", " ")) for row in self._of(name))

    def hours(self, name: str | None = None) -> Counter[tuple[datetime, str]]:
        return Counter((_hour(row["published_at"]), row["verdict"]) for row in self._of(name))

    def kept(self) -> dict[str, tuple[int, ...]]:
        found = {}
        for name, rows in self._by_name(lambda row: row["verdict"] == "buffered").items():
            ages = sorted(self.as_of - row["published_at"] for row in rows)
            overdue = sum(row["deadline_at"] is not None and row["deadline_at"] <= self.as_of for row in rows)
            found[name] = (*_bins(ages), overdue, _ms(ages[(len(ages) - 1) // 2]), _ms(ages[-1]))
        return found

    def busy_keys(self) -> Counter[tuple[str, str]]:
        counts = Counter((row["name"], row["correlation_key"]) for row in self.messages if row["correlation_key"])
        return Counter({key: count for key, count in counts.items() if count > 1})

    def waited(self) -> dict[str, list[int]]:
        """How long those waited that came early, shortest first."""
        later = ("waiting_instance_later", "started_after_lock", "given_back_and_taken")
        found = self._by_name(lambda row: row["reason"] in later)
        return {
            name: sorted(_ms(row["decided_at"] - row["published_at"]) for row in rows) for name, rows in found.items()
        }

    def lost(self) -> dict[str, int]:
        return {name: len(rows) for name, rows in self._by_name(_is_lost_for_want_of_time).items()}

    def arrived(self) -> Counter[tuple[str, str]]:
        """Of each open subscription its key and what arrived."""
        return Counter(
            (row["correlation_key"], self._arrived(row)) for row in self.subscriptions if row["state"] != "closed"
        )

    def waiting_ages(self) -> tuple[int, ...]:
        return _bins([self.as_of - row["opened_at"] for row in self.subscriptions if row["state"] != "closed"])

    def _arrived(self, subscription: Row) -> str:
        key = subscription["correlation_key"]
        same = [row for row in self.messages if row["name"] == subscription["name"]]
        verdicts = {row["verdict"] for row in same if row["correlation_key"] == key}
        if verdicts & {"expired", "discarded"}:
            return "one arrived and was lost: publish it again"
        if "buffered" in verdicts:
            return "one is kept, but not for this instance"
        if "correlated" in verdicts:
            return "one arrived, and was taken before"
        near = any(_blurred(row["correlation_key"]) == _blurred(key) for row in same)
        return "one arrived with almost this key" if near else "nothing arrived"

    def _of(self, name: str | None) -> list[Row]:
        return [row for row in self.messages if name in (None, row["name"])]

    def _by_name(self, chosen: Callable[[Row], bool]) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in filter(chosen, self.messages):
            found.setdefault(row["name"], []).append(row)
        return found


def _is_lost_for_want_of_time(row: Row) -> bool:
    return (row["verdict"], row["reason"]) in (("expired", "nobody_waited"), ("discarded", "ttl_zero"))


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)


def _bins(ages: list[timedelta]) -> tuple[int, ...]:
    counts = Counter(sum(age >= edge for edge in AGES) for age in ages)
    return tuple(counts[place] for place in range(len(AGES) + 1))


def _ms(span: timedelta) -> int:
    return span // MS


def _blurred(key: str) -> str:
    return "".join(key.split()).lower()
