"""The page of an answer by class: controls for users, CPUs, think time and memory, and figures they move."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from thinktime.documents import format as shown
from thinktime.documents.document import Document
from thinktime.documents.explorer import Control, Explorer, Option, Reading, Varied
from thinktime.documents.wording import listed
from thinktime.predictions.size import choices
from thinktime.predictions.size.by_class.answer import Mixed, Question, SizeByClass
from thinktime.predictions.size.by_class.figures import Grid, Place, moved
from thinktime.predictions.size.by_class.section import TITLE, details, sentences
from thinktime.predictions.size.choices import Choice
from thinktime.stats.estimate import Estimate

POSITIONS_MOST = 250
"""Positions of all controls but memory: each is a network of all classes, and a simulation."""
USERS_FACTORS = ((0.5, 1.0, 1.5, 2.0, 3.0), (0.5, 1.0, 2.0), (1.0, 2.0), (1.0,))
"""Users of a class, as multiples of those asked for; the first choice with few enough positions."""
THINK_FACTORS = ((0.5, 2.0), (2.0,), ())
CPU_FACTORS = (0.5, 1.0, 2.0)
MEMORY_REACH = 2.5
"""Largest ratio of a memory to that of the machine."""
NOTE = (
    "Every position of the controls was computed when this page was made, with the digits that the command "
    "below prints. Lines join the numbers of users of the control; nothing between them was computed."
)


def document(
    question: Question, size: SizeByClass, command: str, show: Callable[[float, float], None] | None = None
) -> Document:
    """Page of an answer; `show` gets the work done and all of it.

    Parameters
    ----------
    question : Question
    size : SizeByClass
        Its answer for the numbers that were asked for.
    command : str
        Command that was given, without the options of the controls.
    show : callable, optional
    """
    told = details(size)
    return Document(
        title=TITLE,
        subtitle=f"Measured: {shown.count(question.measured.machine.cpus, 'CPU')}; from "
        f"{listed(question.measured.names)}.",
        findings=(),
        explorer=_explorer(question, size, command, show),
        sections=(replace(told, title="Details that no control changes", caveats=()),),
        facts=tuple((f"Users of class {one.name}", str(one.users)) for one in size.classes),
        facts_title="What was measured?",
        origin="Made by thinktime: the same log and options give the same page.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choices:
    """Values of all controls."""

    users: tuple[Choice, ...]
    cpus: Choice
    think: Choice
    memory: Choice

    @property
    def controls(self) -> tuple[Control, ...]:
        """Controls that are shown."""
        held = (self.memory,) if len(self.memory.values) > 1 else ()
        return tuple(one.control for one in (*self.users, self.cpus, self.think, *held))


def _explorer(
    question: Question, size: SizeByClass, command: str, show: Callable[[float, float], None] | None
) -> Explorer:
    chosen = _choices(question, size)
    names = [one.name for one in size.classes]
    mixes = list(product(*(one.values for one in chosen.users)))
    lines, places = [], list[Place]()
    memories = chosen.memory.values
    work = len(memories) * len(chosen.cpus.values) * len(chosen.think.values) * len(mixes)
    for memory in memories:
        for cpus, think in product(chosen.cpus.values, chosen.think.values):
            plan = replace(question.plan, cpus=cpus, think_s=think, memory_bytes=memory)
            here = question.under(plan)
            found = {}
            for users in mixes:
                numbers = dict(zip(names, users, strict=True))
                found[users] = here.mixed(numbers)
                lines.append(tuple(sentences(here.machine, here.goals, found[users], here.more(numbers))))
                if show is not None:
                    show(len(lines), work)
            places.append(Place(question=here, found=found))
    each = len(places) // len(memories)
    grid = Grid(
        names=tuple(names),
        users=chosen.users,
        controls=chosen.controls,
        places=tuple(places[:each]),
        memories=tuple(places[::each]) if len(memories) > 1 else (),
    )
    readings = tuple(_readings(grid, size))
    by = (*(("memory",) if len(memories) > 1 else ()), *grid.by)
    return Explorer(
        title="The answer, and other users",
        controls=chosen.controls,
        lines=Varied(by=by, values=tuple(lines)),
        always=(),
        caveats=Varied(by=(), values=(tuple(details(size).caveats),)),
        readings=readings,
        moved=tuple(moved(grid, readings)),
        command=command,
        note=NOTE,
    )


def _readings(grid: Grid, size: SizeByClass) -> list[Reading]:
    """Numbers of each class, and of the machine."""

    def reading(name: str, label: str, of: Callable[[Mixed], Estimate | None]) -> Reading:
        texts = tuple(shown.cell(of(one)) for place in grid.places for one in place.found.values())
        return Reading(name=name, label=label, texts=Varied(by=grid.by, values=texts))

    readings = []
    for at, name in enumerate(grid.names):
        for key, label, quantity in (
            ("response", f"Mean response of {name}", "response"),
            ("p90", f"90 % of {name} within", "p90"),
            ("throughput", f"Throughput of {name}", "throughput"),
        ):
            readings.append(reading(f"{key}-{at}", label, _of_class(name, quantity)))
    readings.append(reading("utilisation", "CPUs busy", lambda one: one.utilisation))
    if size.mixes[0].memory is not None:
        texts = tuple(
            shown.cell(one.memory)
            for place in (grid.memories or grid.places[:1])
            for one in place.found.values()
        )
        by = (*(("memory",) if grid.memories else ()), *grid.by[2:])
        readings.append(Reading(name="memory", label="Memory suffices", texts=Varied(by=by, values=texts)))
    return readings


def _of_class(name: str, quantity: str) -> Callable[[Mixed], Estimate | None]:
    def of(mix: Mixed) -> Estimate | None:
        return next((getattr(one, quantity) for one in mix.classes if one.name == name), None)

    return of


def _choices(question: Question, size: SizeByClass) -> _Choices:
    plan, asked = question.plan, size.mixes[0].numbers
    cpus = choices.cpus(plan, question.measured.machine, CPU_FACTORS)
    weights = [one.n for one in size.classes]
    central = sum(one.think.value * one.n for one in size.classes) / sum(weights)
    known = size.mixes[0].memory is not None and question.measured.memory is not None
    memory = (
        choices.memory(plan, question.measured.memory.total_bytes, MEMORY_REACH)
        if known and question.measured.memory is not None
        else Choice.of(("memory", "Memory"), [plan.memory_bytes], plan.memory_bytes, _nothing)
    )
    for factors, thinks in product(USERS_FACTORS, THINK_FACTORS):
        users = tuple(
            _users(at, one.name, _around(asked[one.name], one.users, factors), asked[one.name])
            for at, one in enumerate(size.classes)
        )
        think = choices.think(plan, central, thinks, "as it is")
        positions = len(cpus.values) * len(think.values) * math.prod(len(one.values) for one in users)
        if positions <= POSITIONS_MOST:
            break
    return _Choices(users=users, cpus=cpus, think=think, memory=memory)


def _nothing(_: object) -> Option:
    return Option(text="", key="", argument="")


def _around(asked: int, measured: int, factors: Sequence[float]) -> list[int]:
    """Numbers of users of a class: around those asked for, and those of the log, to compare."""
    if not asked:
        return [0]
    near = {max(round(asked * factor), 1) for factor in factors}
    return sorted(near | {asked} | ({measured} if len(factors) > 2 else set()))


def _users(at: int, name: str, values: Sequence[int], asked: int) -> Choice:
    # One option of the command for all classes: what begins with a comma belongs to the word before it.
    before = "," if at else "--users "

    def option(one: int) -> Option:
        return Option(text=f"{one}", key=f"{one}", argument=before + shlex.quote(f"{name}={one}"))

    return Choice.of((f"users-{at}", f"Users of {name}"), values, asked, option)
