"""Section, tables and sentences common to the predictions of all models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Cols, Section, Table
from thinktime.documents.wording import capital
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.models.prediction import Assumption, Prediction, Quantity

MET = {True: "yes", False: "no", None: "not known"}


def section(
    name: str,
    title: str,
    prediction: Prediction,
    labels: Mapping[str, str],
    *,
    summary: Sequence[str] = (),
    tables: Sequence[Table] = (),
    warnings: Sequence[str] = (),
    n: int = 0,
) -> Section:
    """Section of a prediction of any model.

    Parameters
    ----------
    name, title : str
        Of the section; `name` also begins the names of its tables.
    prediction : Prediction
        Result of the model.
    labels : mapping
        Meaning of each quantity, by name; a quantity without one is shown under its name.
    summary : sequence of str
        The answer in sentences.
    tables : sequence of Table
        Inputs of the model, shown before its results.
    warnings : sequence of str
        Caveats other than assumptions that do not hold.
    n : int
        Observations behind the inputs' intervals.
    """
    return Section(
        name=name,
        title=title,
        summary=(*summary, judgement(prediction.assumptions)),
        tables=(*tables, _figures(name, prediction, labels, n), assumptions(name, prediction)),
        caveats=(*caveats(prediction), *warnings),
        method=f"{capital(prediction.method)}. {prediction.source}.{_interval(prediction)}",
    )


def estimate(quantity: Quantity, n: int = 0) -> Estimate:
    """Quantity of a prediction as a cell: with its interval, or with its unit alone."""
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


def modelled(value: float, unit: str) -> Estimate:
    """Value of a model, as a cell."""
    return Estimate(value=float(value), unit=unit, n=0, method="model")


def judgement(assumptions: Sequence[Assumption]) -> str:
    """Sentence on the number of assumptions that hold."""
    met, unmet, unknown = (sum(item.met is state for item in assumptions) for state in (True, False, None))
    counts = {"met": met, "not met": unmet, "not decided by these inputs": unknown}
    listed = "; ".join(f"{words}: {count}" for words, count in counts.items() if count)
    advice = " If an assumption that is not met matters, do not rely on the prediction." if unmet else ""
    return f"Of {shown.count(len(assumptions), 'assumption')}, {listed}.{advice}"


def caveats(prediction: Prediction) -> tuple[str, ...]:
    """Assumptions that the inputs do not meet, as caveats."""
    return tuple(
        f"Not met: {item.text}{f' ({item.observed})' if item.observed else ''}."
        for item in prediction.assumptions
        if item.met is False
    )


def assumptions(name: str, prediction: Prediction) -> Table:
    """Table of the assumptions with a verdict on each; `name` is that of the section."""
    return Table.of(
        prediction.assumptions,
        Col("assumption", lambda item: item.text),
        Col("met", lambda item: MET[item.met]),
        Col("observed", lambda item: item.observed or None),
        name=f"{name}-assumptions",
        caption="Assumptions of the model",
    )


def _interval(prediction: Prediction) -> str:
    if all(quantity.low is None for quantity in prediction.quantities):
        return ""
    return (
        " Intervals are those of the inputs, propagated to first order; the model's own error is not in them."
    )


def _figures(name: str, prediction: Prediction, labels: Mapping[str, str], n: int) -> Table:
    def values(quantity: Quantity) -> list[tuple[str, Estimate]]:
        if not isinstance(quantity.value, np.ndarray):
            return [(quantity.name, estimate(quantity, n))]
        return [
            (f"{quantity.name} {number}", modelled(value, quantity.unit))
            for number, value in enumerate(quantity.value.ravel().tolist(), start=1)
        ]

    rows: list[tuple[Cell, ...]] = [
        (label, labels.get(quantity.name, ""), value)
        for quantity in prediction.quantities
        for label, value in values(quantity)
    ]
    return Table.of(
        rows,
        Cols(("quantity", "meaning", "predicted"), lambda row: row),
        name=f"{name}-figures",
        caption="Predicted",
    )
