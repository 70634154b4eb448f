"""What the replications of a simulation gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thinktime.documents import format as shown
from thinktime.documents.document import Column, Section, Table
from thinktime.stats.estimate import Estimate, NotApplicable

__all__ = ["Course", "section"]


@dataclass(frozen=True, slots=True)
class Course:
    """How the replications were run."""

    system: str
    seed: int
    replications: int
    length_s: float
    warm_up_s: float
    warm_up_settled: bool | None
    """Whether MSER-5 found the end of the warm-up; None where the warm-up was given."""
    laws: tuple[str, ...] = ()


def section(
    course: Course, figures: Mapping[str, Estimate | NotApplicable], descriptions: Mapping[str, str]
) -> Section:
    """Section of the responses, a row each."""
    rows = tuple(
        (
            name,
            figure if isinstance(figure, Estimate) else figure.reason,
            descriptions.get(name, ""),
        )
        for name, figure in figures.items()
    )
    spread = "over the replications, Student's t" if course.replications > 1 else "none: one replication"
    return Section(
        name="replications",
        title=f"What did {course.system} do?",
        summary=(
            f"{shown.count(course.replications, 'replication')} of {shown.duration(course.length_s)}, "
            f"seed {course.seed}, {_warm_up(course)}.",
        ),
        tables=(
            Table(
                name="responses",
                caption="Responses",
                columns=(Column("response"), Column("mean"), Column("what it is")),
                rows=rows,
            ),
        ),
        figures=(),
        caveats=_caveats(course),
        method=f"Intervals: {spread}."
        + (f" Every replication was checked: {', '.join(course.laws)}." if course.laws else ""),
    )


def _warm_up(course: Course) -> str:
    if course.warm_up_settled is not None:
        return f"warm-up of {shown.duration(course.warm_up_s)} found by MSER-5"
    if course.warm_up_s == 0.0:
        return "no warm-up cut: statistics begin with the empty system"
    return f"warm-up of {shown.duration(course.warm_up_s)} as given"


def _caveats(course: Course) -> tuple[str, ...]:
    if course.warm_up_settled is False:
        return (
            "MSER-5 puts the end of the warm-up into the second half of a run: the run is too short to tell "
            "start-up from steady state. Make it longer (-p length=...).",
        )
    return ()
