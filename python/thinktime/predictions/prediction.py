"""What a model predicts, and which of its assumptions are met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Section, Table
from thinktime.documents.wording import capital
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.models.prediction import Assumption, Prediction, Quantity

__all__ = ["assumptions", "estimate", "section"]

MET = {True: "yes", False: "no", None: "not known"}


def section(
    name: str,
    title: str,
    prediction: Prediction,
    labels: Mapping[str, str],
    *,
    summary: Sequence[str] = (),
    tables: Sequence[Table] = (),
    caveats: Sequence[str] = (),
    n: int = 0,
) -> Section:
    """Section of any model's prediction.

    Parameters
    ----------
    name, title : str
        Of the section; `name` also begins the names of its tables.
    prediction : Prediction
        What the model said.
    labels : mapping
        Meaning of each quantity, by name; one without stands under its name.
    summary : sequence of str
        The answer in sentences.
    tables : sequence of Table
        What the model was told, shown before its figures.
    caveats : sequence of str
        What to beware of apart from the assumptions.
    n : int
        Observations behind the inputs' intervals.
    """
    return Section(
        name=name,
        title=title,
        summary=(*summary, _judged(prediction.assumptions)),
        tables=(*tables, _figures(name, prediction, labels, n), assumptions(name, prediction)),
        caveats=(*map(_violated, _unmet(prediction.assumptions)), *caveats),
        method=f"{capital(prediction.method)}. {prediction.source}.{_interval(prediction)}",
    )


def estimate(quantity: Quantity, n: int = 0) -> Cell:
    """Return a quantity as a cell: with its interval, or with its unit alone."""
    if isinstance(quantity.value, np.ndarray):
        raise ValueError(f"{quantity.name} is an array: its figures are cells of their own")
    method = "interval propagated from the inputs" if quantity.low is not None else "from exact inputs"
    return Estimate(
        value=float(quantity.value),
        unit=quantity.unit,
        n=n,
        method=method,
        low=quantity.low,
        high=quantity.high,
    )


def _interval(prediction: Prediction) -> str:
    if all(quantity.low is None for quantity in prediction.quantities):
        return ""
    return (
        " Intervals are those of the inputs, propagated to first order; the model's own error is not in them."
    )


def _figures(name: str, prediction: Prediction, labels: Mapping[str, str], n: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for quantity in prediction.quantities:
        words = labels.get(quantity.name, "")
        if isinstance(quantity.value, np.ndarray):
            flat = quantity.value.ravel().tolist()
            rows += [
                (
                    f"{quantity.name} {at}",
                    words,
                    Estimate(value=value, unit=quantity.unit, n=n, method="model"),
                )
                for at, value in enumerate(flat, start=1)
            ]
        else:
            rows.append((quantity.name, words, estimate(quantity, n)))
    columns = (Column("figure"), Column("what it is"), Column("predicted"))
    return Table(name=f"{name}-figures", caption="Predicted", columns=columns, rows=tuple(rows))


def assumptions(name: str, prediction: Prediction) -> Table:
    """List what must hold, and whether it does; `name` is that of the section."""
    columns: tuple[Column, ...] = (Column("assumption"), Column("met"), Column("found"))
    rows: tuple[tuple[Cell, ...], ...]
    rows = tuple((one.text, MET[one.met], one.found or None) for one in prediction.assumptions)
    return Table(name=f"{name}-assumptions", caption="What must hold", columns=columns, rows=rows)


def _unmet(assumptions: Sequence[Assumption]) -> list[Assumption]:
    return [one for one in assumptions if one.met is False]


def _judged(assumptions: Sequence[Assumption]) -> str:
    met, unmet, unknown = (sum(one.met is state for one in assumptions) for state in (True, False, None))
    counts = {"met": met, "not met": unmet, "not to be judged by what was given": unknown}
    told = "; ".join(f"{words}: {count}" for words, count in counts.items() if count)
    advice = " Rely on the prediction only as far as what is not met does not matter." if unmet else ""
    return f"Of {shown.count(len(assumptions), 'assumption')}, {told}.{advice}"


def _violated(one: Assumption) -> str:
    found = f" ({one.found})" if one.found else ""
    return f"Not met: {one.text}{found}."
