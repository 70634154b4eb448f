"""The monitored system: APL/360 with its original scheduler, traced into a log and analysed from it.

Periods of ten minutes with 25 to 36 users of different haste stand for the paper's four weeks. What follows
is computed from the log alone, by the analyses that read the log of any machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from thinktime.documents import document
from thinktime.documents.document import Col, Key, Table
from thinktime.documents.series import Point, Series, laid_over
from thinktime.models.distributions import Distribution, distribution
from thinktime.stats.estimate import Estimate
from thinktime.studies.anderson_sargent_1974.charts import MEASURED, against, points, published
from thinktime.studies.anderson_sargent_1974.runs import (
    PAPER,
    PERIOD_S,
    SYSTEM,
    service_specs,
    shares,
    think,
    welch,
)
from thinktime.studies.anderson_sargent_1974.service_times import POOLED_OUTPUT_BOUND, UPPER
from thinktime.studies.cells import Cell, Claim
from thinktime.studies.laboratory import Laboratory, applicable, remembered
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.service.analysis import Service
    from thinktime.analyses.waits.analysis import TraceInterval
    from thinktime.documents.document import Section
    from thinktime.log import Log


USERS = (25, 26, 27, 30, 31, 35, 36)
INSERTION_S = (16.0, 20.0, 24.0, 28.0)
PERIODS = 4
"""Of ten minutes, for each number of users and each haste."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Ten minutes of the log."""

    users: int
    observed: TraceInterval

    @property
    def rate_per_min(self) -> float:
        """Inputs per minute and user."""
        return self.observed.inputs / self.users / (self.observed.length_s / 60.0)

    @property
    def accesses(self) -> float:
        """D: disk accesses in ten minutes."""
        return self.observed.accesses / self.observed.length_s * PERIOD_S

    @property
    def foreground_min(self) -> float:
        """W_F [min]: mean number in foreground over inputs per minute (Little's law)."""
        return self.observed.numbers[1] / (self.observed.inputs / (self.observed.length_s / 60.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitored:
    """Results of the analyses of the log."""

    service: Service
    section: Section
    """The report's section on service times: its charts are Figures 1 to 4."""
    periods: tuple[Period, ...]
    unfinished: dict[str, float]
    """Part of the inputs of each class that the end of their period cut off."""


@remembered
def monitored(laboratory: Laboratory) -> Monitored:
    """The traced system, and the analyses of its log.

    Raises
    ------
    WorkError
        An analysis does not apply to the log.
    """
    from thinktime.analyses.service import analysis as service
    from thinktime.analyses.service.section import section
    from thinktime.analyses.waits import analysis as waits

    sessions = list(product(USERS, INSERTION_S, range(laboratory.scaled(PERIODS))))
    log = laboratory.traced(SYSTEM, [_parameters(users, insertion) for users, insertion, _ in sessions])
    services = applicable(service.analyse(log))
    intervals = applicable(waits.analyse(log, interval_s=PERIOD_S)).intervals
    return Monitored(
        service=services,
        section=section(services),
        periods=tuple(
            Period(users=users, observed=interval)
            for (users, _, _), interval in zip(sessions, intervals, strict=True)
        ),
        unfinished=_unfinished(log),
    )


def _parameters(users: int, insertion_s: float) -> dict[str, Any]:
    return {
        "users": users,
        "insertion_time": think(insertion_s),
        "scheduler": "original",
        "regions": 4,
        "length": PERIOD_S,
    }


def _unfinished(log: Log) -> dict[str, float]:
    import polars as pl

    frame = (
        log.interactions()
        .group_by(pl.col("class").cast(pl.String))
        .agg(pl.col("completion").is_null().mean().alias("part"))
        .sort("class")
        .collect()
    )
    return dict(zip(frame["class"], frame["part"], strict=True))


SERVICE_TIMES = "table01_service_times"
REACTION = "table02_reaction_vs_swapping"
CALM, BUSY = 2000.0, 3000.0
"""Disk accesses in ten minutes between which Table 2 goes from quick to slow reactions."""
STATED = Key("stated in the paper", colour="plain", shape="diamond")
NEAREST = 24
"""Periods of ours with which a measured one is compared: those with the most similar swap rate."""
TITLES = {
    "service-histogram": "How service times are spread (Figure 1)",
    "service-curve": "How few inputs ask for most of the service (Figure 2)",
    "service-residual": "How much service is still to come (Figure 3)",
    "service-residual-classes": "How much service is still to come, by class (Figure 4)",
}


def chapter(laboratory: Laboratory) -> Chapter:
    """Table 2 and Figures 1 to 5, from the log of the monitored system."""
    observed = monitored(laboratory)
    hours = sum(period.observed.length_s for period in observed.periods) / 3600.0
    inputs = sum(period.observed.inputs for period in observed.periods)
    summary = (
        f"The monitor traced {hours:.0f} hours with {min(USERS)} to {max(USERS)} users and {inputs} inputs; "
        "all this is computed from its log.",
    )
    drawn = [_titled(figure) for figure in observed.section.figures if figure.name in TITLES]
    return Chapter(
        cells=tuple(_table_2(observed)),
        claims=tuple(_measures(observed)),
        summary=summary,
        charts=(*drawn, *_figure_5(observed.periods)),
        tables=(_sampled(observed),),
        method="A measured period of Table 2 agrees if it lies in the range of 95 % of the "
        f"{NEAREST} periods of ours whose swap rates are nearest.",
    )


def _titled(figure: document.Figure) -> document.Figure:
    """Chart of the report on any log as a figure of the paper, with what the text states laid over it."""
    figure = dataclasses.replace(figure, title=TITLES[figure.name])
    if figure.name != "service-curve":
        return figure

    def stated(limit: float, share: float) -> Point:
        return Point(key=STATED, x=limit, y=share, words=f"at most {limit:g} s")

    over = Series(
        [
            stated(0.1, PAPER.facts["inputs-at-most-0.1-s"].value.value / 100.0),
            stated(0.2, PAPER.facts["inputs-under-0.2-s"].value.value / 100.0),
            stated(2.0, 1.0 - PAPER.facts["inputs-over-2-s"].value.value / 100.0),
        ]
    )
    return dataclasses.replace(figure, chart=laid_over(figure.chart, over), keys=(*figure.keys, STATED))


def _measures(observed: Monitored) -> Iterator[Claim]:
    """Claims with their measures by name."""
    test = observed.service.ageing[0].exponential
    yield PAPER.claim("not-exponential", {"method": test.method, "value": test.statistic, "p": test.p})
    yield PAPER.claim("residual-life-increases", _residual_life(observed))
    calm, busy = (
        np.array([p.observed.reaction_mean_s or 0.0 for p in observed.periods if low <= p.accesses < high])
        for low, high in ((0.0, CALM), (BUSY, np.inf))
    )
    yield PAPER.claim(
        "swapping-delays",
        {
            "calm": {"mean": calm.mean(), "periods": len(calm), "below": CALM},
            "busy": {"mean": busy.mean(), "periods": len(busy), "above": BUSY},
            "more": welch(busy, calm),
        },
    )


def _residual_life(observed: Monitored) -> dict[str, Any]:
    """Mean residual lives in words, and the share cut off of each class whose own does not increase."""
    items = observed.service.ageing
    others = [item.name for item in items if item.direction != "increasing"]
    listed = "; ".join(
        f"{item.name}: {item.curve[0].residual.value:.2g} s at the start, "
        f"{item.curve[-1].residual.value:.2g} s after {item.curve[-1].service_s:.2g} s, {item.direction}"
        for item in items
    )
    parts = ", ".join(
        f"{100 * observed.unfinished[name]:.0f} % of {name}" for name in others if name in observed.unfinished
    )
    return {
        "lives": f"{listed}; the end of the ten minutes cuts off {parts}" if parts else listed,
        "others": {name: observed.unfinished.get(name, 0.0) for name in others},
    }


def service_times(laboratory: Laboratory) -> Chapter:
    """Table 1, and numbers of the text about service times: the fitted distributions."""
    summary = (
        "Table 1 and the facts about service times are those of the fitted distributions themselves: a "
        "sample with so long a tail shows its moments far too uncertainly, as the table of the sample says.",
        f"The moments of all inputs go with an output-bound share of {100 * POOLED_OUTPUT_BOUND:.2f} %, that "
        "of the pooled sample; the shares are those of the simulated inputs.",
    )
    return Chapter(cells=(*_table_1(laboratory), *_facts(laboratory)), summary=summary)


def pooled(laboratory: Laboratory) -> Distribution:
    """Service times of all inputs, with the share of output-bound ones that the pooled sample had."""
    share_of, specs = shares(laboratory), service_specs(laboratory)
    others = 1.0 - share_of["output_bound"]
    weights = {
        name: POOLED_OUTPUT_BOUND if name == "output_bound" else share / others * (1.0 - POOLED_OUTPUT_BOUND)
        for name, share in share_of.items()
    }
    return distribution(
        {"kind": "mixture", "weights": list(weights.values()), "of": [specs[name] for name in weights]}
    )


def _exact(value: float) -> Estimate:
    return Estimate(value=value, n=0, method="of the distribution itself")


def _table_1(laboratory: Laboratory) -> Iterator[Cell]:
    every = {"all": pooled(laboratory)} | {
        name: distribution(spec) for name, spec in service_specs(laboratory).items()
    }
    for row in PAPER.tables[SERVICE_TIMES].rows:
        name = str(row["input_class"])
        result = every[name]
        moments = {
            "mean_s": result.mean,
            "variance_s2": result.variance,
            "std_dev_s": result.variance**0.5,
            "coeff_of_var": result.variation,
            "skew": result.skewness,
        }
        for quantity, value in moments.items():
            yield PAPER.simulated(SERVICE_TIMES, row, quantity, _exact(value))
        share = 100.0 * shares(laboratory).get(name, 1.0)
        yield PAPER.simulated(SERVICE_TIMES, row, "percent_of_inputs", _exact(share))


def _facts(laboratory: Laboratory) -> Iterator[Cell]:
    result = pooled(laboratory)
    below = {limit: 100.0 * float(result.cumulative(limit)) for limit in (0.1, 0.2, 2.0)}
    yield PAPER.fact("inputs-under-0.2-s", _exact(below[0.2]))
    yield PAPER.fact("inputs-over-2-s", _exact(100.0 - below[2.0]))
    yield PAPER.fact("upper-4-percent", _exact(100.0 * _upper_part(result)))
    yield PAPER.fact("inputs-at-most-0.1-s", _exact(below[0.1]))
    for name, index in (
        ("compute-share", "compute"),
        ("output-bound-share", "output_bound"),
        ("command-share", "command"),
    ):
        yield PAPER.fact(name, _exact(shares(laboratory)[index]))


def _upper_part(service: Distribution) -> float:
    """Part of all service that the upper 4 per cent of the inputs ask for."""
    from scipy.optimize import brentq

    limit = brentq(lambda x: float(service.cumulative(x)) - (1.0 - UPPER), 1e-6, 1e6)
    return 1.0 - float(service.partial_moment(1, limit)) / service.mean


def _table_2(result: Monitored) -> Iterator[Cell]:
    rates = np.array([period.accesses for period in result.periods])
    for row in PAPER.tables[REACTION].rows:
        nearest = np.argsort(np.abs(rates - float(row["disk_accesses_per_10_min"])), kind="stable")[:NEAREST]
        for quantity, name in (("avg_reaction_s", "reaction_mean_s"), ("max_reaction_s", "reaction_max_s")):
            values = np.array([getattr(result.periods[index].observed, name) for index in nearest.tolist()])
            low, high = np.quantile(values, [0.025, 0.975]).tolist()
            ours = Estimate(
                value=float(values.mean()),
                unit="s",
                n=len(values),
                method="range of periods of similar swap rate",
                low=low,
                high=high,
            )
            yield PAPER.simulated(REACTION, row, quantity, ours)


def _sampled(result: Monitored) -> Table:
    """Moments of the sample, as the analysis of any log gives them."""
    service = result.service
    return Table.of(
        (service.overall, *service.classes),
        Col("class", lambda item: item.name),
        Col("n", lambda item: item.n),
        Col("mean", lambda item: item.mean),
        Col("variance", lambda item: item.variance),
        Col("coefficient of variation", lambda item: item.coefficient_of_variation),
        Col("skewness", lambda item: item.skewness),
        Col("share of inputs", lambda item: item.share, unit="share"),
        name="sampled-service-times",
        caption="Service times as the monitor saw them",
        notes=["Long ones that a session's end cut off are not among them, so that the tail is too short."],
    )


def _figure_5(periods: Sequence[Period]) -> Iterator[document.Figure]:
    for name, attribute, quantity, words in (
        ("figure-5-mean", "reaction_mean_s", "avg_reaction_s", "mean"),
        ("figure-5-maximum", "reaction_max_s", "max_reaction_s", "largest"),
    ):
        ours = points(
            Key("simulated, original scheduler", colour="user", shape="circle"),
            [item.accesses for item in periods],
            [float(getattr(item.observed, attribute)) for item in periods],
        )
        calm, busy = (
            [row["y"] for row in Series(ours).marks() if low <= row["x"] < high] or [np.nan]
            for low, high in ((0.0, CALM), (BUSY, np.inf))
        )
        alt = (
            f"{len(ours)} periods of ten minutes as circles, the nine of Table 2 as diamonds. "
            f"Below {CALM:.0f} accesses the mean of ours is {np.mean(calm):.2f} s, "
            f"above {BUSY:.0f} it is {np.mean(busy):.2f} s."
        )
        yield against(
            name,
            f"{words.capitalize()} reaction time against swapping (Figure 5)",
            axes=("disk accesses in ten minutes", f"{words} reaction time, s"),
            ours=ours,
            theirs=published(MEASURED, REACTION, "disk_accesses_per_10_min", quantity),
            alt=alt,
        )
