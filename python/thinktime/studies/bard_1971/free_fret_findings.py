"""What the free-fret experiment shows, and whether its difference of throughput is significant."""

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
from thinktime.studies.bard_1971.installation import Installation
from thinktime.studies.bard_1971.recomputed import CALLS, fact
from thinktime.studies.bard_1971.regression import adjusted, cp_time, theta
from thinktime.studies.bard_1971.tables import NAME
from thinktime.studies.cells import Claim

__all__ = ["findings", "significance_table"]

WITHIN_MS = 0.4
CALLS_WITHIN = 0.25
NEARLY_ALL = 0.75
"""Part of the gain from II to III."""
CODING = (40.0, 60.0)
MORE = (8.0, 24.0)
"""Per cent that stand for the paper's 50 and 16."""
USEFUL = ("problem_state_time", "vsio", "page_io")


def findings(installation: Installation) -> Iterator[Claim]:
    """Judge every conclusion of the experiment."""
    yield _faster(installation)
    yield _calls(installation)
    yield from _reductions(installation)
    yield _gain(installation)
    yield _pages(installation)
    yield _significant(installation)
    yield _overhead(installation)


def _found(finding: str, source: str, holds: bool | None, statistic: str, text: str) -> Claim:
    return Claim(study=NAME, id=finding, source=source, holds=holds, statistic=statistic, text=text)


def _faster(installation: Installation) -> Claim:
    found = totals(experiments(installation)[0])
    share = {way: 100.0 * (sums["free_s"] + sums["fret_s"]) / sums["cp_s"] for way, sums in found.items()}
    pair = {
        way: 1e6 * (sums["free_s"] / sums["free_calls"] + sums["fret_s"] / sums["fret_calls"])
        for way, sums in found.items()
    }
    return _found(
        "free-fret-share",
        "section on free-fret",
        share["new"] < share["old"] / 4.0,
        f"share of CP time {share['old']:.1f} % old and {share['new']:.1f} % new, for pairs of calls of "
        f"{pair['old']:.0f} and {pair['new']:.0f} microseconds; below a quarter holds",
        "the new algorithm brings free-fret from a sixth of CP time down to a few per cent",
    )


def _calls(installation: Installation) -> Claim:
    fit = calls(installation)
    found = {request: 1e-3 * theta(fit, request).value for request in CALLS}
    off = {request: abs(found[request] - fact(name).value) for request, name in CALLS.items()}
    return _found(
        "calls-recovered",
        "section on free-fret",
        max(off.values()) <= CALLS_WITHIN,
        ", ".join(f"{request.replace('_', ' ')} {value:.2f}" for request, value in found.items())
        + f"; within {CALLS_WITHIN:g} of the stated numbers holds",
        "regressing FREE calls on requests gives 3.5 calls for a VSIO, none for a VMIO, and two for a page "
        "I/O and a spool I/O",
    )


def _reductions(installation: Installation) -> Iterator[Claim]:
    """Judge the falls of the coefficients, as the paper has them and as they follow from what is measured."""
    observed: list[str] = []
    measured: list[str] = []
    near = nearer = True
    for request, name in CALLS.items():
        expected = fact(name).value * fact("B-F25").value / 1000.0
        found = reduction(installation, request)
        old, new = (time_in(installation, way, request).value for way in ("old", "new"))
        near &= abs(found.value - expected) <= WITHIN_MS
        nearer &= abs(old - new - expected) <= WITHIN_MS
        words = request.replace("_", " ")
        ends = "" if found.low is None else f" ({found.low:+.2f} to {found.high:+.2f})"
        observed.append(f"{words} {found.value:+.2f}{ends} for {expected:.2f} ms")
        measured.append(f"{words} {old - new:+.2f} for {expected:.2f} ms")
    yield _found(
        "reductions-recovered",
        "section on free-fret",
        near,
        f"{'; '.join(observed)}; within {WITHIN_MS:g} ms holds",
        "coefficients fall by the calls of a request times what a FREE and a FRET are faster",
    )
    yield _found(
        "reductions-measured",
        "section on free-fret",
        nearer,
        f"{'; '.join(measured)}; within {WITHIN_MS:g} ms holds",
        "so does the time in FREE and FRET that comes with a request",
    )


def _gain(installation: Installation) -> Claim:
    said, holds = [], True
    for request in ("vsio", "spool_io"):
        new = theta(cp_time(installation, "III-3"), request).value
        whole = adjusted(installation, "II-3", request).value - new
        own = theta(old_fit(installation), request).value - new
        holds &= own >= NEARLY_ALL * whole
        said.append(f"{request.replace('_', ' ')} {own:.2f} of {whole:.2f} ms")
    return _found(
        "gain-is-free-fret",
        "section on free-fret",
        holds,
        f"coefficient falls from II-3, adjusted, to III-3, of which by free-fret: {'; '.join(said)}; "
        f"{100 * NEARLY_ALL:.0f} % are nearly all",
        "nearly all that version III gains on VSIO and spool I/O is due to free-fret",
    )


def _pages(installation: Installation) -> Claim:
    second = adjusted(installation, "II-3", "page_io").value
    old = theta(old_fit(installation), "page_io").value
    new = theta(cp_time(installation, "III-3"), "page_io").value
    coding, more = 100.0 * (second - old) / second, 100.0 * (old - new) / second
    return _found(
        "page-coding",
        "section on free-fret",
        CODING[0] <= coding <= CODING[1] and MORE[0] <= more <= MORE[1],
        f"{second:.2f} ms in II-3, adjusted, {old:.2f} ms in III with the old and {new:.2f} ms with the new "
        f"free-fret: {coding:.0f} % by other coding, {more:.0f} % more by free-fret; from {CODING[0]:.0f} to "
        f"{CODING[1]:.0f} and from {MORE[0]:.0f} to {MORE[1]:.0f} % hold",
        "page I/O gains 50 % by other coding and 16 % more by free-fret",
    )


def _significant(installation: Installation) -> Claim:
    """Answer what the paper leaves open: whether the difference of Table 12 is more than chance."""
    comparison = compared(installation)
    tight = next(item for item in comparison.allowed if item.chosen)
    p = {variable: p_of(printed_difference(variable), installation, variable) for variable in USEFUL}
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
    count = installation.settings.replications
    return _found(
        "throughput-significant",
        "Table 12, of unknown significance there",
        min(p.values()) < ALPHA,
        f"printed differences against those of {count} simulated runs of such days: {listed}; problem state "
        f"time differs by {printed_difference('problem_state_time'):.1f} points{power}{exact}",
        "the throughput of Table 12 rises significantly with the new free-fret",
    )


def _overhead(installation: Installation) -> Claim:
    """CP time at equal work, which the design can see."""
    count = installation.settings.replications
    effects = [compared(installation, number).effect("system_time", "work") for number in range(count)]
    found = sum(item.t_test is not None and item.t_test.rejected() for item in effects)
    raw = [compared(installation, number).effect("system_time") for number in range(count)]
    plain = sum(item.t_test is not None and item.t_test.rejected() for item in raw)
    first = effects[0]
    p = "" if first.t_test is None else f", p {first.t_test.p:.2g} by Student's test over days"
    return _found(
        "overhead-falls",
        "Table 12",
        found > count / 2.0 and first.difference.value < 0.0,
        f"CP time at equal requests and problem state time {100.0 * first.difference.value:+.1f} points of "
        f"real time{p}; significant in {found} of {count} simulated runs, as it stands in {plain}; "
        "more than half holds",
        "CP time falls with the new free-fret",
    )


def significance_table(installation: Installation) -> Table:
    """Show the differences of Table 12 against what chance does in eight such days."""
    rows: list[tuple[Cell, ...]] = []
    for variable, (name, _, factor) in MEASURES.items():
        effect = compared(installation).effect(name)
        found = means(installation, variable)
        spread = float((found["new"] - found["old"]).std(ddof=1))
        power = effect.power
        at_load = compared(installation).effect(name, "load")
        rows.append(
            (
                variable.replace("_", " "),
                f"{printed_difference(variable):+.1f}",
                spread_of(installation, variable),
                f"{spread:.2f}",
                f"{p_of(printed_difference(variable), installation, variable):.3f}",
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
