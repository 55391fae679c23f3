"""The plot of the last hour: a column for each minute, made of its verdicts."""

from collections.abc import Sequence

from conjoin.console.filters import instant
from conjoin.console.message_rate import Minute
from conjoin.markup import Markup
from conjoin.plots import ColumnPart, Pillar, columns

VERDICTS = ("correlated", "buffered", "waiting", "expired", "discarded", "refused", "short")
_LABEL_EVERY = 10


def hour_plot(minutes: Sequence[Minute]) -> Markup:
    labelled = [place for place, minute in enumerate(minutes) if minute.at // 60_000_000 % _LABEL_EVERY == 0]
    return columns([_pillar(minute) for minute in minutes], "Verdicts in each minute of the last hour", labelled)


def _pillar(minute: Minute) -> Pillar:
    counts = {verdict: sum(n for (it, _), n in minute.decided.items() if it == verdict) for verdict in VERDICTS}
    parts = [ColumnPart(verdict, verdict, count) for verdict, count in counts.items()]
    return Pillar(instant(minute.at)[11:16], parts)
