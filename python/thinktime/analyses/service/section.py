"""Section of the question about service times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from thinktime.documents import format as shown
from thinktime.documents.charts import distributions
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Cell, Col, Cols, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import capital, listed, p_value, percent, refused, share, whole, worded
from thinktime.stats.estimate import NotApplicable
from thinktime.stats.hypothesis import ALPHA, SignificanceTest

if TYPE_CHECKING:
    from thinktime.analyses.service.ageing import Ageing, ResidualPoint
    from thinktime.analyses.service.analysis import CurvePoint, Service, ServiceClass
    from thinktime.analyses.service.fit import ServiceFit
    from thinktime.analyses.service.stability import Stability
    from thinktime.stats.distributions.fitting import Fits

TITLE = "How much service does an input need?"
INTERACTIONS = Key("interactions with at most this service", colour="user", shape="line")
SERVICE = Key("service time that they received", colour="system", shape="line")
COLOURS = ("user", "system", "disk", "memory", "net", "queue")
"""Colours of the classes of a figure, which has no more classes than colours."""
SHARE = partial(Axis, format=".0%", low=0.0, high=1.0)
METHOD = (
    "Service time is the CPU time that an interaction received, user and system. Statistics by class after "
    "Anderson and Sargent (1974), Table 1; a coefficient of variation of 1 belongs to the exponential "
    "distribution. Mean residual life E[S - t | S > t] (Anderson and Sargent 1974, Figures 3 and 4) with the "
    "delta method on its logarithm; the outer band covers the whole curve with 95 % confidence. Exponential: "
    "Anderson and Darling, mean estimated. Constant hazard rate, mean residual life, and life of new and "
    "used: Klefsjö (1983) and Hollander and Proschan (1975), normal with the exact moments of uniform "
    "spacings, two-sided. A false alarm in any class has a probability of 5 % for each kind of test (Holm). "
    "Periods last about ten minutes, or less in a short log, and end where a session ends or the number of "
    "users changes; they are compared by Anderson and Darling's test for several samples (Scholz and "
    "Stephens 1987; 0.001 <= p <= 0.25 before adjustment) and by rank correlation with time, adjusted over "
    "all classes (Holm)."
)
METHOD_OF_FITS = (
    "Fits: maximum likelihood (hyperexponential by EM, 2 to 5 phases by BIC); p of Kolmogorov and Smirnov's "
    "and of Anderson and Darling's distance by parametric bootstrap, each sample refitted; parameters' "
    "intervals from the same samples. The family with the smallest BIC is chosen if its A² has p of 0.05 or "
    "more, else the sample itself."
)
WORDS: dict[str, Callable[..., str]] = {
    "bursts": lambda bursts: (
        f"The log has the trace of a scheduler and no inputs: each of the {bursts} interactions here is a "
        "burst of a task, from its wake-up until it waits again, and its class is the command."
    ),
    "sampled": lambda taken, interactions, seed: (
        f"The figures are those of {taken} of {interactions} interactions, a uniform sample (seed {seed}): "
        "each n counts those of the sample."
    ),
    "unfinished": lambda unfinished, interactions: (
        f"{unfinished} of {interactions} interactions never completed and are left out; long ones are more "
        "likely among them, so the upper tail is cut."
    ),
    "small_classes": lambda least, classes: (
        f"Classes with fewer than {least} interactions are not shown: {', '.join(classes)}."
    ),
    "short_tail": lambda interactions: (
        f"With {interactions} interactions the tail is hardly observed: variance, skewness and p99 may be "
        "far too low."
    ),
    "correlated": lambda correlation: (
        f"Successive service times are correlated ({correlation:.2f} by rank): tests and the bands of the "
        "mean residual life treat them as independent and are too confident."
    ),
    "coarse_clock": lambda share: (
        f"{share:.0%} of the service times repeat another: the source's clock is coarse, short ones are "
        "uncertain."
    ),
    "no_family_fits": lambda classes: (
        f"No family fits well ({', '.join(classes)}): Anderson and Darling reject the best at 5 %. There the "
        "empirical distribution is chosen, which has no tail beyond the longest time observed."
    ),
}
RULES = {
    "least attained service": "who received least",
    "first come, first served": "who came first",
    "undecided": "undecided",
}


def section(result: Service | NotApplicable) -> Section:
    """Section of the result."""
    if isinstance(result, NotApplicable):
        return refused("service", TITLE, result)
    tables = [*_classes(result), _below(result)]
    if result.concentration:
        tables.append(_concentration(result))
    if result.ageing:
        tables += [_verdicts(result.ageing), _tests(result.ageing)]
    if not isinstance(result.stability, NotApplicable):
        tables += [_stability(result.stability), _periods(result.stability)]
    figures = [_histogram(result)]
    if len(result.curve) > 1:
        figures += [_distribution(result), _lorenz(result)]
    return Section(
        name="service",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(tables),
        figures=(*figures, *_residual_figures(result.ageing)),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def extended(section: Section, result: ServiceFit | NotApplicable) -> Section:
    """Section of the service times with the fits of distributions."""
    if isinstance(result, NotApplicable):
        return replace(section, summary=(*section.summary, f"{capital(result.reason)}."))
    named = [("all", result.overall), *((item.name, item.fits) for item in result.classes)]
    refusals = tuple(f"{name}: {why}." for name, why in result.refused)
    return replace(
        section,
        summary=(*section.summary, *(_fit_sentence(name, fits) for name, fits in named)),
        tables=(*section.tables, _fits(named, refusals), _parameters(named)),
        caveats=(*section.caveats, *worded(result.caveats, WORDS)),
        method=f"{section.method} {METHOD_OF_FITS}",
    )


# Service times

HUNDRED = 100
"""Number of interactions below which none of them stands for one in a hundred."""


def _sentences(result: Service) -> list[str]:
    overall = result.overall
    variation = shown.estimate(overall.coefficient_of_variation)
    compared = "more uneven than" if result.heavier_than_exponential else "not shown to be more uneven than"
    longest = f", one in a hundred more than {shown.quantity(overall.p99.value, 's')}"
    sentences = [
        f"The mean interaction received {shown.estimate(overall.mean)} of CPU time, the median one "
        f"{shown.quantity(overall.p50.value, 's')}{longest if overall.p99.n >= HUNDRED else ''}.",
        f"The coefficient of variation is {variation}: {compared} an exponential distribution.",
    ]
    if result.concentration:
        top = result.concentration[0]
        sentences.append(
            f"The {percent(top.upper)} of the interactions with most service received "
            f"{shown.quantity(top.share.value, 'share')} of it."
        )
    return [*sentences, *_ageing_sentences(result.ageing), _stability_sentence(result.stability)]


def _stability_sentence(result: Stability | NotApplicable) -> str:
    if isinstance(result, NotApplicable):
        return f"Whether service times stay the same over time is unknown: {result.reason}."
    differing = [test for test in result.tests if not test.stable]
    periods = len(result.periods)
    if not differing:
        return f"They are not shown to differ between the {periods} periods of the log."
    names = listed([test.name for test in differing])
    largest = max(test.effect for test in differing)
    return (
        f"They differ between the {periods} periods of the log ({names}): the period explains "
        f"{shown.quantity(largest, 'share')} of the variance of their ranks at most."
    )


def _classes(result: Service) -> tuple[Table, Table]:
    items: tuple[ServiceClass, ...] = (*result.classes, result.overall)
    shares = Table.of(
        items,
        Col("class", lambda item: item.name),
        Col("n", lambda item: item.n),
        Col("of interactions", lambda item: share(item.share), unit="share"),
        Col("of service", lambda item: share(item.service_share), unit="share"),
        Cols(
            ("mean", "p50", "p90", "p99"),
            lambda item: (item.mean, item.p50, item.p90, item.p99),
            unit="s",
        ),
        name="service-classes",
        caption="Service received by each class",
    )
    moments = Table.of(
        items,
        Col("class", lambda item: item.name),
        Col("standard deviation", lambda item: item.standard_deviation, unit="s"),
        Col("coefficient of variation", lambda item: item.coefficient_of_variation),
        Col("skewness", lambda item: item.skewness),
        name="service-moments",
        caption="Variability of service times, by class",
    )
    return shares, moments


def _below(result: Service) -> Table:
    return Table.of(
        result.below,
        Col("service time of at most", lambda item: item.limit_s, unit="s"),
        Col("of interactions", lambda item: share(item.share), unit="share"),
        name="service-below",
        caption="Interactions that need little",
    )


def _concentration(result: Service) -> Table:
    return Table.of(
        result.concentration,
        Col("of interactions, those with most service", lambda item: percent(item.upper)),
        Col("of all service", lambda item: share(item.share), unit="share"),
        name="service-concentration",
        caption="Concentration of the service on few interactions",
    )


def _stability(result: Stability) -> Table:
    return Table.of(
        result.tests,
        Col("class", lambda test: test.name),
        Col("periods", lambda test: test.periods),
        Col("p, one distribution", lambda test: test.distribution.p, unit="p"),
        Col("p, no trend", lambda test: test.trend.p, unit="p"),
        Col("explained by the period", lambda test: test.effect, unit="share"),
        name="service-stability",
        caption="Do service times stay the same over time?",
    )


def _periods(result: Stability) -> Table:
    return Table.of(
        result.periods,
        Col("from", lambda item: item.start_s, unit="s"),
        Col("length", lambda item: item.length_s, unit="s"),
        Col("users", lambda item: whole(item.users)),
        Col("n", lambda item: item.n),
        Cols(("mean", "p50", "p90"), lambda item: (item.mean, item.p50, item.p90), unit="s"),
        name="service-periods",
        caption="Service times by period",
        folded=True,
    )


def _distribution(result: Service) -> Figure:
    points = [
        Point(key=key, x=point.service_s, y=value)
        for point in result.curve
        for key, value in ((INTERACTIONS, point.fraction), (SERVICE, point.concentration.value))
        if point.service_s > 0
    ]
    series = Series(points, order=(INTERACTIONS, SERVICE))
    median, ninth = (shown.quantity(value.value, "s") for value in (result.overall.p50, result.overall.p90))
    return Figure(
        name="service-curve",
        title="Distribution of service times, and of the service received",
        chart=series.steps(
            Axis.logarithmic("service time", [point.x for point in points], "s"), SHARE("share")
        ),
        data=Table.of(
            result.curve,
            Col("service time", lambda point: point.service_s, unit="s"),
            Col("interactions", lambda point: point.fraction, unit="share"),
            Col("service", lambda point: share(point.concentration), unit="share"),
            name="service-curve-data",
            caption="Interactions with at most a given service time, and the service that they received",
        ),
        alt=(
            f"Half of the interactions received at most {median}, nine in ten at most {ninth}. The further "
            "apart the lines, the more of the service goes to few."
        ),
        keys=series.keys,
        half=True,
    )


def _lorenz(result: Service) -> Figure:
    key = Key("service", colour="system", shape="line")
    series = Series(
        [Point(key=key, x=point.fraction, y=share(point.concentration)) for point in result.curve]
    )

    def at_least(fraction: float) -> str:
        point: CurvePoint = next(
            (item for item in result.curve if item.fraction >= fraction), result.curve[-1]
        )
        return shown.quantity(point.concentration.value, "share")

    return Figure(
        name="service-concentration-curve",
        title="Concentration of the service",
        chart=series.curves(
            SHARE("interactions, those with least service"),
            SHARE("service that they received"),
            dotted=False,
        ),
        data=Table.of(
            result.curve,
            Col("interactions", lambda point: point.fraction, unit="share"),
            Col("service", lambda point: share(point.concentration), unit="share"),
            name="service-concentration-curve-data",
            caption="Share of all service that the interactions with least service receive",
        ),
        alt=(
            f"The half of the interactions with least service receives {at_least(0.5)} of all service, nine "
            f"tenths receive {at_least(0.9)}. If all were equal, the line would rise evenly."
        ),
        half=True,
    )


def _histogram(result: Service) -> Figure:
    rows: list[dict[str, Any]] = [
        {
            # A logarithmic axis has no zero.
            "low": item.low_s or item.high_s / 10**0.2,
            "high": item.high_s,
            "value": item.share.value,
            "shown": f"{shown.quantity(item.low_s, 's')} to {shown.quantity(item.high_s, 's')}: "
            f"{shown.cell(share(item.share))}",
        }
        for item in result.histogram
    ]
    edges = [end for row in rows for end in (row["low"], row["high"])]
    most = max(result.histogram, key=lambda item: item.share.value)
    return Figure(
        name="service-histogram",
        title="Service times",
        chart=partial(
            distributions.histogram,
            rows,
            Axis.logarithmic("service time", edges, "s"),
            Axis.from_zero("share of interactions", rows, ".0%"),
            "user",
        ),
        data=Table.of(
            result.histogram,
            Col("above", lambda item: item.low_s, unit="s"),
            Col("up to", lambda item: item.high_s, unit="s"),
            Col("interactions", lambda item: share(item.share), unit="share"),
            name="service-histogram-data",
            caption="Interactions by service time",
        ),
        alt=(
            f"Most often, in {shown.quantity(most.share.value, 'share')} of the cases, an interaction needs "
            f"{shown.quantity(most.low_s, 's')} to {shown.quantity(most.high_s, 's')}. Each box is a fifth "
            "of a decade wide."
        ),
    )


# Residual life


def _ageing_sentences(items: Sequence[Ageing]) -> list[str]:
    """Sentences on the exponential distribution, the residual life, and the scheduling rule."""
    if not items:
        return []
    overall = items[0]
    p = p_value(overall.exponential.p)
    exponential = (
        f"Service times are not exponential ({p}; false-alarm rate {percent(ALPHA)})."
        if overall.exponential.rejected()
        else f"Exponential service times are not rejected ({p})."
    )
    return [exponential, _residual_sentence(overall), _rule_sentence(overall), *_by_class(items[1:])]


def _residual_sentence(item: Ageing) -> str:
    first, last = item.curve[0], item.curve[-1]
    fresh = shown.quantity(first.residual.value, "s")
    later = f"{shown.quantity(last.residual.value, 's')} after {shown.quantity(last.service_s, 's')}"
    p = p_value(item.residual.p)
    sentences = {
        "increasing": f"The longer an interaction has been served, the longer it will still take: {fresh} at "
        f"its start, {later}. The mean residual life increases ({p}), and its band shows no decrease.",
        "decreasing": f"The longer an interaction has been served, the sooner it will end: {fresh} at its "
        f"start, {later}. The mean residual life decreases ({p}), and its band shows no increase.",
        "not monotone": f"The mean residual life, {fresh} at the start and {later}, both increases and "
        "decreases in between, beyond its band.",
        "undecided": f"The mean residual life, {fresh} at the start and {later}, is not shown to increase or "
        f"to decrease ({p}).",
    }
    return sentences[item.direction]


def _rule_sentence(item: Ageing) -> str:
    """Sentence on scheduling, whose proofs are cited at `Ageing.rule`."""
    if item.rule == "least attained service":
        proven = (
            "the hazard rate is shown to fall too, and where it falls throughout, no such rule is better"
            if item.hazard_falls
            else "a proof that no such rule is better would need a falling hazard rate, which is not shown"
        )
        return (
            "For a short mean response without knowing service times, serve first those that have received "
            f"least (foreground-background, least attained service); {proven}."
        )
    if item.rule == "first come, first served":
        return (
            "For a short mean response without knowing service times, finish what has been begun: first "
            "come, first served, because new interactions need more than those already served "
            f"({p_value(item.expectation.p)})."
        )
    return (
        "It does not decide between serving first those that have received least and first come, first "
        "served: for the mean response the order then matters little, or depends on the service received."
    )


def _by_class(items: Sequence[Ageing]) -> list[str]:
    if len(items) < 2:
        return []
    grouped: dict[str, list[str]] = {}
    for item in items:
        grouped.setdefault(item.direction, []).append(item.name)
    parts = [f"{direction} for {', '.join(names)}" for direction, names in grouped.items()]
    return [f"By class the mean residual life is {'; '.join(parts)}."]


def _residual_figures(items: Sequence[Ageing]) -> list[Figure]:
    """Residual life of all interactions with both bands, and of the classes with their intervals."""
    figures = []
    title = "Service still to come"
    if items and len(_drawn(items[0])) > 1:
        overall, last = items[0], items[0].curve[-1]
        alt = (
            f"Mean service still to come: {shown.estimate(overall.curve[0].residual)} at the start, "
            f"{shown.estimate(last.residual)} for the {shown.quantity(last.above, 'share')} of the "
            f"interactions that receive more than {shown.quantity(last.service_s, 's')}. A level line "
            "belongs to the exponential distribution. The inner band is for each point, the outer for the "
            "whole line."
        )
        figures.append(_residual_figure("service-residual", title, items[:1], alt))
    classes = [item for item in items[1:] if len(_drawn(item)) > 1][: len(COLOURS)]
    if len(classes) > 1:
        ends = [
            f"{item.name}: {shown.quantity(item.curve[0].residual.value, 's')} at the start, "
            f"{shown.quantity(item.curve[-1].residual.value, 's')} after "
            f"{shown.quantity(item.curve[-1].service_s, 's')}"
            for item in classes
        ]
        alt = f"{'. '.join(ends)}."
        figures.append(_residual_figure("service-residual-classes", f"{title}, by class", classes, alt))
    return figures


def _drawn(item: Ageing) -> list[ResidualPoint]:
    """Points on a logarithmic axis: not the one at zero."""
    return [point for point in item.curve if point.service_s > 0]


def _band(point: ResidualPoint) -> tuple[float, float] | None:
    return None if point.low_all is None or point.high_all is None else (point.low_all, point.high_all)


def _residual_figure(name: str, title: str, items: Sequence[Ageing], alt: str) -> Figure:
    alone = len(items) == 1
    series = Series(
        [
            Point(
                key=Key(item.name, colour=colour, shape="line"),
                x=point.service_s,
                y=point.residual,
                band=_band(point) if alone else None,
            )
            for item, colour in zip(items, COLOURS, strict=False)
            for point in _drawn(item)
        ]
    )
    return Figure(
        name=name,
        title=title,
        chart=series.curves(
            Axis.logarithmic("service received", [point.x for point in series.points], "s"),
            Axis.logarithmic(
                "mean service still to come", series.values("low", "high", "low_all", "high_all"), "s"
            ),
            dotted=False,
        ),
        data=Table.of(
            [(item.name, point) for item in items for point in item.curve],
            Col("class", lambda pair: pair[0]),
            Col("received", lambda pair: pair[1].service_s, unit="s"),
            Col("interactions that receive more", lambda pair: pair[1].above, unit="share"),
            Col("still to come", lambda pair: pair[1].residual, unit="s"),
            Col("whole curve, low", lambda pair: pair[1].low_all, unit="s"),
            Col("whole curve, high", lambda pair: pair[1].high_all, unit="s"),
            name=f"{name}-data",
            caption="Mean service still to come, by service received",
        ),
        alt=alt,
    )


def _verdicts(items: Sequence[Ageing]) -> Table:
    return Table.of(
        items,
        Col("class", lambda item: item.name),
        Col("n", lambda item: item.n),
        Col("to come at the start", lambda item: item.curve[0].residual, unit="s"),
        Col("after", lambda item: item.curve[-1].service_s, unit="s"),
        Col("to come then", lambda item: item.curve[-1].residual, unit="s"),
        Col("mean residual life", lambda item: item.direction),
        Col("serve first", lambda item: RULES[item.rule]),
        name="service-ageing",
        caption="Service still to come, by class",
    )


def _tests(items: Sequence[Ageing]) -> Table:
    def outcome(test: SignificanceTest, sides: tuple[str, str] | None) -> str:
        if not test.rejected():
            return "not rejected"
        return "rejected" if sides is None else sides[test.direction > 0]

    life = ("falls", "rises")
    rows: list[tuple[str, str, SignificanceTest, tuple[str, str] | None]] = []
    for item in items:
        rows += [
            (item.name, "exponential", item.exponential, None),
            (item.name, "constant hazard rate", item.hazard, life),
            (item.name, "constant mean residual life", item.residual, life),
            (item.name, "used as good as new", item.expectation, ("used need less", "used need more")),
        ]
    return Table.of(
        rows,
        Cols(("class", "hypothesis"), lambda row: row[:2]),
        Col("statistic", lambda row: row[2].statistic),
        Col("p", lambda row: row[2].p, unit="p"),
        Col("data", lambda row: outcome(row[2], row[3])),
        name="service-ageing-tests",
        caption="Do service times age? Tests against the exponential distribution",
    )


# Fits


def _fit_sentence(name: str, fits: Fits) -> str:
    sample = "all service times" if name == "all" else f"service times of class {name}"
    if not fits.fits:
        return f"No family can be fitted to {sample}: the sample itself represents them."
    best = fits.fits[0]
    kind = best.spec["kind"].replace("_", " ")
    if fits.adequate():
        return (
            f"Best for {sample} is the {kind} distribution (A² {shown.number(best.ad)}, "
            f"p {shown.probability(best.ad_p)})."
        )
    return (
        f"No family fits {sample} well: the best, {kind}, is rejected (p {shown.probability(best.ad_p)}); "
        "the sample itself is used."
    )


def _fits(named: Sequence[tuple[str, Fits]], refusals: Sequence[str]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, fits in named:
        sample = (fits.mean, fits.coefficient_of_variation)
        rows.append((name, "(the sample)", *(None,) * 6, *sample))
        for fit in fits.fits:
            distances = (fit.bic, fit.aic, fit.ks, fit.ks_p, fit.ad, fit.ad_p)
            rows.append((name, fit.spec["kind"], *distances, fit.mean, fit.coefficient_of_variation))
    failed = [f"{name}, {kind}: {why}." for name, fits in named for kind, why in fits.refused]
    return Table.of(
        rows,
        Cols(("class", "family", "BIC", "AIC", "D"), lambda row: row[:5]),
        Col("p of D", lambda row: row[5], unit="p"),
        Col("A²", lambda row: row[6]),
        Col("p of A²", lambda row: row[7], unit="p"),
        Col("mean", lambda row: row[8], unit="s"),
        Col("coefficient of variation", lambda row: row[9]),
        name="service-fits",
        caption="Distributions fitted to the service times",
        notes=(*failed, *refusals),
    )


def _parameters(named: Sequence[tuple[str, Fits]]) -> Table:
    return Table.of(
        [
            (name, fit.spec["kind"], parameter, value)
            for name, fits in named
            for fit in fits.fits
            for parameter, value in fit.parameters
        ],
        Cols(("class", "family", "parameter", "estimate"), lambda row: row),
        name="service-fit-parameters",
        caption="Parameters of the fitted distributions",
        folded=True,
    )
