"""Measures of the claims that the paper bases on its experiments; `study.toml` judges them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.studies.anderson_sargent_1974.experiment import (
    COUNTS,
    INPUTS,
    LIMITS_S,
    MEASURES,
    REGIONS,
    SLICES,
    Experiment,
    experiment_of,
)
from thinktime.studies.anderson_sargent_1974.runs import ALGORITHM_NAMES, PAPER, run_values, think
from thinktime.studies.anderson_sargent_1974.validation import modified, original, slope
from thinktime.studies.cells import Claim, held
from thinktime.studies.estimates import interval, scaled
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

MODIFIED, FB2, FB_INFINITY = range(3)
"""Positions of the algorithms along the first axis of the experiment."""
WORDS = tuple(ALGORITHM_NAMES.values())


def chapter(laboratory: Laboratory) -> Chapter:
    """Every claim about the experiments, by a statistic on the same workloads."""
    experiment = experiment_of(laboratory)
    claims = (
        *_load(experiment),
        *_reaction(experiment),
        *_response(experiment),
        *_completions(experiment),
        *_effects(experiment),
        *_further(laboratory),
        *_least_change(laboratory),
    )
    method = (
        "Differences are taken workload by workload (common random numbers) with Student's t at 95 %; an "
        "order holds where the interval of every difference lies on its side of zero; an effect counts "
        f"where its F is at least {COUNTS:g}."
    )
    summary = f"Of {len(claims)} claims on the experiments, {held(claims)} hold here."
    return Chapter(claims=claims, summary=(summary,), method=method)


def _order(experiment: Experiment, response: str, *algorithms: int) -> dict[str, Any]:
    """Means under the algorithms, and the differences from each to the next."""
    return {
        "means": {WORDS[index]: experiment.mean(response, index).mean() for index in algorithms},
        "steps": [experiment.less(response, after, before) for before, after in pairwise(algorithms)],
    }


def _load(experiment: Experiment) -> Iterator[Claim]:
    yield PAPER.claim("queued-order", _order(experiment, "queued_workspaces", FB_INFINITY, FB2, MODIFIED))
    yield PAPER.claim("throughput-order", _order(experiment, INPUTS, MODIFIED, FB2, FB_INFINITY))


def _reaction(experiment: Experiment) -> Iterator[Claim]:
    f = experiment.analyses["table07_anova"].f
    yield PAPER.claim(
        "reaction-algorithm", {"f": {power: f[f"A_{power}"] for power in ("linear", "quadratic")}}
    )
    y = experiment.all("mean_reaction_s")
    short, long = (interval(y[:, 0, index].mean(axis=0)) for index in (0, 1))
    yield PAPER.claim("reaction-slice", {"short": short, "long": long})
    yield PAPER.claim("reaction-regions", {"longer": interval((y[:, 1] - y[:, 0]).mean(axis=(0, 1)))})
    yield PAPER.claim("reaction-utilisation", _utilisation(experiment))


def _utilisation(experiment: Experiment) -> dict[str, float]:
    """Regression of the reaction times of cells on utilisations, the slice taken out."""
    y = experiment.all("mean_reaction_s").mean(axis=-1)
    load = [experiment.all(name).mean(axis=-1) for name in ("processor_utilisation", "disk_utilisation")]
    rest, *x = [(item - item.mean(axis=(0, 1), keepdims=True)).ravel() for item in (y, *load)]
    columns = np.column_stack(x)
    fitted = columns @ np.linalg.lstsq(columns, rest, rcond=None)[0]
    explained, left = float(fitted @ fitted), float((rest - fitted) @ (rest - fitted))
    degrees = len(rest) - 4
    f = explained / 2.0 / (left / degrees)
    p = critical_values.f_tail(f, 2.0, degrees)
    return {"explained": explained / (explained + left), "f": f, "p": p}


def _response(experiment: Experiment) -> Iterator[Claim]:
    y = experiment.all("mean_response_s")
    means = y.mean(axis=-1)
    algorithm, regions, time_slice = np.unravel_index(int(means.argmin()), means.shape)
    best = f"{WORDS[algorithm]} with {REGIONS[regions]} workspaces and {SLICES[time_slice]} s"
    shortest = interval(y[algorithm, regions, time_slice])
    yield PAPER.claim("best-cell", {"shortest_s": shortest, "best": best})

    def less(one: int, other: int, response: str = "mean_response_s") -> Estimate:
        return experiment.less(response, one, other)

    longer = {"modified": less(MODIFIED, FB_INFINITY), "fb2": less(FB2, FB_INFINITY)}
    yield PAPER.claim("response-lowest", {"longer": longer})
    yield PAPER.claim("fb2-response", {"gain": less(MODIFIED, FB2)})
    inputs, busy = (less(FB2, MODIFIED, name) for name in (INPUTS, "processor_utilisation"))
    yield PAPER.claim("fb2-throughput", {"inputs": inputs, "processor": busy})
    f = experiment.analyses["table08_anova"].f["A_linear_x_C"]
    more = interval((y[FB_INFINITY, 1] - y[FB_INFINITY, 0]).mean(axis=0))
    yield PAPER.claim("response-regions", {"more": more, "f": f})


def _completions(experiment: Experiment) -> Iterator[Claim]:
    names = {"FB2": FB2, "FB_infinity": FB_INFINITY}
    within = [f"within_{limit}_s" for limit in LIMITS_S]
    more = {
        name: [experiment.less(limit, index, MODIFIED) for limit in within] for name, index in names.items()
    }
    yield PAPER.claim("completions", {"more": more})

    def share(limit: str, index: int) -> float:
        return float(experiment.mean(limit, index).mean() / experiment.mean("responses", index).mean())

    larger = {
        name: [100 * (share(limit, index) - share(limit, MODIFIED)) for limit in within]
        for name, index in names.items()
    }
    yield PAPER.claim("completion-share", {"larger": larger})


def _effects(experiment: Experiment) -> Iterator[Claim]:
    """The effects that count, in each of the four analyses of variance."""
    for measure in MEASURES:
        table = PAPER.tables[measure.anova]
        f = experiment.analyses[measure.anova].f
        yield PAPER.claim(
            f"effects-{measure.table.split('_', 1)[1].replace('_', '-')}",
            {
                "printed": sorted(
                    str(row["effect"]) for row, cell in table.printed("f_ratio") if cell.value >= COUNTS
                ),
                "ours": sorted(experiment.analyses[measure.anova].counting()),
                "f": [
                    f"{PAPER.names.get(name, name)} {ratio.value:.1f}"
                    for name, ratio in f.items()
                    if ratio.value >= 1.0
                ],
            },
        )


def _further(laboratory: Laboratory) -> Iterator[Claim]:
    """Further runs that the paper mentions: a moderate load, and two resident workspaces."""
    for name, users, regions in (("moderate-load", 26, 3), ("two-regions", 35, 2)):
        best, fb2, modified = (
            run_values(
                laboratory,
                "mean_response_s",
                users=users,
                insertion_time=think(20.0),
                scheduler=scheduler,
                regions=regions,
                time_slice=0.1,
            )
            for scheduler in ("fb_infinity", "fb2", "modified")
        )
        longer = {"fb2": interval(fb2 - best), "modified": interval(modified - best)}
        yield PAPER.claim(name, {"response_s": best.mean(), "longer": longer})


def _least_change(laboratory: Laboratory) -> Iterator[Claim]:
    responses = {"mean": "mean_reaction_s", "largest": "max_reaction_s"}
    yield PAPER.claim(
        "least-change",
        {
            name: interval(original(laboratory, response, 35, 20.0) - modified(laboratory, response, 35))
            for name, response in responses.items()
        },
    )
    before, after = original(laboratory, "swap_rate", 35, 20.0), modified(laboratory, "swap_rate", 35)
    yield PAPER.claim(
        "modified-swapping",
        {
            name: {
                "original": scaled(slope(before, original(laboratory, response, 35, 20.0)), 1000.0),
                "modified": scaled(slope(after, modified(laboratory, response, 35)), 1000.0),
            }
            for name, response in responses.items()
        },
    )
