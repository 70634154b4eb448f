"""Claims of Figures 7 to 9, and whether they hold here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinktime.stats.estimate import Estimate
from thinktime.studies.bard_1971.recomputed import fact
from thinktime.studies.bard_1971.records import PAPER, PERIODS
from thinktime.studies.bard_1971.saturation import (
    DRUM,
    PLOTS,
    SECOND,
    THIRD,
    dominance,
    frontier,
    frontiers_compared,
    limited,
    pages,
    pair_of,
    region,
    trade_off,
    within,
)
from thinktime.studies.cells import Claim
from thinktime.studies.laboratory import Laboratory

if TYPE_CHECKING:
    from thinktime.analyses.saturation.frontier_pair import FrontierPair


NEAR = 0.25
DRUM_BELOW, CPU_ABOVE = 40.0, 50.0
SLACK_BELOW = 55.0
NEAR_STATE = 10.0
NEAR_PAGES = 5.0
POINTS_LEAST = 6


def claims(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims: every conclusion from Figures 6 to 9."""
    yield dominance()
    yield from _third(laboratory)
    yield from _second(laboratory)
    yield _sooner(laboratory)
    yield from _prices(laboratory)
    yield from _outside(laboratory)
    yield _fills(laboratory)
    yield _plane(laboratory)


def _third(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims about the three regions of version III."""
    pair = pages(laboratory, THIRD)
    drum, slack, cpu = (region(pair, name) for name in (DRUM, "none", "cpu"))
    least, most = (end.value for end in PAPER.facts["paging-rate-at-saturation"].ends)
    low = within(pair, 0.0, drum[1].value / 100.0) if drum else []
    rates = [y for (_, y), _ in low]
    constant = bool(rates) and min(rates) >= least - NEAR_PAGES and max(rates) <= most + NEAR_PAGES
    listed = _in_words(pair, drum)
    if rates:
        listed += f", {_of(low, DRUM)} points there, at {min(rates):.1f} to {max(rates):.1f} pages a second"
    yield PAPER.claim(
        "region-paging",
        drum is not None and constant and abs(drum[1].value - DRUM_BELOW) <= NEAR_STATE,
        f"the drum limits {listed}; {NEAR_STATE:g} points of problem state and {NEAR_PAGES:g} pages are near",
    )
    yield PAPER.claim(
        "region-cpu",
        cpu is not None,
        f"the CPU limits {_in_words(pair, cpu)}: {_of(_inside(pair, cpu), 'cpu')} points there have "
        f"no wait time",
    )
    yield PAPER.claim(
        "region-slack",
        slack is not None
        and abs(slack[0].value - DRUM_BELOW) <= NEAR_STATE
        and abs(slack[1].value - SLACK_BELOW) <= NEAR_STATE,
        f"neither limits {_in_words(pair, slack)}; ends within {NEAR_STATE:g} points hold",
    )


_Ends = tuple[Estimate, Estimate]


def _in_words(pair: FrontierPair, ends: _Ends | None) -> str:
    """Place of a region in words; where there is none, what limits instead."""
    if ends is None:
        instead = ", ".join(f"{item.limit} up to {100 * item.high:.0f} %" for item in pair.regions)
        return f"nowhere; what limits is {instead}"
    words = []
    for end in ends:
        present = end.low is not None and end.high is not None
        words.append(f"{end.value:.0f} %" + (f" ({end.low:.0f} to {end.high:.0f})" if present else ""))
    return f"from {words[0]} to {words[1]} problem state"


def _inside(pair: FrontierPair, ends: _Ends | None) -> list[tuple[tuple[float, float], str]]:
    return within(pair, ends[0].value / 100.0, ends[1].value / 100.0) if ends else []


def _of(points: Sequence[tuple[object, str]], name: str) -> str:
    """Number of points that a resource limits."""
    return f"{sum(limit == name for _, limit in points)} of {len(points)}"


def _second(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims about the limits of version II."""
    both = {period: pages(laboratory, period) for period in ("II-2", SECOND)}
    drum = {period: f"{len(limited(pair, DRUM))} of {len(pair.points)}" for period, pair in both.items()}
    yield PAPER.claim(
        "ii-no-paging-limit",
        not any(limited(pair, DRUM) for pair in both.values()),
        ", ".join(f"{count} frontier points of {period}" for period, count in drum.items())
        + " are limited by the drum",
    )
    cpu = region(both[SECOND], "cpu")
    yield PAPER.claim(
        "ii-cpu-limit",
        cpu is not None and abs(cpu[0].value - CPU_ABOVE) <= NEAR_STATE,
        f"the CPU limits II-3 {_in_words(both[SECOND], cpu)}: "
        f"{_of(_inside(both[SECOND], cpu), 'cpu')} points "
        f"there have no wait time; a begin within {NEAR_STATE:g} points holds",
    )


def _sooner(laboratory: Laboratory) -> Claim:
    result = frontier(laboratory, THIRD)
    pairs = {name: pair_of(result, "user_time", name) for name in ("vsio", "page_ios")}
    vsio, paging = (region(pair, "cpu") for pair in pairs.values())
    holds = None if vsio is None or paging is None else vsio[0].value < paging[0].value
    return PAPER.claim(
        "cpu-sooner-with-vsio",
        holds,
        f"the CPU limits the frontier against VSIO {_in_words(pairs['vsio'], vsio)}, that against page I/O "
        f"{_in_words(pairs['page_ios'], paging)}",
    )


_SOONER = "the CPU saturates at a lower problem state where VSIO are many than where paging is heavy"


def _prices(laboratory: Laboratory) -> Iterator[Claim]:
    asked = (
        ("price-of-page", "page-price-ii", SECOND, "page_ios"),
        ("price-of-vsio", "vsio-price", THIRD, "vsio"),
    )
    for name, stated, period, y in asked:
        ours = trade_off(laboratory, period, "user_time", y)
        published = fact(stated).value
        ends = (
            f" ({ours.low:.1f} to {ours.high:.1f})" if ours.low is not None and ours.high is not None else ""
        )
        yield PAPER.claim(
            name,
            abs(ours.value - published) <= NEAR * published,
            f"{ours.value:.1f} ms{ends} from end to end of the frontier; within {100 * NEAR:.0f} % holds",
        )


def _outside(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims that the frontier of version III lies outside that of version II."""
    compared = {(pair.x.name, pair.y.name): pair for pair in frontiers_compared(laboratory).pairs}
    for number, names in PLOTS.items():
        pair = compared[names]
        further, least = (
            f"{100 * item.value:+.0f} %"
            + (
                f" ({100 * item.low:+.0f} to {100 * item.high:+.0f})"
                if item.low is not None and item.high is not None
                else ""
            )
            for item in (pair.further, pair.least)
        )
        yield PAPER.claim(
            f"iii-outside-figure-{number}",
            None if pair.verdict == "no difference" else pair.verdict == "outside",
            f"at equal numbers of observations the frontier of III-3 is {pair.verdict}: {further} further "
            f"out than that of II-3 on the mean over directions, {least} where least; p {pair.test.p:.2g} "
            "that both are samples of one",
        )


def _words(name: str) -> str:
    return {"user_time": "problem state time", "page_ios": "page I/O", "vsio": "VSIO"}[name]


def _fills(laboratory: Laboratory) -> Claim:
    listed = []
    settled: list[bool | None] = []
    for period in PERIODS:
        growth = frontier(laboratory, period).growth
        settled.append(growth.settled)
        listed.append(
            f"{period} grows by {100 * growth.volume:.1f} % in its second half, random halves by "
            f"{100 * growth.expected_volume:.1f} %"
        )
    holds = None if None in settled else all(settled)
    return PAPER.claim("fills-in", holds, "; ".join(listed))


def _plane(laboratory: Laboratory) -> Claim:
    """Claim that a plane fits the points of the frontier in three dimensions that the CPU limits."""
    result = frontier(laboratory, THIRD)
    points = np.array([point.values for point in result.points if str(point.limit) == "cpu"])
    if len(points) < POINTS_LEAST:
        return PAPER.claim("surface-planar", None, f"{len(points)} points limited by the CPU")
    problem, rest = points[:, 0], points[:, 1:]
    x = np.column_stack([np.ones(len(points)), rest])
    coefficients = np.linalg.lstsq(x, problem, rcond=None)[0]
    part = 1.0 - float(np.var(problem - x @ coefficients) / np.var(problem))
    prices = _listed(coefficients[1:])
    return PAPER.claim(
        "surface-planar",
        [part],
        f"a plane through the {len(points)} frontier points of III-3 that the CPU limits explains "
        f"{part:.2f} of the variance of problem state time: {prices}; "
        f"{PAPER.amount('surface-planar'):g} is nearly planar",
    )


def _listed(slopes: Sequence[float]) -> str:
    pages, vsio = (-1000.0 * slope for slope in slopes)
    return f"{pages:.1f} ms a page, {vsio:.1f} ms a VSIO"
