"""How well the model of the first half predicts the second half: sentence, tables, and what was missed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Cols, Section, Table
from thinktime.documents.wording import listed, users
from thinktime.models.sizing import ASSUMPTIONS, SOURCE

if TYPE_CHECKING:
    from thinktime.predictions.size.own_error import Checked
    from thinktime.stats.estimate import Estimate
    from thinktime.studies.this_machine.analysis import MachineStudy

NAME = "machine-model"
AGREES, MISSED, UNKNOWN = "agrees", "missed", "too wide to tell"
"""Verdicts on a prediction."""
WIDE = 2.0
"""Ratio of the ends of an interval from which on that two have a point in common says nothing."""


def section(study: MachineStudy) -> Section:
    """Section of the predictions."""
    checked = study.checked
    tables = (_responses_table(checked), _throughputs_table(checked)) if checked else ()
    known = listed([str(level.users) for level in study.fitted])
    return Section(
        name=NAME,
        title="How well does the first half predict the second?",
        summary=(
            f"The model was fitted with {known} users, and knows nothing of the others.",
            how_well(checked),
        ),
        tables=tables,
        method="CPU time, think time and response time of the first half, its background load included, "
        f"give a closed network of queues, solved by exact mean value analysis ({SOURCE}). Intervals: over "
        "draws from all work that agrees with these figures, an error of the model of 5 % included. It "
        f"assumes that {listed([item.text for item in ASSUMPTIONS])}.",
        short="model",
    )


def _responses_table(checked: Sequence[Checked]) -> Table:
    return Table.of(
        checked,
        Col("users", lambda one: str(one.users)),
        Col("response, predicted", lambda one: one.predicted),
        Col("response, measured", lambda one: one.measured),
        Col("error", lambda one: _signed(one.error)),
        Col("verdict", _verdict),
        name="machine-model-table",
        caption="The second half, predicted from the first",
        notes=(
            "A prediction agrees if its interval and that of the measurement have a point in common; where "
            f"the ends of one of them differ by more than {WIDE:g} times, that says nothing.",
        ),
    )


def _throughputs_table(checked: Sequence[Checked]) -> Table:
    rivals = list(dict.fromkeys(name for one in checked for name in one.rivals))

    def errors(one: Checked) -> list[Cell]:
        return [
            _signed(one.rivals[name] / one.measured.value - 1.0) if name in one.rivals else None
            for name in rivals
        ]

    return Table.of(
        checked,
        Col("users", lambda one: str(one.users)),
        Col("throughput, predicted", lambda one: one.throughput_predicted),
        Col("throughput, measured", lambda one: one.throughput_measured),
        Cols([f"response by the {name}, error" for name in rivals], errors),
        name="machine-throughputs-table",
        caption="Throughput of the second half, and what another model says of its response",
        folded=True,
    )


def _signed(error: float) -> str:
    return f"{100 * error:+.0f}\N{NO-BREAK SPACE}%".replace("-", "\N{MINUS SIGN}")


def how_well(checked: Sequence[Checked]) -> str:
    """Sentence on the model of the first half, and the second."""
    if not checked:
        return "No number of users of the second half has response times: the model was not checked."
    numbers = {
        verdict: [str(one.users) for one in checked if _verdict(one) == verdict]
        for verdict in (AGREES, MISSED, UNKNOWN)
    }
    if len(numbers[UNKNOWN]) == len(checked):
        text = (
            "Whether a model that knows the first half of the numbers of users alone predicts the second "
            "cannot be told: the intervals are too wide"
        )
    else:
        text = (
            "A model that knows the first half of the numbers of users alone predicts the mean response of "
            f"{len(numbers[AGREES])} of {len(checked)} in the second half within the intervals of both"
        )
        if numbers[MISSED]:
            text += f", and misses it with {users(listed(numbers[MISSED]))}"
        if numbers[UNKNOWN]:
            text += f"; with {users(listed(numbers[UNKNOWN]))} the intervals are too wide to tell"
    worst = max(checked, key=lambda one: abs(one.error))
    return (
        f"{text}. At worst it is {_percent_off(worst)} with {worst.users} users, where it predicts "
        f"{shown.estimate(worst.predicted)} and {shown.estimate(worst.measured)} was measured."
    )


def _verdict(one: Checked) -> str:
    """Whether a prediction agrees with what was measured, misses it, or whether that cannot be told."""
    if not one.holds:
        return MISSED
    return UNKNOWN if any(_is_wide(value) for value in (one.predicted, one.measured)) else AGREES


def _is_wide(value: Estimate) -> bool:
    """True if the ends of an interval are so far apart that it agrees with nearly anything."""
    return value.low is None or value.high is None or value.high > WIDE * value.low


def _percent_off(one: Checked) -> str:
    return f"{abs(one.error) * 100:.0f}\N{NO-BREAK SPACE}% too {'long' if one.error > 0.0 else 'short'}"
