"""Answers for many machines and think times, which the page moves with its controls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from thinktime.documents import explorer as exploring
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis
from thinktime.documents.document import Figure, Key
from thinktime.documents.explorer import Control, Explorer, Moved, Option, Reading, Varied
from thinktime.documents.series import Point, Series
from thinktime.errors import InputError
from thinktime.models.sizing import Fit
from thinktime.predictions.size import words
from thinktime.predictions.size.answer import (
    USERS_MOST,
    Curves,
    Kept,
    Plan,
    Reached,
    Row,
    Size,
    meeting,
    reached,
)
from thinktime.predictions.size.goals import Goal
from thinktime.predictions.size.measured import Measured, Stretch
from thinktime.stats.estimate import Estimate

CPU_FACTORS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
THINK_FACTORS = (0.25, 0.5, 2.0, 4.0)
MANY_USERS = 150
"""Knee of the plan from which fewer combinations are computed: each takes longer, the more users it has."""
CPU_FACTORS_FEW, THINK_FACTORS_FEW = (0.5, 1.0, 2.0), (0.5, 2.0)
MEMORY_REACH = 5.0
"""Largest ratio of a memory to that of the machine."""
POINTS = 24
"""Numbers of users, about evenly spaced by ratio."""
TOP_MOST = 400
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

    measured: Measured
    fitted: Fit
    goals: tuple[Goal, ...]
    asked: tuple[int, ...]
    """Numbers of users that were asked for."""
    command: str
    """Command that was given, without the options of the controls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """One combination of CPUs and think time."""

    plan: Plan
    found: tuple[Reached, ...]
    """One for each memory."""
    alone_s: float
    right: int
    """Users up to which its curves are drawn."""


def surface(question: Question, size: Size, show: Callable[[float, float], None] | None = None) -> Explorer:
    """Answers around that of a plan, for the controls of a page; `show` gets the work done and all of it."""
    kept: Kept = {}
    cpus, think, memory = _cpus(question, size), _think(question, size), _memory(question, size)
    plans = [replace(one, think_s=other) for one, other in product(cpus.values, think.values)]
    work = 2 * len(plans)
    places = []
    for plan in plans:
        places.append(_place(question, plan, memory.values, kept))
        if show is not None:
            show(len(places), work)
    start = places[cpus.start * len(think.values) + think.start]
    top = min(
        max(start.right, *question.asked, min(max(place.right for place in places), TOP_MOST)), USERS_MOST
    )
    places = [replace(place, right=min(place.right, top)) for place in places]
    users = _users(question, size, top)
    curves, rows = [], []
    for place in places:
        curves.append(Curves.of(question.measured, question.fitted, place.plan, top, kept))
        rows.append([curves[-1].row(number) for number in users.values])
        if show is not None:
            show(len(places) + len(rows), work)
    controls = [users.control, cpus.control, think.control]
    readings = [
        _reading("response", "Mean response", rows, lambda row: row.response),
        _reading("p90", "90 % of responses within", rows, lambda row: row.p90),
        _reading("throughput", "Throughput", rows, lambda row: row.throughput),
        _reading("utilisation", "CPUs busy", rows, lambda row: row.utilisation),
    ]
    if size.memory_bytes is not None:
        controls.append(memory.control)
        base = curves[cpus.start * len(think.values) + think.start]
        sized = [replace(base, memory_bytes=one or base.memory_bytes) for one in memory.values]
        texts = [_text(one.row(number).memory) for one in sized for number in users.values]
        readings.append(
            Reading(
                name="memory",
                label="Memory suffices",
                texts=Varied(by=("memory", "users"), values=tuple(texts)),
            )
        )
        cliffs = [_cliff(question.goals, one, top) for one in sized]
    else:
        cliffs = []
    by = ("cpus", "think", *(("memory",) if cliffs else ()))
    lines = [tuple(words.answer(one)) for place in places for one in place.found]
    drawing = _Drawing(question=question, size=size, places=places, rows=rows, cliffs=cliffs)
    return Explorer(
        title="The answer, and other machines",
        controls=tuple(controls),
        lines=Varied(by=by, values=tuple(lines)),
        always=(),
        readings=tuple(readings),
        moved=(_response(drawing, controls), _throughput(drawing, controls)),
        command=question.command,
        note=NOTE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """Values of a control."""

    control: Control
    values: tuple[Any, ...]

    @property
    def start(self) -> int:
        return self.control.start

    @classmethod
    def of(
        cls, names: tuple[str, str], values: Sequence[Any], start: Any, option: Callable[[Any], Option]
    ) -> _Choice:
        control = Control(
            name=names[0],
            label=names[1],
            options=tuple(option(value) for value in values),
            start=list(values).index(start),
        )
        return cls(control=control, values=tuple(values))


def _cpus(question: Question, size: Size) -> _Choice:
    """Plans with other numbers of CPUs, of which background load leaves something."""
    factors = CPU_FACTORS if size.knee.value < MANY_USERS else CPU_FACTORS_FEW
    here = size.machine.cpus
    measured = question.measured.machine.cpus
    numbers = {here, measured, *(max(round(here * factor), 1) for factor in factors)}
    plans = []
    for number in sorted(numbers):
        plan = replace(size.plan, cpus=None if number == measured else number)
        try:
            plan.machine(question.measured.machine)
        except InputError:
            continue
        plans.append(plan)
    start = next(plan for plan in plans if (plan.cpus or measured) == here)

    def option(plan: Plan) -> Option:
        number = plan.cpus or measured
        return Option(
            text=f"{number}", key=f"{number}", argument="" if plan.cpus is None else f"--cpus {number}"
        )

    return _Choice.of(("cpus", "CPUs"), plans, start, option)


def _think(question: Question, size: Size) -> _Choice:
    factors = THINK_FACTORS if size.knee.value < MANY_USERS else THINK_FACTORS_FEW
    central = question.fitted.central.think_s
    around = [float(f"{central * factor:.2g}") for factor in factors] if central > 0.0 else [1.0, 5.0, 20.0]
    given = size.plan.think_s
    exact = sorted({*around, *([given] if given is not None else [])})
    values: list[float | None] = sorted([None, *exact], key=lambda one: central if one is None else one)

    def option(value: float | None) -> Option:
        if value is None:
            return Option(text=f"{shown.quantity(central, 's')}, as it is", key="as-it-is", argument="")
        return Option(text=shown.quantity(value, "s"), key=f"{value:g}s", argument=f"--think {value:g}s")

    return _Choice.of(("think", "Think time"), values, given, option)


def _memory(question: Question, size: Size) -> _Choice:
    if size.memory_bytes is None or question.measured.memory is None:
        return _Choice.of(("memory", "Memory"), [None], None, lambda _: Option(text="", key="", argument=""))
    total, given = question.measured.memory.total_bytes, size.plan.memory_bytes
    steps = [2.0**power * 1e9 for power in range(-3, 16)]
    reach = MEMORY_REACH if size.knee.value < MANY_USERS else MEMORY_REACH / 2.0
    near = [one for one in steps if total / reach <= one <= total * reach]
    exact = sorted({*near, *([given] if given is not None else [])})
    values: list[float | None] = sorted([None, *exact], key=lambda one: total if one is None else one)

    def option(value: float | None) -> Option:
        if value is None:
            return Option(text=f"{shown.quantity(total, 'byte')}, as it is", key="as-it-is", argument="")
        text = f"{value / 1e9:g}GB" if value % 1e6 == 0.0 else f"{value:.0f}"
        return Option(text=shown.quantity(value, "byte"), key=text, argument=f"--memory {text}")

    return _Choice.of(("memory", "Memory"), values, given, option)


def _users(question: Question, size: Size, top: int) -> _Choice:
    number = min(max(size.number, 1), top)
    start = max(question.asked) if question.asked else number
    spaced = np.unique(np.rint(np.geomspace(1.0, top, POINTS)).astype(int)).tolist()
    values = sorted({*spaced, number, *question.asked})
    return _Choice.of(
        ("users", "Users"),
        values,
        start,
        lambda one: Option(text=f"{one}", key=f"{one}", argument=f"--users {one}"),
    )


def _place(question: Question, plan: Plan, memories: Sequence[float | None], kept: Kept) -> _Place:
    measured, fitted = question.measured, question.fitted
    both = [
        reached(measured, fitted, replace(plan, memory_bytes=memory), question.goals, kept)
        for memory in memories
    ]
    found = tuple(one for one, _ in both)
    curves = both[0][1]
    fitting = max((one.answer.users.value for one in found if one.answer.users is not None), default=0.0)
    knee = found[0].knee.value
    shown_to = min(BEYOND_KNEE * knee, BEYOND_FITTING * fitting) if fitting else BEYOND_KNEE * knee
    right = max(shown_to, min(1.3 * fitting, 4.0 * knee), *question.asked, 2.0)
    return _Place(
        plan=plan,
        found=found,
        alone_s=float(np.median(curves.alone_s)),
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
    size: Size
    places: Sequence[_Place]
    rows: Sequence[Sequence[Row]]
    cliffs: Sequence[tuple[tuple[float, float], ...]]

    def measured(self, place: _Place) -> Sequence[Stretch]:
        """Measurements, where they are of this machine and these users."""
        return self.question.measured.stretches if place.plan.is_as_measured else ()

    def measured_points(self, of: Callable[[Stretch], Estimate]) -> Varied:
        """Points with intervals of what was measured."""
        return self.by_place(
            lambda place: tuple((one.users, *map(_drawn, _ends(of(one)))) for one in self.measured(place))
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
                tuple((row.users, *map(_drawn, of(row))) for row in self.seen(place, rows))
                for place, rows in zip(self.places, self.rows, strict=True)
            ),
        )

    def chosen(self, of: Callable[[Row], float]) -> Varied:
        """Point of the number of users that is set."""
        values = tuple(((row.users, _drawn(of(row))),) for rows in self.rows for row in rows)
        return Varied(by=("cpus", "think", "users"), values=values)

    def upright(self) -> dict[str, Varied]:
        """Lines that stand at a number of users."""
        knee = self.by_place(lambda place: ((_drawn(place.found[0].knee.value),),))
        cliffs = {"cliff": Varied(by=("memory",), values=tuple(self.cliffs))} if self.cliffs else {}
        return {"knee": knee, **cliffs}


def _drawn(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    value = estimate.value
    low = value if estimate.low is None else estimate.low
    return low, value, value if estimate.high is None else estimate.high


def _top(place: _Place, rows: Sequence[Row], of: Callable[[Row], float], others: Sequence[float]) -> float:
    """End of a vertical axis that holds the curve and the other values, a round number."""
    wanted = max(*(of(row) for row in rows if row.users <= place.right), *others, 1e-9)
    step = 10.0 ** math.floor(math.log10(wanted)) / 2.0
    return _drawn(math.ceil(wanted / step - 1e-9) * step)


def _response(drawing: _Drawing, controls: Sequence[Control]) -> Moved:
    goals = [goal for goal in drawing.question.goals if goal.kind == "response"]

    def limits(place: _Place) -> tuple[tuple[float, ...], ...]:
        return tuple((_drawn(goal.limit * (place.alone_s if goal.relative else 1.0)),) for goal in goals)

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
        "curve": drawing.curves(lambda row: (*_ends(row.response), row.p90.value)),
        "measured": drawing.measured_points(lambda one: one.response),
        "goal": drawing.by_place(limits),
        "chosen": drawing.chosen(lambda row: row.response.value),
        **drawing.upright(),
    }
    name = _Name(name="response", title="Response time", axis="response time [s]")
    return _moved(name, drawing, controls, data, tops, lambda row: row.response)


def _throughput(drawing: _Drawing, controls: Sequence[Control]) -> Moved:
    goals = [goal for goal in drawing.question.goals if goal.kind == "throughput"]
    limits = tuple((goal.limit,) for goal in goals)
    tops = tuple(
        _top(
            place,
            rows,
            lambda row: _ends(row.throughput)[2],
            [1.15 * goal.limit for goal in goals] + [one.throughput.value for one in drawing.measured(place)],
        )
        for place, rows in zip(drawing.places, drawing.rows, strict=True)
    )
    data = {
        "curve": drawing.curves(lambda row: _ends(row.throughput)),
        "measured": drawing.measured_points(lambda one: one.throughput),
        **({"goal": drawing.by_place(lambda _: limits)} if goals else {}),
        "chosen": drawing.chosen(lambda row: row.throughput.value),
        **drawing.upright(),
    }
    name = _Name(name="throughput", title="Throughput", axis="interactions per second")
    return _moved(name, drawing, controls, data, tops, lambda row: row.throughput)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Name:
    """Names of a figure."""

    name: str
    title: str
    axis: str


def _moved(
    name: _Name,
    drawing: _Drawing,
    controls: Sequence[Control],
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
    ends = {
        "right": drawing.by_place(lambda place: float(place.right)),
        "top": Varied(by=("cpus", "think"), values=tops),
    }
    rows = {
        key: [dict(zip(fields[key], row, strict=True)) for row in exploring.at_start(varied, controls)]
        for key, varied in data.items()
    }
    start = exploring.at_start(Varied(by=("cpus", "think"), values=tuple(range(len(tops)))), controls)
    place = drawing.places[start]
    seen = [row for row in drawing.rows[start] if row.users <= place.right]
    curve = [Point(key=MEAN, x=row.users, label=str(row.users), y=of(row)) for row in seen]
    series = Series(curve, order=(MEAN,))
    keys = {
        MEAN: "curve",
        **({UPPER: "curve"} if name.name == "response" else {}),
        MEASURED: "measured",
        GOAL: "goal",
        KNEE: "knee",
        CLIFF: "cliff",
    }
    x, y = Axis("users"), Axis(name.axis)
    figure = Figure(
        name=f"size-explored-{name.name}",
        title=f"{name.title} by number of users",
        chart=partial(
            exploring.chart, rows, {key: exploring.at_start(one, controls) for key, one in ends.items()}, x, y
        ),
        data=series.table(
            f"size-explored-{name.name}-data", f"{name.title} when the page opens", "users", folded=True
        ),
        alt=f"When the page opens: {series.course(MEAN)} users. The numbers above follow the controls.",
        keys=tuple(key for key, source in keys.items() if source in data and any(data[source].values)),
        half=True,
    )
    return Moved(figure=figure, data=data, fields={key: fields[key] for key in data}, ends=ends)
