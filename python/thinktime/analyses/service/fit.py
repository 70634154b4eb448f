"""Distributions fitted to the recorded service times, overall and by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thinktime.log import interactions
from thinktime.stats.distributions import fitting
from thinktime.stats.distributions.fitting import Fits
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["ClassFit", "ServiceFit", "analyse"]


@dataclass(frozen=True, slots=True)
class ClassFit:
    """Fits of one class."""

    name: str
    share: float
    """Part of all completed interactions, 0 to 1."""
    fits: Fits


@dataclass(frozen=True, slots=True)
class ServiceFit:
    """Fits of all interactions and of each class."""

    overall: Fits
    classes: tuple[ClassFit, ...]
    """By falling share; empty where there is one class only."""
    refused: tuple[tuple[str, str], ...]
    """Classes that cannot be fitted, and why."""
    caveats: tuple[str, ...]


def analyse(
    log: Log, *, level: float = 0.95, replications: int = fitting.REPLICATIONS, seed: int = 1
) -> ServiceFit | NotApplicable:
    """Fit the service times of completed interactions; see `fitting.fit` for how.

    Parameters
    ----------
    log : Log
    level : float
        Confidence of the parameters' intervals.
    replications : int
        Of the bootstrap.
    seed : int
        Of the bootstrap: the same log and seed give the same fits.
    """
    seen = interactions.read(log)
    if seen is None:
        return NotApplicable(
            "the log has no interactions: the service that each received was not recorded",
            "play users with `thinktime play` while recording",
        )
    done = ~np.isnan(seen.times["completion"]) & ~np.isnan(seen.service)
    values, classes = seen.service[done], seen.classes[done]
    try:
        overall = fitting.fit(values, level=level, replications=replications, seed=seed)
    except ValueError as error:
        return NotApplicable(
            f"no distribution can be fitted to the service times: {error}", "record for longer"
        )
    names, sizes = np.unique(classes, return_counts=True)
    found, refused = [], []
    for name, size in sorted(zip(names.tolist(), sizes.tolist(), strict=True), key=lambda pair: -pair[1]):
        if len(names) == 1:
            break
        own = values[classes == name]
        label = name or "(none)"
        try:
            fits = fitting.fit(own, level=level, replications=replications, seed=seed)
        except ValueError as error:
            refused.append((label, str(error)))
        else:
            found.append(ClassFit(label, size / len(values), fits))
    return ServiceFit(overall, tuple(found), tuple(refused), _caveats(overall, found))


def _caveats(overall: Fits, classes: list[ClassFit]) -> tuple[str, ...]:
    named = [("all", overall), *((item.name, item.fits) for item in classes)]
    poor = [name for name, fits in named if not fits.adequate()]
    if not poor:
        return ()
    return (
        f"No family fits well ({', '.join(poor)}): Anderson and Darling reject the best at 5 %. There the "
        "empirical distribution is chosen, which has no tail beyond the greatest time seen.",
    )
