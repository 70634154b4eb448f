"""Beyond the paper: how far FB-infinity is from the best that any scheduler could do, and who pays."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Cols, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.models.distributions import distribution
from thinktime.stats.estimate import Estimate
from thinktime.studies.anderson_sargent_1974.runs import (
    ENOUGH,
    PAPER,
    SYSTEM,
    run_values,
    service_specs,
    think,
)
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

BOUND = "SRPT, times known"
CHOICE = "FB-infinity"
DISPATCHED = "FB-infinity, dispatcher too"
POLICIES: dict[str, dict[str, Any]] = {
    "modified": {"scheduler": "modified"},
    "2 levels, FB2": {"scheduler": "mlf", "levels": 2},
    "4 levels": {"scheduler": "mlf", "levels": 4},
    "8 levels": {"scheduler": "mlf", "levels": 8},
    CHOICE: {"scheduler": "fb_infinity"},
    DISPATCHED: {"scheduler": "fb_infinity", "dispatcher": "scheduler"},
    BOUND: {"scheduler": "srpt", "dispatcher": "scheduler"},
}
DRAWN = {"modified": "system", "4 levels": "memory", "FB-infinity": "user", BOUND: "disk"}
"""Policies in the figure, and their colours."""
SETTING: dict[str, Any] = {"users": 35, "insertion_time": think(20.0), "regions": 3, "time_slice": 0.1}
PARETO_S = (0.01, 3000.0)
"""Ends of the bounded Pareto distribution."""


def chapter(laboratory: Laboratory) -> Chapter:
    """Policies on the same workloads, with the fitted service times and with lighter and other tails."""
    tails = _tails(laboratory)
    responses = {
        (tail, policy): run_values(laboratory, "mean_response_s", **SETTING, **POLICIES[policy], **parameters)
        for tail, parameters in tails.items()
        for policy in POLICIES
    }
    fitted = next(iter(tails))
    bound = responses[fitted, BOUND]
    excess = {policy: interval(responses[fitted, policy] / bound - 1.0, "share") for policy in POLICIES}
    summary = (
        f"SRPT with known service times answers in {bound.mean():.3f} s on the mean, FB-infinity in "
        f"{responses[fitted, 'FB-infinity'].mean():.3f} s: "
        f"{100 * excess['FB-infinity'].value:.0f} % longer, knowing nothing but the service received. Where "
        "the dispatcher too prefers who received least, instead of turning round the resident workspaces, "
        f"{100 * excess[DISPATCHED].value:.0f} % are left.",
        "Response times are those of compute transactions of at most 2 s, as in Table 8. SRPT is best for "
        "a processor alone; with swapping, which no policy here foresees, it is a mark to measure by.",
    )
    method = (
        "35 users, mean insertion time 20 s, three regions, slices of 0.1 s, the same workloads for all "
        "policies. Multi-level feedback doubles its quantum from level to level. Other tails have the mean "
        "compute time of the fitted one."
    )
    slowdowns = _slowdowns(laboratory)
    return Chapter(
        claims=(
            PAPER.claim(
                "fb-infinity-near-bound",
                _near_bound(excess, {policy: responses[fitted, policy] for policy in POLICIES}),
            ),
            PAPER.claim("in-proportion", _in_proportion(slowdowns)),
        ),
        summary=summary,
        charts=(_figure(slowdowns),),
        tables=(_table(laboratory, tails, responses=responses, excess=excess, slowdowns=slowdowns),),
        caveats=(
            "Slowdowns are those of completed inputs: long ones that the ten minutes cut off are not among "
            "them, and their number differs between policies (column unfinished).",
        ),
        method=method,
    )


def _tails(laboratory: Laboratory) -> dict[str, dict[str, Any]]:
    """Service times of compute transactions with one mean and different tails."""
    result = distribution(service_specs(laboratory)["compute"])
    same = {"kind": "lognormal", "mean": result.mean, "sd": math.sqrt(result.variance)}
    return {
        "fitted": {},
        "exponential": {"compute_service": {"kind": "exponential", "mean": result.mean}},
        "lognormal": {"compute_service": same},
        "bounded Pareto": {"compute_service": _pareto(result.mean)},
    }


def _pareto(mean_s: float) -> dict[str, Any]:
    """Bounded Pareto distribution of a given mean."""
    from scipy.optimize import brentq

    low, high = PARETO_S

    def spec(shape: float) -> dict[str, Any]:
        return {"kind": "bounded_pareto", "shape": shape, "low": low, "high": high}

    return spec(brentq(lambda shape: distribution(spec(shape)).mean - mean_s, 0.3, 3.0))


def _slowdowns(laboratory: Laboratory) -> dict[str, dict[str, Estimate]]:
    """Response over service by job size, for each policy."""
    result = {}
    for policy, parameters in POLICIES.items():
        run = laboratory.simulate(SYSTEM, {**SETTING, **parameters}, laboratory.count(ENOUGH))
        names = [name for name in run.units if name.startswith("slowdown_")]
        result[policy] = {
            run.descriptions[name].rpartition(" of ")[2]: interval(
                run_values(laboratory, name, **SETTING, **parameters)
            )
            for name in names
        }
    return result


def _near_bound(excess: Mapping[str, Estimate], responses: Mapping[str, Array]) -> dict[str, Any]:
    rivals = [name for name in POLICIES if name not in {BOUND, CHOICE, DISPATCHED}]
    gains = [interval(responses[CHOICE] - responses[name]) for name in rivals]
    return {"excess": excess, "nearest": excess[CHOICE], "gains": gains}


def _in_proportion(slowdowns: Mapping[str, Mapping[str, Estimate]]) -> dict[str, Any]:
    """Response over service of all that need more than one slice, by policy."""
    sizes = list(slowdowns[CHOICE])[1:]
    listed = {
        name: [f"{slowdowns[policy][size].value:.1f} ({size})" for size in sizes]
        for name, policy in (("chosen", CHOICE), ("modified", "modified"))
    }
    longest = {"chosen": slowdowns[CHOICE][sizes[-1]], "modified": slowdowns["modified"][sizes[-1]]}
    return {"slowdowns": [slowdowns[CHOICE][size] for size in sizes], **listed, "longest": longest}


def _figure(slowdowns: Mapping[str, Mapping[str, Estimate]]) -> Figure:
    series = Series(
        [
            Point(
                key=Key(policy, colour=colour, shape="line"),
                x=_middle(size),
                y=value,
                words=f"{size}: {shown.estimate(value)}",
            )
            for policy, colour in DRAWN.items()
            for size, value in slowdowns[policy].items()
        ]
    )
    sizes = list(slowdowns[BOUND])
    y = Axis.logarithmic("response over service", series.values("low", "high"))
    x = Axis.logarithmic("service time", series.values("x"), "s")
    first, last = (
        ", ".join(f"{policy} {shown.number(slowdowns[policy][size].value)}" for policy in DRAWN)
        for size in (sizes[0], sizes[-1])
    )
    return Figure(
        name="policy-slowdown",
        title="Who pays: response over service of compute transactions",
        chart=series.curves(x, y),
        data=Table.of(
            sizes,
            Col("size", lambda size: size),
            Cols(slowdowns, lambda size: [values[size] for values in slowdowns.values()]),
            name="policy-slowdown-data",
            caption="Response over service of compute transactions, by service time",
        ),
        alt=f"{sizes[0]}: {first}. {sizes[-1]}: {last}.",
        keys=series.keys,
    )


def _middle(size: str) -> float:
    """Point of a logarithmic axis for a class of sizes: ``0.1 to 0.5 s``, ``above 10 s``."""
    low, *high = (float(number) for number in re.findall(r"[\d.]+", size))
    if not high:
        return 2.0 * low
    return math.sqrt(low * high[0]) if low else high[0] / 2.0


def _table(
    laboratory: Laboratory,
    tails: Mapping[str, object],
    responses: Mapping[tuple[str, str], Array],
    excess: Mapping[str, Estimate],
    slowdowns: Mapping[str, Mapping[str, Estimate]],
) -> Table:
    ends = [list(slowdowns[BOUND])[index] for index in (0, -1)]
    return Table.of(
        POLICIES,
        Col("policy", lambda policy: policy),
        Cols(
            [f"response, {tail}, s" for tail in tails],
            lambda policy: [interval(responses[tail, policy]) for tail in tails],
            scaled=False,
        ),
        Col("above SRPT", excess.__getitem__, unit="share"),
        Col(
            "unfinished",
            lambda policy: interval(run_values(laboratory, "unfinished", **SETTING, **POLICIES[policy])),
            scaled=False,
        ),
        Cols(
            [f"slowdown, {size}" for size in ends],
            lambda policy: [slowdowns[policy][size] for size in ends],
            scaled=False,
        ),
        name="policies",
        caption="Mean response time of compute transactions of at most 2 s, by policy and tail of service "
        "times",
    )
