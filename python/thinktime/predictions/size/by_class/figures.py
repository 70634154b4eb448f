"""Figures of the page by class: the response of each class by its users, which the other controls move."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from thinktime.documents import explorer as exploring
from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Figure
from thinktime.documents.explorer import Control, Moved, Reading, Varied
from thinktime.predictions.size.answer import Plan
from thinktime.predictions.size.by_class.answer import Mixed, OfClass, Question
from thinktime.predictions.size.by_class.classes import UserClass
from thinktime.predictions.size.choices import Choice
from thinktime.predictions.size.surface import CLIFF, CURVE, GOAL, KNEE, MEAN, MEASURED, UPPER, drawn, ends
from thinktime.stats.estimate import Estimate

Users = tuple[int, ...]
"""Users of each class."""
MARGIN = 1.05
"""End of an axis of users over the most of the control."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One combination of CPUs, think time and memory."""

    question: Question
    found: Mapping[Users, Mixed]

    @property
    def as_measured(self) -> bool:
        """True if machine and work are those of the log."""
        return replace(self.question.plan, memory_bytes=None, swap_speed=None) == Plan()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Everything that was computed for the page."""

    names: tuple[str, ...]
    """Classes."""
    users: tuple[Choice, ...]
    """Of each class."""
    controls: tuple[Control, ...]
    places: tuple[Place, ...]
    """By CPUs and think time."""
    memories: tuple[Place, ...]
    """By memory; empty where it has no control."""

    @property
    def by(self) -> tuple[str, ...]:
        """Controls on which all but memory depends."""
        return ("cpus", "think", *(one.control.name for one in self.users))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curve:
    """One class, against its own users."""

    grid: Grid
    at: int

    @property
    def name(self) -> str:
        return self.grid.names[self.at]

    @property
    def numbers(self) -> tuple[int, ...]:
        values: tuple[int, ...] = self.grid.users[self.at].values
        return values

    @property
    def right(self) -> float:
        return MARGIN * self.numbers[-1]

    def others(self) -> Iterator[Users]:
        """Users of all classes, one of this, for every combination of the others."""
        yield from product(*((1,) if at == self.at else one.values for at, one in enumerate(self.grid.users)))

    def mix(self, others: Users, users: int) -> Users:
        return (*others[: self.at], users, *others[self.at + 1 :])

    def named(self, others: Users) -> dict[str, int]:
        """Users by name, one of this class."""
        return dict(zip(self.grid.names, others, strict=True))

    def of(self, mix: Mixed) -> OfClass:
        return next(one for one in mix.classes if one.name == self.name)

    def row(self, place: Place, others: Users) -> list[tuple[int, OfClass]]:
        return [(users, self.of(place.found[self.mix(others, users)])) for users in self.numbers]

    def varied(self, of: Callable[[Place, Users], Any]) -> Varied:
        """Something for every combination of CPUs, think time and users of the others."""
        own = f"users-{self.at}"
        return Varied(
            by=tuple(name for name in self.grid.by if name != own),
            values=tuple(of(place, others) for place in self.grid.places for others in self.others()),
        )

    def measured(self, place: Place, others: Users) -> list[tuple[int, Estimate]]:
        """What was measured, where it was with these users of the others."""
        classes: Sequence[UserClass] = place.question.classes
        steady = len(place.question.measured.stretches) == 1
        same = all(
            one.users == other
            for at, (one, other) in enumerate(zip(classes, others, strict=True))
            if at != self.at
        )
        own = classes[self.at]
        return [(own.users, own.response)] if place.as_measured and steady and same else []

    def goals(self, place: Place) -> list[float]:
        question = place.question
        return [
            goal.limit * (question.alone_s(self.name) if goal.relative else 1.0)
            for goal in question.goals
            if goal.kind == "response"
        ]

    def top(self, place: Place, others: Users) -> float:
        wanted = max(
            *(one.p90.value for _, one in self.row(place, others)),
            *(ends(one.response)[2] for _, one in self.row(place, others)),
            *(1.15 * limit for limit in self.goals(place)),
            *(one.value for _, one in self.measured(place, others)),
        )
        step = 10.0 ** math.floor(math.log10(wanted)) / 2.0
        return drawn(math.ceil(wanted / step - 1e-9) * step)


def moved(grid: Grid, readings: Sequence[Reading]) -> Iterator[Moved]:
    """A figure for each class that has users."""
    for at, choice in enumerate(grid.users):
        if choice.values[-1]:
            yield _moved(_Curve(grid=grid, at=at), readings)


def _data(curve: _Curve) -> dict[str, Varied]:
    """Data sets of a figure, by name."""
    grid = curve.grid

    def points(place: Place, others: Users) -> tuple[Any, ...]:
        return tuple(
            (users, *map(drawn, (*ends(one.response), one.p90.value)))
            for users, one in curve.row(place, others)
        )

    def upright(place: Place, others: Users) -> tuple[Any, ...]:
        knee = place.question.knee(curve.named(others), curve.name)
        return ((drawn(knee),),) if knee > 0.0 else ()

    cliffs = tuple(
        ()
        if (most := place.question.in_memory(curve.named(others), curve.name)) is None
        else ((most, 2.0 * curve.right),)
        for place in grid.memories
        for others in curve.others()
    )
    data = {
        "curve": curve.varied(points),
        "measured": curve.varied(
            lambda place, others: tuple(
                (users, *map(drawn, ends(one))) for users, one in curve.measured(place, others)
            )
        ),
        "goal": curve.varied(lambda place, _: tuple((drawn(one),) for one in curve.goals(place))),
        "chosen": Varied(
            by=grid.by,
            values=tuple(
                ((users[curve.at], drawn(curve.of(mix).response.value)),)
                for place in grid.places
                for users, mix in place.found.items()
            ),
        ),
        "knee": curve.varied(upright),
    }
    if cliffs:
        own = f"users-{curve.at}"
        by = ("memory", *(name for name in grid.by[2:] if name != own))
        data["cliff"] = Varied(by=by, values=cliffs)
    return data


FIELDS = {
    "curve": CURVE,
    "measured": CURVE[:-1],
    "goal": ("value",),
    "knee": ("x",),
    "cliff": ("x", "end"),
    "chosen": ("x", "value"),
}


def _moved(curve: _Curve, readings: Sequence[Reading]) -> Moved:
    grid, data = curve.grid, _data(curve)
    controls = grid.controls
    edges = {
        "right": Varied(by=(), values=(curve.right,)),
        "top": curve.varied(curve.top),
    }
    told = curve.varied(partial(_told, curve))
    rows = {
        key: [dict(zip(FIELDS[key], row, strict=True)) for row in exploring.at_start(varied, controls)]
        for key, varied in data.items()
    }
    columns = (f"response-{curve.at}", f"p90-{curve.at}")
    own = grid.users[curve.at].control
    title = f"Response time of {curve.name} by its users"
    name = f"size-explored-class-{curve.at}"
    keys = {MEAN: "curve", UPPER: "curve", MEASURED: "measured", GOAL: "goal", KNEE: "knee", CLIFF: "cliff"}
    figure = Figure(
        name=name,
        title=title,
        chart=partial(
            exploring.chart,
            rows,
            {key: exploring.at_start(one, controls) for key, one in edges.items()},
            Axis(f"users of {curve.name}"),
            Axis("response time [s]"),
        ),
        data=exploring.listing(
            f"{name}-data",
            title,
            [own, *(one for one in controls if one != own)],
            [next(one for one in readings if one.name == column) for column in columns],
        ),
        alt=exploring.at_start(told, controls),
        keys=tuple(key for key, source in keys.items() if source in data and any(data[source].values)),
        half=True,
    )
    return Moved(
        figure=figure,
        words=told,
        columns=columns,
        along=own.name,
        data=data,
        fields={key: FIELDS[key] for key in data},
        ends=edges,
    )


def _told(curve: _Curve, place: Place, others: Users) -> str:
    """Beginning and end of a curve in words."""
    row = curve.row(place, others)
    course = ", ".join(
        f"{shown.cell(one.response)} with {shown.count(users, 'user')}" for users, one in (row[0], row[-1])
    )
    return f"Mean response of {curve.name}, predicted: {course}."
