"""Classes of interactions: their shares of the CPU time, and the work if a class is more or less frequent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thinktime.documents.document import Col, Table
from thinktime.errors import InputError
from thinktime.predictions.size.answer import Plan
from thinktime.predictions.size.measured import Measured
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import batch_means

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOfWork:
    """Interactions of one class."""

    name: str
    n: int
    share: float
    """Of the interactions."""
    cpu: Estimate
    """CPU time of an interaction [s]."""
    cpu_share: float
    """Of the users' CPU time."""


def classes(measured: Measured) -> tuple[ClassOfWork, ...]:
    """Classes by falling CPU time; empty where the log has fewer than two."""
    known = ~np.isnan(measured.services)
    kinds, services = _kinds(measured)[known], measured.services[known]
    names = np.unique(kinds)
    if len(names) < 2 or not services.sum() > 0.0:
        return ()
    found = [
        ClassOfWork(
            name=str(name) or "(none)",
            n=int((kinds == name).sum()),
            share=float((kinds == name).mean()),
            cpu=batch_means.batch_ratio(services[kinds == name]).with_unit("s"),
            cpu_share=float(services[kinds == name].sum() / services.sum()),
        )
        for name in names
    ]
    return tuple(sorted(found, key=lambda one: -one.cpu_share))


def resolved(plan: Plan, measured: Measured) -> Plan:
    r"""Plan with the factor of the mean CPU time that follows from its changes of classes.

    With weights w, the factors of the frequency of each class, over interactions with CPU times s:

    .. math:: f = \frac{\sum w s / \sum w}{\sum s / n}

    and the error of its logarithm from the influences of the interactions on both means, as if independent.
    Waits other than for a CPU, for each interaction, and think times stay as they are.

    Raises
    ------
    InputError
        A class is not in the log, or no interactions are left.
    """
    if not plan.mix:
        return plan
    known = ~np.isnan(measured.services)
    services = measured.services[known] + measured.extra_cpu_s
    weights = _weights(plan.mix, _kinds(measured)[known])
    changed, mean = float((weights * services).sum() / weights.sum()), float(services.mean())
    size = len(services)
    influence = weights / weights.mean() * (services - changed) / changed - (services - mean) / mean
    return replace(plan, mix_cpu=changed / mean, mix_error=float(influence.std() / np.sqrt(size)))


def _kinds(measured: Measured) -> NDArray[np.str_]:
    """Class of each interaction; empty texts where the figures came without a log."""
    return measured.kinds if len(measured.kinds) else np.full(len(measured.services), "")


def _weights(mix: Sequence[tuple[str, float]], kinds: NDArray[np.str_]) -> Array:
    weights = np.ones(len(kinds))
    names = sorted({str(kind) for kind in kinds} - {""})
    for name, factor in mix:
        if name not in names:
            has = f"the classes are {', '.join(names)}" if names else "its interactions have no classes"
            raise InputError(f"class:{name}: is not in the log; {has}")
        weights[kinds == name] *= factor
    if not weights.sum() > 0.0:
        raise InputError("class: no interactions are left; leave one class")
    return weights


def dominant(found: Sequence[ClassOfWork]) -> str | None:
    """Sentence on the class that uses most CPU time; None for a log without classes."""
    if not found:
        return None
    first = found[0]
    return (
        f"Of the users' CPU time, interactions of class {first.name} take {100.0 * first.cpu_share:.0f} %, "
        f"with {100.0 * first.share:.0f} % of the interactions."
    )


def table(found: Sequence[ClassOfWork]) -> Table:
    """Table of the classes."""
    return Table.of(
        found,
        Col("class", lambda one: one.name),
        Col("interactions", lambda one: one.share, unit="share"),
        Col("CPU time of one", lambda one: one.cpu),
        Col("users' CPU time", lambda one: one.cpu_share, unit="share"),
        name="size-classes",
        caption="Classes of interactions",
    )
