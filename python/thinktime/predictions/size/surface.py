"""Answers for many machines and think times, which the page moves with its controls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from thinktime.documents import explorer as exploring
from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Figure, Key
from thinktime.documents.explorer import Control, Explorer, Moved, Option, Reading, Varied
from thinktime.predictions.size import choices, words
from thinktime.predictions.size.answer import (
    USERS_MOST,
    Curves,
    Known,
    Plan,
    Reached,
    Row,
    Size,
    meeting,
    reached,
)
from thinktime.predictions.size.choices import Choice
from thinktime.predictions.size.goals import Goal
from thinktime.predictions.size.measured import Measured, Stretch
from thinktime.stats.estimate import Estimate

CPU_FACTORS = (0.5, 1.0, 1.5, 2.0, 4.0)
THINK_FACTORS = (0.5, 2.0, 4.0)
MANY_USERS = 150
"""Knee of the plan from which fewer combinations are computed: each takes longer, the more users it has."""
CPU_FACTORS_FEW, THINK_FACTORS_FEW = (0.5, 1.0, 2.0), (0.5, 2.0)
MEMORY_REACH = 5.0
"""Largest ratio of a memory to that of the machine."""
POINTS = 24
"""Numbers of users, about evenly spaced by ratio."""
TOP_MOST = 250
"""Most users of the curves, unless the plan itself needs more."""
BEYOND_KNEE = 1.7
"""End of a curve, as a multiple of the knee: far enough to see it rise."""
BEYOND_FITTING = 3.0
"""End of a curve, as a multiple of the most users that fit with any memory, if that comes first."""
DIGITS = 4
"""Significant digits of what is drawn; what is printed is a text."""
NOTE = (
    "Every position of the controls was computed when this page was made, with the digits that the command "
    "below prints. Lines join the numbers of users of the control; nothing between them was computed."
)
MEAN, UPPER, MEASURED, GOAL, KNEE, CLIFF = (
    Key("mean, predicted, with its interval", colour="user", shape="line"),
    Key("90 % within, predicted", colour="p90", shape="line"),
    Key("measured", colour="system", shape="circle"),
    Key("goal", colour="interrupt", shape="dashed"),
    Key("knee", colour="queue", shape="upright"),
    Key("memory runs short", colour="memory"),
)
CURVE = ("x", "low", "value", "high", "upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything that an answer follows from."""

    known: Known
    asked: tuple[int, ...]
    """Numbers of users that were asked for."""
    command: str
    """Command that was given, without the options of the controls."""

    @property
    def measured(self) -> Measured:
        """Measurement, or figures that were given."""
        return self.known.measured

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Goals to meet."""
        return self.known.goals


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """Answers for all positions of the controls."""

    explorer: Explorer
    agreement: float
    """Largest relative difference between simulated means and those of the model, over all positions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """One combination of CPUs and think time."""

    plan: Plan
    found: tuple[Reached, ...]
    """One for each memory."""
    alone_s: float
    right: int
    """Users up to which its curves are drawn."""


def surface(question: Question, size: Size, show: Callable[[float, float], None] | None = None) -> Surface:
    """Answers around that of a plan, for the controls of a page; `show` gets the work done and all of it."""
    known = question.known
    cpus, think, memory = _choices(question, size)
    plans = [replace(size.found.plan, cpus=a, think_s=b) for a, b in product(cpus.values, think.values)]
    work = 2 * len(plans)
    places = []
    for plan in plans:
        places.append(_place(question, plan, memory.values))
        if show is not None:
            show(len(places), work)
    start = places[cpus.start * len(think.values) + think.start]
    top = min(
        max(start.right, *question.asked, min(max(place.right for place in places), TOP_MOST)), USERS_MOST
    )
    places = [replace(place, right=min(place.right, top)) for place in places]
    users = _users(question, size, top)
    rows, unknowns = [], []
    for place in places:
        curves = known.curves(place.plan, top)
        rows.append(curves.rows(users.values))
        unknowns.append(known.unknown(place.plan, max(top, *(one.most for one in place.found))))
        if show is not None:
            show(len(places) + len(rows), work)
    controls = [users.control, cpus.control, think.control]
    readings = [
        _reading("response", "Mean response", rows, lambda row: row.response),
        _reading("p90", "90 % of responses within", rows, lambda row: row.p90),
        _reading("throughput", "Throughput", rows, lambda row: row.throughput),
        _reading("utilisation", "CPUs busy", rows, lambda row: row.utilisation),
    ]
    cliffs: list[tuple[tuple[float, float], ...]] = []
    if start.found[0].memory_bytes is not None:
        controls.append(memory.control)
        sized = [known.curves(replace(start.plan, memory_bytes=one), top) for one in memory.values]
        texts = [_text(row.memory) for one in sized for row in one.rows(users.values)]
        by_memory = Varied(by=("memory", "users"), values=tuple(texts))
        readings.append(Reading(name="memory", label="Memory suffices", texts=by_memory))
        cliffs = [_cliff(question.goals, one, top) for one in sized]
    by = ("cpus", "think", *(("memory",) if cliffs else ()))
    lines, caveats = [], []
    for place, wide in zip(places, unknowns, strict=True):
        for one in place.found:
            lines.append(tuple(words.sentences(one)))
            known_, hardly = (tuple(words.caveats(one, each, question.measured)) for each in (None, wide))
            # As the command for that number of users, which looks no further than it must.
            caveats += [
                hardly if wide is not None and wide.users <= max(one.most, number) else known_
                for number in users.values
            ]
    drawing = _Drawing(
        question=question,
        places=places,
        rows=rows,
        cliffs=cliffs,
        controls=controls,
        readings={one.name: one for one in readings},
    )
    explorer = Explorer(
        title="The answer, and other machines",
        controls=tuple(controls),
        lines=Varied(by=by, values=tuple(lines)),
        always=(),
        caveats=Varied(by=(*by, "users"), values=tuple(caveats)),
        readings=tuple(readings),
        moved=(_response(drawing), _throughput(drawing)),
        command=question.command,
        note=NOTE,
    )
    return Surface(explorer=explorer, agreement=max(one.agreement for place in places for one in place.found))


def _choices(question: Question, size: Size) -> tuple[Choice, Choice, Choice]:
    """CPUs, think times and memories around those of the plan."""
    few = not size.found.knee.value < MANY_USERS
    plan, measured = size.found.plan, question.measured
    central = question.known.fitted.central.think_s
    reach = MEMORY_REACH / 2.0 if few else MEMORY_REACH
    return (
        choices.cpus(plan, measured.machine, CPU_FACTORS_FEW if few else CPU_FACTORS),
        choices.think(
            plan,
            central,
            THINK_FACTORS_FEW if few else THINK_FACTORS,
            f"{shown.quantity(central, 's')}, as it is",
        ),
        Choice.none("memory")
        if size.found.memory_bytes is None or measured.memory is None
        else choices.memory(plan, measured.memory.total_bytes, reach),
    )


def _users(question: Question, size: Size, top: int) -> Choice:
    number = min(max(size.found.number, 1), top)
    start = max(question.asked) if question.asked else number
    spaced = np.unique(np.rint(np.geomspace(1.0, top, POINTS)).astype(int)).tolist()
    values = sorted({*spaced, number, *question.asked})
    return Choice.of(
        ("users", "Users"),
        values,
        start,
        lambda one: Option(text=f"{one}", key=f"{one}", argument=f"--users {one}"),
    )


def _place(question: Question, plan: Plan, memories: Sequence[float | None]) -> _Place:
    known = question.known
    found = tuple(reached(known, replace(plan, memory_bytes=memory)) for memory in memories)
    fitting = max((one.answer.users.value for one in found if one.answer.users is not None), default=0.0)
    seen = [float(question.measured.peak)] if found[0].is_refuted else []
    knee = found[0].knee.value
    shown_to = min(BEYOND_KNEE * knee, BEYOND_FITTING * fitting) if fitting else BEYOND_KNEE * knee
    right = max(shown_to, min(1.3 * fitting, 4.0 * knee), *seen, *question.asked, 2.0)
    return _Place(
        plan=plan,
        found=found,
        alone_s=float(np.median(known.curves(plan, 1).alone_s)),
        right=min(math.ceil(right), USERS_MOST),
    )


def _text(value: Estimate | None) -> str:
    return shown.cell(value)


def _reading(
    name: str, label: str, rows: Sequence[Sequence[Row]], value: Callable[[Row], Estimate]
) -> Reading:
    texts = tuple(_text(value(row)) for curve in rows for row in curve)
    return Reading(name=name, label=label, texts=Varied(by=("cpus", "think", "users"), values=texts))


def _cliff(goals: Sequence[Goal], curves: Curves, top: int) -> tuple[tuple[float, float], ...]:
    """Where memory runs short, and the end of that region."""
    goal = next(goal for goal in goals if goal.kind == "memory")
    users = meeting(goal, curves).users
    return () if users is None else ((users.value, 2.0 * top),)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawing:
    """What the figures are drawn from."""

    question: Question
    places: Sequence[_Place]
    rows: Sequence[Sequence[Row]]
    cliffs: Sequence[tuple[tuple[float, float], ...]]
    controls: Sequence[Control]
    readings: Mapping[str, Reading]

    def measured(self, place: _Place) -> Sequence[Stretch]:
        """Measurements, where they are of this machine and these users."""
        return self.question.measured.stretches if place.plan.is_as_measured else ()

    def measured_points(self, of: Callable[[Stretch], Estimate]) -> Varied:
        """Points with intervals of what was measured."""
        return self.by_place(
            lambda place: tuple((one.users, *map(drawn, ends(of(one)))) for one in self.measured(place))
        )

    def by_place(self, of: Callable[[_Place], Any]) -> Varied:
        """Something for each combination of CPUs and think time."""
        return Varied(by=("cpus", "think"), values=tuple(of(place) for place in self.places))

    def seen(self, place: _Place, rows: Sequence[Row]) -> list[Row]:
        """Rows up to the end of the axis, and the first beyond it."""
        inside = [row for row in rows if row.users <= place.right]
        return [*inside, *rows[len(inside) : len(inside) + 1]]

    def curves(self, of: Callable[[Row], tuple[float, ...]]) -> Varied:
        """Rows of the curve of each combination."""
        return Varied(
            by=("cpus", "think"),
            values=tuple(
                tuple((row.users, *map(drawn, of(row))) for row in self.seen(place, rows))
                for place, rows in zip(self.places, self.rows, strict=True)
            ),
        )

    def chosen(self, of: Callable[[Row], float]) -> Varied:
        """Point of the number of users that is set."""
        values = tuple(((row.users, drawn(of(row))),) for rows in self.rows for row in rows)
        return Varied(by=("cpus", "think", "users"), values=values)

    def upright(self) -> dict[str, Varied]:
        """Lines that stand at a number of users."""
        # Of a model that does not describe the log, the knee is as wrong as the rest.
        knee = self.by_place(
            lambda place: () if place.found[0].is_refuted else ((drawn(place.found[0].knee.value),),)
        )
        cliffs = {"cliff": Varied(by=("memory",), values=tuple(self.cliffs))} if self.cliffs else {}
        return {"knee": knee, **cliffs}


def drawn(value: float) -> float:
    """Value with as many digits as a figure needs."""
    return float(f"{value:.{DIGITS}g}")


def ends(estimate: Estimate) -> tuple[float, float, float]:
    """Low end, value and high end of an estimate."""
    value = estimate.value
    low = value if estimate.low is None else estimate.low
    return low, value, value if estimate.high is None else estimate.high


def _top(place: _Place, rows: Sequence[Row], of: Callable[[Row], float], others: Sequence[float]) -> float:
    """End of a vertical axis that holds the curve and the other values, a round number."""
    wanted = max(*(of(row) for row in rows if row.users <= place.right), *others, 1e-9)
    step = 10.0 ** math.floor(math.log10(wanted)) / 2.0
    return drawn(math.ceil(wanted / step - 1e-9) * step)


def _response(drawing: _Drawing) -> Moved:
    goals = [goal for goal in drawing.question.goals if goal.kind == "response"]

    def limits(place: _Place) -> tuple[tuple[float, ...], ...]:
        return tuple((drawn(goal.limit * (place.alone_s if goal.relative else 1.0)),) for goal in goals)

    tops = tuple(
        _top(
            place,
            rows,
            lambda row: row.p90.value,
            [
                *(1.15 * limit for (limit,) in limits(place)),
                *(one.response.value for one in drawing.measured(place)),
            ],
        )
        for place, rows in zip(drawing.places, drawing.rows, strict=True)
    )
    data = {
        "curve": drawing.curves(lambda row: (*ends(row.response), row.p90.value)),
        "measured": drawing.measured_points(lambda one: one.response),
        "goal": drawing.by_place(limits),
        "chosen": drawing.chosen(lambda row: row.response.value),
        **drawing.upright(),
    }
    name = _Name(
        name="response", title="Response time", axis="response time [s]", columns=("response", "p90")
    )
    return _moved(name, drawing, data, tops, lambda row: row.response)


def _throughput(drawing: _Drawing) -> Moved:
    goals = [goal for goal in drawing.question.goals if goal.kind == "throughput"]
    limits = tuple((goal.limit,) for goal in goals)
    tops = tuple(
        _top(
            place,
            rows,
            lambda row: ends(row.throughput)[2],
            [1.15 * goal.limit for goal in goals] + [one.throughput.value for one in drawing.measured(place)],
        )
        for place, rows in zip(drawing.places, drawing.rows, strict=True)
    )
    data = {
        "curve": drawing.curves(lambda row: ends(row.throughput)),
        "measured": drawing.measured_points(lambda one: one.throughput),
        **({"goal": drawing.by_place(lambda _: limits)} if goals else {}),
        "chosen": drawing.chosen(lambda row: row.throughput.value),
        **drawing.upright(),
    }
    columns = ("throughput", "utilisation", *(("memory",) if "memory" in drawing.readings else ()))
    name = _Name(name="throughput", title="Throughput", axis="interactions per second", columns=columns)
    return _moved(name, drawing, data, tops, lambda row: row.throughput)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Name:
    """Names of a figure."""

    name: str
    title: str
    axis: str
    columns: tuple[str, ...]
    """Readings in its data table."""


def _moved(
    name: _Name,
    drawing: _Drawing,
    data: dict[str, Varied],
    tops: tuple[float, ...],
    of: Callable[[Row], Estimate],
) -> Moved:
    fields = {
        "curve": CURVE if name.name == "response" else CURVE[:-1],
        "measured": CURVE[:-1],
        "goal": ("value",),
        "knee": ("x",),
        "cliff": ("x", "end"),
        "chosen": ("x", "value"),
    }
    controls = drawing.controls
    ends = {
        "right": drawing.by_place(lambda place: float(place.right)),
        "top": Varied(by=("cpus", "think"), values=tops),
    }
    rows = {
        key: [dict(zip(fields[key], row, strict=True)) for row in exploring.at_start(varied, controls)]
        for key, varied in data.items()
    }
    told = Varied(
        by=("cpus", "think"),
        values=tuple(
            _told(name.title, [row for row in rows_ if row.users <= place.right], of)
            for place, rows_ in zip(drawing.places, drawing.rows, strict=True)
        ),
    )
    keys = {
        MEAN: "curve",
        **({UPPER: "curve"} if name.name == "response" else {}),
        MEASURED: "measured",
        GOAL: "goal",
        KNEE: "knee",
        CLIFF: "cliff",
    }
    x, y = Axis("users"), Axis(name.axis)
    title = f"{name.title} by number of users"
    figure = Figure(
        name=f"size-explored-{name.name}",
        title=title,
        chart=partial(
            exploring.chart, rows, {key: exploring.at_start(one, controls) for key, one in ends.items()}, x, y
        ),
        data=exploring.listing(
            f"size-explored-{name.name}-data",
            title,
            controls,
            [drawing.readings[column] for column in name.columns],
        ),
        alt=exploring.at_start(told, controls),
        keys=tuple(key for key, source in keys.items() if source in data and any(data[source].values)),
        half=True,
    )
    return Moved(
        figure=figure,
        words=told,
        columns=name.columns,
        data=data,
        fields={key: fields[key] for key in data},
        ends=ends,
    )


def _told(title: str, rows: Sequence[Row], of: Callable[[Row], Estimate]) -> str:
    """Beginning and end of a curve in words."""
    ends = {row.users: row for row in (rows[0], rows[-1])}.values()
    course = ", ".join(f"{_text(of(row))} with {shown.count(row.users, 'user')}" for row in ends)
    return f"{title}, predicted: {course}."
