"""Intervals from the JSON of a range query: series by series in the text, time by time in the log."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from thinktime.errors import InputError
from thinktime.log import Column
from thinktime.sources.importers.importer import Opened
from thinktime.sources.importers.interval import Interval
from thinktime.sources.importers.json_stream import DamagedJsonError, JsonStream
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.prometheus.rows import BOOT, Known, Rows, Scrape, Series
from thinktime.sources.importers.prometheus.rules import RULES, UNAME
from thinktime.sources.importers.prometheus.scrapes import TIMES_S, settle, without_others

CELLS_MAX = 1 << 24
"""Most values that are kept, 8 bytes each: the text has them by series, the log by time."""
TEXT_MAX = 60
EXAMPLE = (
    "curl -G HOST/api/v1/query_range --data-urlencode 'query={__name__=~\"node_.+\"}' -d start=... -d step=15"
)


def opened(path: Path, problems: Problems) -> Opened:
    """Opened answer of a query."""
    known = Known(problems=problems)
    columns: dict[str, tuple[Column, ...]] = {}
    return Opened(
        intervals=_intervals(path, known, columns, problems), machine=known.machine, columns=columns
    )


def _intervals(
    path: Path, known: Known, columns: dict[str, tuple[Column, ...]], problems: Problems
) -> Iterator[Interval]:
    grid = _Grid(path=path, known=known, problems=problems)
    stream = JsonStream(path)
    try:
        grid.read(stream)
    except DamagedJsonError as error:
        problems.add("truncated", f"{error}; the series before it are kept")
    finally:
        stream.close()
    settle(known, columns)
    rows = Rows(problems=problems)
    for scrape in grid.scrapes():
        interval = rows.interval(scrape)
        if interval is not None:
            yield without_others(interval, columns, problems)


@dataclass(slots=True, kw_only=True)
class _Grid:
    """Values of all series by time."""

    path: Path
    known: Known
    problems: Problems
    places: dict[int, int] = field(default_factory=dict)
    """Place of each time [us] in the arrays."""
    values: dict[Series, array[float]] = field(default_factory=dict)
    boots: array[float] = field(default_factory=lambda: array("d"))
    cells: int = 0

    def read(self, stream: JsonStream) -> None:
        """Read the whole answer."""
        for key in stream.fields():
            if key == "data":
                self._data(stream)
            else:
                value = stream.value()
                if key == "error":
                    raise InputError(f"{self.path}: is the error of a query: {str(value)[:200]}")

    def _data(self, stream: JsonStream) -> None:
        for key in stream.fields():
            if key != "result":
                value = stream.value()
                if key == "resultType" and value != "matrix":
                    raise InputError(
                        f"{self.path}: holds a {str(value)[:TEXT_MAX]}, the values at one time; ask "
                        f"/api/v1/query_range: "
                        f"{EXAMPLE}"
                    )
                continue
            for number in stream.elements():
                self._series(stream.value(), f"data.result[{number}]")

    def _series(self, item: object, place: str) -> None:
        metric = item.get("metric") if isinstance(item, dict) else None
        values = item.get("values") if isinstance(item, dict) else None
        if not isinstance(metric, dict) or not isinstance(values, list):
            self.problems.add("damaged_record", f"{place}: an object with metric and values is needed")
            return
        labels = {str(name): str(text) for name, text in metric.items()}
        name = labels.pop("__name__", "")
        if not name:
            self.problems.add(
                "unread_series",
                f"{place}: has no name: ask for the metrics themselves, not for their rate() or sum()",
            )
            return
        if name not in RULES and name not in (BOOT, UNAME):
            return
        label = f"{name} of " + ", ".join(f"{key}={text}" for key, text in sorted(labels.items()))
        series = self.known.of(name, labels, label)
        if name == BOOT:
            self._fill(self.boots, values, place)
        elif series is not None:
            if label in self.known.series:
                self.problems.add(
                    "duplicate_series", f"{place}: the series is in the answer twice; the first is kept"
                )
                return
            self.known.series[label] = series
            found = array("d")
            self._fill(found, values, place)
            self.values[series] = found

    def _fill(self, found: array[float], values: list[object], place: str) -> None:
        for number, pair in enumerate(values):
            point = _point(pair)
            if point is None:
                self.problems.add("damaged_record", f'{place}.values[{number}]: [time, "value"] is needed')
                continue
            time_us, value = point
            at = self.places.setdefault(time_us, len(self.places))
            if at >= len(found):
                grow = at + 1 - len(found)
                self.cells += grow
                if self.cells > CELLS_MAX:
                    raise InputError(
                        f"{self.path}: has more than {CELLS_MAX} values that are read; ask for a shorter "
                        f"range, a longer "
                        "step, or fewer series"
                    )
                found.extend([math.nan] * grow)
            found[at] = value

    def scrapes(self) -> Iterator[Scrape]:
        """Values of each time, in order of time; a series without a point is absent, as in a scrape."""
        for time_us in sorted(self.places):
            at = self.places[time_us]
            values = {
                series: found[at]
                for series, found in self.values.items()
                if at < len(found) and not math.isnan(found[at])
            }
            boot = self.boots[at] if at < len(self.boots) else math.nan
            if values:
                yield Scrape(time_us=time_us, values=values, boot_s=None if math.isnan(boot) else boot)


def _point(pair: object) -> tuple[int, float] | None:
    if (
        not isinstance(pair, list)
        or len(pair) != 2
        or not isinstance(pair[1], str)
        or len(pair[1]) > TEXT_MAX
    ):
        return None
    time = pair[0]
    if (
        isinstance(time, bool)
        or not isinstance(time, (int, float))
        or not TIMES_S.start <= time < TIMES_S.stop
    ):
        return None
    try:
        return round(time * 1e6), float(pair[1])
    except ValueError:
        return None
