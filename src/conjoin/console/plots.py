"""Plots as inline SVG: columns for the minutes of an hour, each made of its verdicts. Colours are the style sheet's."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from conjoin.console.filters import instant
from conjoin.console.message_rate import Minute

VERDICTS = ("correlated", "buffered", "waiting", "expired", "discarded", "refused", "short")
_WIDTH, _HEIGHT = 960, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 4, 8, 24
_LINES = 4
_LABEL_EVERY = 10
_HALF_LABEL = 18
_RECT = Markup(
    '<rect class="k-{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1"><title>{}</title></rect>'
)
_LINE = Markup('<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>')
_SCALE = Markup('<text class="scale" x="{}" y="{:.1f}">{:,}</text>')
_LABEL = Markup('<text class="label" x="{:.1f}" y="{}">{}</text>')
_PLOT = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>')


def hour_plot(minutes: Sequence[Minute]) -> Markup:
    top = _round_top(max(sum(minute.decided.values()) for minute in minutes))
    drawn = [*_grid(top), *_columns(minutes, top), *_labels(minutes)]
    return _PLOT.format(_WIDTH, _HEIGHT, "Verdicts in each minute of the last hour", Markup("").join(drawn))


def _columns(minutes: Sequence[Minute], top: int) -> Iterator[Markup]:
    step = (_WIDTH - _LEFT - _RIGHT) / len(minutes)
    for place, minute in enumerate(minutes):
        below = 0
        for verdict in VERDICTS:
            count = sum(count for (it, _), count in minute.decided.items() if it == verdict)
            if count:
                low, high = _y(below, top), _y(below + count, top)
                told = f"{instant(minute.at)[11:16]} {verdict}: {count:,}"
                yield _RECT.format(verdict, _LEFT + step * place + 1, high, step - 2, low - high, told)
                below += count


def _grid(top: int) -> Iterator[Markup]:
    for number in range(_LINES + 1):
        value = top * number // _LINES
        yield _LINE.format(_LEFT, _WIDTH - _RIGHT, _y(value, top), _y(value, top))
        yield _SCALE.format(_LEFT - 8, _y(value, top), value)


def _labels(minutes: Sequence[Minute]) -> Iterator[Markup]:
    step = (_WIDTH - _LEFT - _RIGHT) / len(minutes)
    for place, minute in enumerate(minutes):
        if minute.at // 60_000_000 % _LABEL_EVERY == 0:
            middle = min(_LEFT + step * (place + 0.5), _WIDTH - _HALF_LABEL)
            yield _LABEL.format(middle, _HEIGHT - 6, instant(minute.at)[11:16])


def _y(value: int, top: int) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / top


def _round_top(most: int) -> int:
    """The next number that divides into round lines."""
    scale = 1
    while True:
        for top in (4, 8, 12, 20, 40):
            if most <= top * scale:
                return top * scale
        scale *= 10
