"""Charts of a machine with demand paging: shares of its processors' time against what was varied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Table
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.models.prediction import Prediction
    from thinktime.predictions.paging import Point

__all__ = ["levels", "sweep"]

SERIES = {
    "useful_share": Key("useful", colour="user", shape="line"),
    "idle_share": Key("idle", colour="other", shape="line"),
}
SIMULATED = {
    "useful_share": Key("useful, simulated", colour="user", shape="diamond"),
    "idle_share": Key("idle, simulated", colour="other", shape="diamond"),
}
SHARES = charts.Axis("share of the processors' time", format=".0%", low=0.0, high=1.0)


def _row(x: float, key: Key, value: float) -> dict[str, object]:
    return {
        "x": x,
        "series": key.name,
        "value": value,
        "low": value,
        "high": value,
        "shown": shown.quantity(value, "share"),
    }


def levels(found: Prediction) -> Figure:
    """Shares against the number of processes that are always eligible."""
    numbers = range(1, len(found["useful_share"]) + 1)
    rows = [_row(float(n), key, float(found[name][n - 1])) for name, key in SERIES.items() for n in numbers]
    cells: list[tuple[Cell, ...]] = [
        (
            str(n),
            *(
                Estimate(value=float(found[name][n - 1]), unit="share", n=0, method="model")
                for name in SERIES
            ),
        )
        for n in numbers
    ]
    best, last = int(found["optimum"]), shown.quantity(float(found["useful_share"][-1]), "share")
    return Figure(
        name="paging-levels-chart",
        title="Useful and idle time against the number of eligible processes",
        chart=partial(charts.curves, rows, tuple(SERIES.values()), charts.Axis("eligible processes"), SHARES),
        data=_data("paging-levels-chart-data", "eligible", cells),
        alt=(
            f"Useful time is greatest, {shown.quantity(found['optimum_share'], 'share')}, with {best} "
            f"eligible processes, and is {last} with {numbers[-1]}."
        ),
        keys=tuple(SERIES.values()),
    )


def sweep(name: str, title: str, points: Sequence[Point]) -> Figure:
    """Shares against what was varied: lines of the model, and points of what was simulated."""
    rows = [
        _row(point.value, key, float(point.found[figure]))
        for figure, key in SERIES.items()
        for point in points
    ]
    measured = [
        {
            "x": point.value,
            "y": found.value,
            "series": key.name,
            "shown": shown.estimate(replace(found, unit="share")),
        }
        for figure, key in SIMULATED.items()
        for point in points
        if point.simulated is not None and isinstance(found := point.simulated.get(figure), Estimate)
    ]
    keys = (*SERIES.values(), *(SIMULATED.values() if measured else ()))
    cells: list[tuple[Cell, ...]] = [
        (
            f"{point.value:g}",
            *(
                Estimate(value=float(point.found[figure]), unit="share", n=0, method="model")
                for figure in SERIES
            ),
        )
        for point in points
    ]
    first, last = (shown.quantity(float(points[at].found["useful_share"]), "share") for at in (0, -1))
    chart = f"paging-{name.replace('_', '-')}-chart"
    return Figure(
        name=chart,
        title=f"Useful and idle time against {title}",
        chart=partial(_chart, rows, measured, charts.Axis(title)),
        data=_data(f"{chart}-data", title, cells),
        alt=f"Predicted useful time is {first} with {title} {points[0].value:g} and {last} with "
        f"{points[-1].value:g}.",
        keys=keys,
    )


def _chart(rows: charts.Rows, measured: charts.Rows, x: charts.Axis) -> charts.Spec:
    spec = charts.curves(rows, tuple(SERIES.values()), x, SHARES)
    return charts.laid_over(spec, measured, tuple(SIMULATED.values())) if measured else spec


def _data(name: str, title: str, cells: Sequence[tuple[Cell, ...]]) -> Table:
    columns = (Column(title), *(Column(key.name) for key in SERIES.values()))
    return Table(
        name=name,
        caption=f"Useful and idle time by {title}, predicted",
        columns=columns,
        rows=tuple(cells),
        folded=True,
    )
