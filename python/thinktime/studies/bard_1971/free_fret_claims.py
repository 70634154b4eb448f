"""Claims of the free-fret experiment, and the significance of its difference of throughput."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.documents.document import Cell, Column, Table
from thinktime.stats.hypothesis import ALPHA
from thinktime.studies.bard_1971.free_fret import (
    MEASURES,
    calls,
    compared,
    experiments,
    means,
    old_fit,
    p_of,
    printed_difference,
    reduction,
    spread_of,
    time_in,
    totals,
)
from thinktime.studies.bard_1971.recomputed import CALLS, fact
from thinktime.studies.bard_1971.records import PAPER
from thinktime.studies.bard_1971.regression import adjusted, cp_time, theta
from thinktime.studies.cells import Claim
from thinktime.studies.laboratory import Laboratory

WITHIN_MS = 0.4
NEARLY_ALL = 0.75
"""Part of the gain from II to III."""
CODING = (40.0, 60.0)
MORE = (8.0, 24.0)
"""Per cent that stand for the paper's 50 and 16."""
USEFUL = ("problem_state_time", "vsio", "page_io")


def claims(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims: every conclusion of the experiment."""
    yield _faster(laboratory)
    yield _calls(laboratory)
    yield from _reductions(laboratory)
    yield _gain(laboratory)
    yield _pages(laboratory)
    yield _significant(laboratory)
    yield _overhead(laboratory)


def _faster(laboratory: Laboratory) -> Claim:
    result = totals(experiments(laboratory)[0])
    share = {way: 100.0 * (sums["free_s"] + sums["fret_s"]) / sums["cp_s"] for way, sums in result.items()}
    pair = {
        way: 1e6 * (sums["free_s"] / sums["free_calls"] + sums["fret_s"] / sums["fret_calls"])
        for way, sums in result.items()
    }
    return PAPER.claim(
        "free-fret-share",
        share["new"] < share["old"] / 4.0,
        f"share of CP time {share['old']:.1f} % old and {share['new']:.1f} % new, for pairs of calls of "
        f"{pair['old']:.0f} and {pair['new']:.0f} microseconds; below a quarter holds",
    )


def _calls(laboratory: Laboratory) -> Claim:
    fit = calls(laboratory)
    result = {request: 1e-3 * theta(fit, request).value for request in CALLS}
    off = {request: abs(result[request] - fact(name).value) for request, name in CALLS.items()}
    return PAPER.claim(
        "calls-recovered",
        [max(off.values())],
        ", ".join(f"{request.replace('_', ' ')} {value:.2f}" for request, value in result.items())
        + f"; within {PAPER.amount('calls-recovered'):g} of the stated numbers holds",
    )


def _reductions(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims about the falls of the coefficients: as the paper has them, and as measured."""
    observed: list[str] = []
    measured: list[str] = []
    near = nearer = True
    for request, name in CALLS.items():
        expected = fact(name).value * fact("pair-saving").value / 1000.0
        result = reduction(laboratory, request)
        old, new = (time_in(laboratory, way, request).value for way in ("old", "new"))
        near &= abs(result.value - expected) <= WITHIN_MS
        nearer &= abs(old - new - expected) <= WITHIN_MS
        words = request.replace("_", " ")
        ends = "" if result.low is None else f" ({result.low:+.2f} to {result.high:+.2f})"
        observed.append(f"{words} {result.value:+.2f}{ends} for {expected:.2f} ms")
        measured.append(f"{words} {old - new:+.2f} for {expected:.2f} ms")
    yield PAPER.claim("reductions-recovered", near, f"{'; '.join(observed)}; within {WITHIN_MS:g} ms holds")
    yield PAPER.claim("reductions-measured", nearer, f"{'; '.join(measured)}; within {WITHIN_MS:g} ms holds")


def _gain(laboratory: Laboratory) -> Claim:
    listed, holds = [], True
    for request in ("vsio", "spool_io"):
        new = theta(cp_time(laboratory, "III-3"), request).value
        total = adjusted(laboratory, "II-3", request).value - new
        selected = theta(old_fit(laboratory), request).value - new
        holds &= selected >= NEARLY_ALL * total
        listed.append(f"{request.replace('_', ' ')} {selected:.2f} of {total:.2f} ms")
    return PAPER.claim(
        "gain-is-free-fret",
        holds,
        f"coefficient falls from II-3, adjusted, to III-3, of which by free-fret: {'; '.join(listed)}; "
        f"{100 * NEARLY_ALL:.0f} % are nearly all",
    )


def _pages(laboratory: Laboratory) -> Claim:
    second = adjusted(laboratory, "II-3", "page_io").value
    old = theta(old_fit(laboratory), "page_io").value
    new = theta(cp_time(laboratory, "III-3"), "page_io").value
    coding, more = 100.0 * (second - old) / second, 100.0 * (old - new) / second
    return PAPER.claim(
        "page-coding",
        CODING[0] <= coding <= CODING[1] and MORE[0] <= more <= MORE[1],
        f"{second:.2f} ms in II-3, adjusted, {old:.2f} ms in III with the old and {new:.2f} ms with the new "
        f"free-fret: {coding:.0f} % by other coding, {more:.0f} % more by free-fret; from {CODING[0]:.0f} to "
        f"{CODING[1]:.0f} and from {MORE[0]:.0f} to {MORE[1]:.0f} % hold",
    )


def _significant(laboratory: Laboratory) -> Claim:
    """Claim that the paper leaves open: the difference of Table 12 is more than chance."""
    comparison = compared(laboratory)
    tight = next(item for item in comparison.allowed if item.chosen)
    p = {variable: p_of(printed_difference(variable), laboratory, variable) for variable in USEFUL}
    effect = comparison.effect("user_time")
    listed = ", ".join(f"{variable.replace('_', ' ')} p {value:.2f}" for variable, value in p.items())
    power = ""
    if effect.power is not None and effect.power.by_t is not None:
        power = f"; chance to find it by Student's test over days {effect.power.by_t:.2f}"
        if effect.power.detectable_by_t is not None:
            least = 100.0 * effect.power.detectable_by_t
            power += f", least difference found with a chance of 0.8 {least:.1f} points"
    exact = ""
    if tight.smallest_p is not None:
        exact = (
            f"; {tight.assignments} assignments keep weeks and weekdays balanced, so that no data give the "
            f"exact test a p below {tight.smallest_p:.2f}"
        )
    count = laboratory.settings.replications
    return PAPER.claim(
        "throughput-significant",
        min(p.values()) < ALPHA,
        f"printed differences against those of {count} simulated runs of such days: {listed}; problem state "
        f"time differs by {printed_difference('problem_state_time'):.1f} points{power}{exact}",
    )


def _overhead(laboratory: Laboratory) -> Claim:
    """CP time at equal work, which the design can see."""
    count = laboratory.settings.replications
    effects = [compared(laboratory, number).effect("system_time", "work") for number in range(count)]
    result = sum(item.t_test is not None and item.t_test.rejected() for item in effects)
    raw = [compared(laboratory, number).effect("system_time") for number in range(count)]
    plain = sum(item.t_test is not None and item.t_test.rejected() for item in raw)
    first = effects[0]
    p = "" if first.t_test is None else f", p {first.t_test.p:.2g} by Student's test over days"
    return PAPER.claim(
        "overhead-falls",
        result > count / 2.0 and first.difference.value < 0.0,
        f"CP time at equal requests and problem state time {100.0 * first.difference.value:+.1f} points of "
        f"real time{p}; significant in {result} of {count} simulated runs, as it stands in {plain}; "
        "more than half holds",
    )


def significance_table(laboratory: Laboratory) -> Table:
    """The differences of Table 12 against what chance does in eight such days."""
    rows: list[tuple[Cell, ...]] = []
    for variable, (name, _, factor) in MEASURES.items():
        effect = compared(laboratory).effect(name)
        result = means(laboratory, variable)
        spread = float((result["new"] - result["old"]).std(ddof=1))
        power = effect.power
        at_load = compared(laboratory).effect(name, "load")
        rows.append(
            (
                variable.replace("_", " "),
                f"{printed_difference(variable):+.1f}",
                spread_of(laboratory, variable),
                f"{spread:.2f}",
                f"{p_of(printed_difference(variable), laboratory, variable):.3f}",
                None if power is None or power.by_t is None else f"{power.by_t:.2f}",
                None
                if power is None or power.detectable_by_t is None
                else f"{factor * power.detectable_by_t:.1f}",
                None if at_load.t_test is None else f"{at_load.t_test.p:.2f}",
            )
        )
    columns = (
        Column("rate of Table 12"),
        Column("printed difference", scaled=False),
        Column("simulated, mean over runs", scaled=False),
        Column("deviation between runs", scaled=False),
        Column("p of the printed one", scaled=False),
        Column("power", scaled=False),
        Column("found with 0.8", scaled=False),
        Column("p at equal load, first run", scaled=False),
    )
    notes = (
        "Times in per cent of real time, rates per second; new less old algorithm.",
        "Power: chance that Student's test on the eight days, weeks and weekdays taken out, finds the "
        "printed difference, with days that differ as those of the first run do.",
    )
    return Table(
        name="significance",
        caption="Is the difference of Table 12 more than chance?",
        columns=columns,
        rows=tuple(rows),
        notes=notes,
    )
