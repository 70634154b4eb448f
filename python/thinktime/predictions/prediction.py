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
    from thinktime.models.uncertain import Known

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
        method=f"{capital(prediction.method)}. {prediction.source}.{interval(prediction)}",
        result=prediction.to_dict(),
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


def element(quantity: Quantity, *index: int) -> Estimate:
    """One value of a quantity that is an array, as a cell: with its interval where it has one."""
    low, high = (None, None) if quantity.ends is None else (float(end[index]) for end in quantity.ends)
    method = "interval propagated from the inputs" if low is not None else "model"
    value = float(np.asarray(quantity.value)[index])
    return Estimate(value=value, unit=quantity.unit, n=0, method=method, low=low, high=high)


def modelled(value: float, unit: str) -> Estimate:
    """Value of a model, as a cell."""
    return Estimate(value=float(value), unit=unit, n=0, method="model")


def given(known: Known, unit: str) -> Cell:
    """Input as a cell: an estimate with its interval, or a number."""
    return known.with_unit(unit) if isinstance(known, Estimate) else known


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
    return assumptions_table(name, prediction.assumptions)


def assumptions_table(name: str, listed: Sequence[Assumption]) -> Table:
    """Table of assumptions with a verdict on each; `name` is that of the section."""
    return Table.of(
        listed,
        Col("assumption", lambda item: item.text),
        Col("met", lambda item: MET[item.met]),
        Col("observed", lambda item: item.observed or None),
        name=f"{name}-assumptions",
        caption="Assumptions of the model",
    )


def interval(prediction: Prediction) -> str:
    """Sentence on the intervals of a prediction; empty if it has none."""
    if all(quantity.low is None and quantity.ends is None for quantity in prediction.quantities):
        return ""
    return (
        " Intervals are those of the inputs, propagated to first order; the model's own error is not in them."
    )


def _figures(name: str, prediction: Prediction, labels: Mapping[str, str], n: int) -> Table:
    def values(quantity: Quantity) -> list[tuple[str, Estimate]]:
        if not isinstance(quantity.value, np.ndarray):
            return [(quantity.name, estimate(quantity, n))]
        return [
            (f"{quantity.name} {number}", element(quantity, *index))
            for number, index in enumerate(np.ndindex(quantity.value.shape), start=1)
        ]

    rows: list[tuple[Cell, ...]] = [
        (label, value, labels.get(quantity.name, ""))
        for quantity in prediction.quantities
        for label, value in values(quantity)
    ]
    return Table.of(
        rows,
        Cols(("quantity", "predicted", "meaning"), lambda row: row),
        name=f"{name}-figures",
        caption="Predicted",
    )
