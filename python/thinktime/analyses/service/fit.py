"""Distributions fitted to the recorded service times, overall and by class, and their form in TOML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from thinktime.analyses.service.analysis import sample_caveat
from thinktime.escape import escaped
from thinktime.log import interaction_pieces
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats.distributions import fitting
from thinktime.stats.distributions.fitting import Fits
from thinktime.stats.estimate import Caveat, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFit:
    """Fits of one class."""

    name: str
    share: float
    """Share of all completed interactions."""
    fits: Fits


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServiceFit(Result):
    """Fits of all interactions and of each class."""

    overall: Fits
    classes: tuple[ClassFit, ...]
    """By decreasing share; empty where there is one class only."""
    refused: tuple[tuple[str, str], ...]
    """Classes that cannot be fitted, and why."""
    caveats: tuple[Caveat, ...]


def analyse(
    log: Log, *, level: float = 0.95, replications: int = fitting.REPLICATIONS, seed: int = 1
) -> ServiceFit | NotApplicable:
    """Fits of the service times of completed interactions by `fitting.fit`.

    Parameters
    ----------
    log : Log
    level : float
        Confidence of the parameters' intervals.
    replications : int
        Of the bootstrap.
    seed : int
        Of the bootstrap, and of the sample that is taken of more than two million interactions
        (`interaction_pieces.sampled`): the same log and seed give the same fits.
    """
    check_log(log)
    check_level(level)
    inputs = interaction_pieces.sampled(log, seed)
    if inputs is None:
        return NotApplicable(
            "the log has no interactions: the service that each received was not recorded",
            "play users with `thinktime play` while recording",
        )
    table = inputs.table
    done = ~np.isnan(table.times["completion"]) & ~np.isnan(table.service)
    values, classes = table.service[done], table.classes[done]
    try:
        overall = fitting.fit(values, level=level, replications=replications, seed=seed)
    except ValueError as error:
        return NotApplicable(
            f"no distribution can be fitted to the service times: {error}", "record for longer"
        )
    names, sizes = np.unique(classes, return_counts=True)
    by_class, refused = [], []
    for name, size in sorted(zip(names.tolist(), sizes.tolist(), strict=True), key=lambda pair: -pair[1]):
        if len(names) == 1:
            break
        members = values[classes == name]
        label = name or "(none)"
        try:
            fits = fitting.fit(members, level=level, replications=replications, seed=seed)
        except ValueError as error:
            refused.append((label, str(error)))
        else:
            by_class.append(ClassFit(name=label, share=size / len(values), fits=fits))
    return ServiceFit(
        overall=overall,
        classes=tuple(by_class),
        refused=tuple(refused),
        caveats=(
            *((sample_caveat(inputs, seed),) if inputs.is_sample else ()),
            *_caveats(overall, by_class),
        ),
    )


def _caveats(overall: Fits, classes: list[ClassFit]) -> tuple[Caveat, ...]:
    named = [("all", overall), *((item.name, item.fits) for item in classes)]
    poor = tuple(name for name, fits in named if not fits.adequate())
    return (Caveat("no_family_fits", classes=poor),) if poor else ()


def toml(result: ServiceFit, source: str) -> str:
    """Chosen distributions in TOML, as a simulation takes them.

    Each is a table with ``kind`` and parameters in seconds: ``service`` for all interactions,
    ``classes.NAME.service`` and ``classes.NAME.share`` for each class.

    Parameters
    ----------
    result : ServiceFit
    source : str
        Where the service times come from, for the comment.
    """
    lines = [
        f"# Service times of {escaped(source)}; times in seconds.",
        *_table("service", result.overall),
    ]
    for item in result.classes:
        key = f"classes.{_quoted(item.name)}"
        lines += ["", f"[{key}]", f"share = {_value(item.share)}", *_table(f"{key}.service", item.fits)]
    return "\n".join(lines) + "\n"


def _table(key: str, fits: Fits) -> Iterator[str]:
    yield ""
    yield (
        f"# {fits.n} service times, mean {fits.mean:.6g}, coefficient of variation "
        f"{fits.coefficient_of_variation:.4g}."
    )
    if fits.fits and not fits.adequate():
        best = fits.fits[0]
        yield f"# Best family {best.spec['kind']}, but rejected (p {best.ad_p:.2g}): here is the sample."
    yield f"[{key}]"
    yield from (f"{_quoted(name)} = {_value(value)}" for name, value in fits.chosen.items())


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    # JSON writes strings and finite floats as TOML reads them, and a float with all its digits.
    return json.dumps(value)


def _quoted(name: str) -> str:
    bare = bool(name) and all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in name)
    return name if bare else json.dumps(name)
