"""Claims of the paper, and whether they hold here."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from thinktime.stats.difference import difference
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1969 import ctss_comparison, instruments, responses, think_time
from thinktime.studies.sekino_1969.cpu_time import (
    CPU,
    LEAST_USERS,
    OTHERS,
    RUN,
    added_fault_ms,
    component,
    decomposed_at,
    faults,
    line,
    run_share,
    users_of,
)
from thinktime.studies.sekino_1969.instruments import ALIKE, AS_IN_1969, DAILY, INSIDE, QUIET
from thinktime.studies.sekino_1969.loads import COMPILED, PAPER, SUMMARY, fact, on_ctss, on_multics
from thinktime.studies.sekino_1969.responses import average, fortran, one_run
from thinktime.studies.study import Chapter

MEAN, TIME, SHARE = 0.20, 0.10, 4.0
"""Parts, and points, within which a mean response, a time and a share agree."""
GRADUAL = 2.5
"""Times the CPU time of the minimum: more at 20 users is no gradual rise."""
LINEAR = 0.95
"""Part of the variance that a straight line explains."""
TENFOLD = 10.0
COARSE = 0.5
"""Largest error of a useful reading, as a part of the mean response."""


def chapter(laboratory: Laboratory) -> Chapter:
    """Every claim of the paper, with the statistic by which it is judged."""
    findings = (
        *_cpu_time(laboratory),
        *_components(laboratory),
        *_instruments(laboratory),
        *_responses(laboratory),
        *_twin(laboratory),
        *think_time.findings(laboratory),
    )
    held = sum(finding.holds is True for finding in findings)
    summary = (f"Of {len(findings)} conclusions, {held} hold on the simulated machines.",)
    return Chapter(claims=findings, summary=summary)


def _listed(values: dict[int, float], form: str, unit: str) -> str:
    return ", ".join(f"{value:{form}}{unit} with {users}" for users, value in values.items())


def _mean(laboratory: Laboratory, name: str) -> dict[int, float]:
    """Mean time of a component by users, ms."""
    return {users: component(decomposed_at(laboratory, users), name).value for users in users_of(laboratory)}


def _faults(laboratory: Laboratory) -> dict[int, float]:
    return {users: faults(decomposed_at(laboratory, users)).value for users in users_of(laboratory)}


def _cpu_time(laboratory: Laboratory) -> Iterator[Claim]:
    cpu, count = _mean(laboratory, CPU), _faults(laboratory)
    above = [users for users in users_of(laboratory) if users >= LEAST_USERS]
    points = {users: component(decomposed_at(laboratory, users), CPU) for users in above}
    falls = [
        f"{one} to {other}"
        for one, other in pairwise(above)
        if (difference(points[one], points[other]).high or 0.0) < 0.0
    ]
    last = above[-1]
    yield PAPER.claim(
        "cpu-time-rises",
        not falls and cpu[LEAST_USERS] < cpu[last] < GRADUAL * cpu[LEAST_USERS],
        f"{_listed(cpu, '.0f', ' ms')} users; from {LEAST_USERS} to {last} "
        f"{cpu[last] / cpu[LEAST_USERS]:.2f} times as much, below {GRADUAL:g} is gradual; from a load to "
        f"the next it falls at 5 % {len(falls)} times",
    )
    yield PAPER.claim(
        "faults-rise-faster",
        count[last] / count[LEAST_USERS] > cpu[last] / cpu[LEAST_USERS],
        f"{_listed(count, '.1f', '')} users; {count[last] / count[LEAST_USERS]:.2f} times as many at "
        f"{last} as at {LEAST_USERS} users, of CPU time {cpu[last] / cpu[LEAST_USERS]:.2f} times",
    )
    for users, target in ((17, 1000.0 * fact("multics-cpu-time-17-users").value), (20, _implied())):
        off = cpu[users] / target - 1.0
        yield PAPER.claim(
            f"cpu-time-{users}-users",
            abs(off) <= TIME,
            f"{cpu[users]:.0f} ms for {target:.0f} ms, "
            f"{100 * off:+.1f} %; within {100 * TIME:.0f} % agrees (calibrated to)",
        )


def _implied() -> float:
    """CPU time that the run share at 20 users implies, ms."""
    return 100.0 * fact("run-time").value / fact("run-time-share-20-users").value


def _components(laboratory: Laboratory) -> Iterator[Claim]:
    run = _mean(laboratory, RUN)
    middle = float(np.mean(list(run.values())))
    spread = max(abs(value / middle - 1.0) for value in run.values())
    yield PAPER.claim(
        "run-time-constant",
        [spread],
        f"{_listed(run, '.0f', ' ms')} users, at most {100 * spread:.1f} % off their mean; within "
        f"{100 * PAPER.amount('run-time-constant'):.0f} % is constant",
    )
    added, stated = added_fault_ms(laboratory), fact("time-per-added-page-fault").value
    yield PAPER.claim(
        "added-fault",
        [abs(added.value / stated - 1.0)],
        f"{added.value:.2f} ms a fault along the curve for {stated} ms; within "
        f"{100 * PAPER.amount('added-fault'):.0f} % agrees "
        "(calibrated to)",
    )
    fitted = line(laboratory, OTHERS)
    y = np.array(list(_mean(laboratory, OTHERS).values()))
    r2 = 1.0 - (1000.0 * fitted.deviation) ** 2 / float(y.var())
    yield PAPER.claim(
        "other-faults-linear",
        r2 >= LINEAR and fitted.slope.value > 0.0,
        f"a straight line, {1000.0 * fitted.intercept.value:.0f} ms and {1000.0 * fitted.slope.value:.2f} ms "
        f"a page fault, explains {100 * r2:.1f} % of the variance over {len(y)} loads; {100 * LINEAR:.0f} % "
        "is linear",
    )
    shares = {users: run_share(laboratory, users).value for users in (LEAST_USERS, 20)}
    off = [
        shares[users] - fact(name).value
        for users, name in zip(shares, ("run-time-share-4-users", "run-time-share-20-users"), strict=True)
    ]
    yield PAPER.claim(
        "run-share-falls",
        [max(map(abs, off))],
        f"{_listed(shares, '.1f', ' %')} users, {off[0]:+.1f} and {off[1]:+.1f} points off; within "
        f"{PAPER.amount('run-share-falls'):g} "
        "points agrees (calibrated to)",
    )


def _instruments(laboratory: Laboratory) -> Iterator[Claim]:
    cpu = _mean(laboratory, CPU)
    least = min(cpu, key=cpu.__getitem__)
    quiet = instruments.reading(laboratory, DAILY, QUIET).cpu_ms.value
    yield PAPER.claim(
        "four-users-minimum",
        least == LEAST_USERS,
        f"{_listed({users: cpu[users] for users in users_of(laboratory)[:4]}, '.0f', ' ms')} users; "
        f"with {LEAST_USERS} "
        f"users and no housekeeping {quiet:.0f} ms",
    )
    both, same = (
        instruments.off(*(instruments.reading(laboratory, item, variant) for item in (INSIDE, DAILY)))
        for variant in (AS_IN_1969, ALIKE)
    )
    yield PAPER.claim(
        "instruments-agree",
        max(map(abs, both)) <= 100.0 * TIME,
        f"meter inside against the daily measurement of the same runs: {both[0]:+.1f} % of CPU time, "
        f"{both[1]:+.1f} % of page-fault processing; within {100 * TIME:.0f} % they agree. Where all users "
        f"play the script and nothing else runs they differ by {same[0]:+.2f} and {same[1]:+.2f} %",
    )
    mean = float(np.nanmean(average(on_multics(laboratory, instruments.CLOCK_USERS))))
    errors = {
        step: float(instruments.clock_error(laboratory, step)[1].std()) for step in instruments.CLOCKS_S
    }
    coarsest = max(errors)
    listed = ", ".join(f"{sd:.1f} s by steps of {step:g} s" for step, sd in errors.items())
    yield PAPER.claim(
        "clock-too-coarse",
        errors[coarsest] > COARSE * mean,
        f"standard deviation of a reading's error: {listed}; "
        f"the mean response with {instruments.CLOCK_USERS} users is {mean:.1f} s",
    )


def _responses(laboratory: Laboratory) -> Iterator[Claim]:
    for users in (6, 10, 17):
        run = on_multics(laboratory, users)
        listed, holds = [], True
        for statistic, without in (("average_all", ()), ("average_except_fortran", COMPILED)):
            stated = PAPER.printed(SUMMARY, {"statistic": statistic}, f"multics_{users}_users_s").value
            ours = interval(average(run, without))
            holds &= abs(ours.value / stated - 1.0) <= MEAN
            listed.append(f"{ours.value:.1f} s for {stated} s ({100 * (ours.value / stated - 1):+.0f} %)")
        kind = " (calibrated to)" if users == 6 else ""
        yield PAPER.claim(
            f"response-{users}-users",
            holds,
            f"all {listed[0]}, without FORTRAN {listed[1]}; within {100 * MEAN:.0f} % agrees{kind}",
        )
    few, many = (fortran(on_multics(laboratory, users)) for users in (6, 17))
    growth = interval(many / few)
    yield PAPER.claim(
        "fortran-tenfold",
        float(np.nanmean(many)) > TENFOLD * float(np.nanmean(few)),
        f"{np.nanmean(few):.1f} s with 6 users, {np.nanmean(many):.1f} s with 17: "
        f"{np.nanmean(many) / np.nanmean(few):.1f} times, in one run between "
        f"{one_run(many / few).low:.1f} and {one_run(many / few).high:.1f} times (mean ratio "
        f"{growth.value:.1f}); printed {responses.stated_growth():.1f} times",
    )
    slow = {}
    for users in (6, 10, 17):
        run = on_multics(laboratory, users)
        slow[users] = float(np.nanmean(fortran(run)) / np.nanmean(average(run, COMPILED)))
    yield PAPER.claim(
        "heavy-slow",
        [min(slow.values())],
        f"mean response of FORTRAN over that of the others: {_listed(slow, '.1f', '')} users; more than "
        f"{PAPER.amount('heavy-slow'):g} is very slow",
    )
    inside, of, level = responses.inside(laboratory)
    yield PAPER.claim(
        "one-run",
        inside >= MOSTLY * of,
        f"{inside} of {of} printed cells lie where one simulated run lies with probability "
        f"{100 * level:.0f} %; at least {100 * MOSTLY:.0f} % of them are as one run shows",
    )


MOSTLY = 0.8
"""Part of the printed cells that must lie in ranges of 95 %; those of a column depend on each other."""


def _twin(laboratory: Laboratory) -> Iterator[Claim]:
    ctss_cpu = ctss_comparison.report(laboratory, "average_cpu_time")
    multics_cpu = decomposed_at(laboratory, ctss_comparison.REPORT_USERS).cpu.value
    ratio = multics_cpu / float(np.nanmean(ctss_cpu))
    yield PAPER.claim(
        "comparable-cpu-time",
        [abs(ratio - 1.0)],
        f"{multics_cpu:.2f} s on Multics and {np.nanmean(ctss_cpu):.2f} s on CTSS with "
        f"{ctss_comparison.REPORT_USERS} users, a ratio of {ratio:.2f} (published "
        f"{fact('multics-cpu-time-17-users').value / fact('ctss-cpu-time-17-users').value:.2f}); "
        f"within {100 * PAPER.amount('comparable-cpu-time'):.0f} % is comparable",
    )
    multics, ctss = average(on_multics(laboratory, 15)), average(on_ctss(laboratory, 15))
    times = float(np.nanmean(multics) / np.nanmean(ctss))
    yield PAPER.claim(
        "multics-slower",
        [times],
        f"{np.nanmean(multics):.1f} s on Multics and {np.nanmean(ctss):.1f} s on CTSS with 15 users, "
        f"{times:.1f} times as long; stated are about {fact('response-time-15-users').value:.0f} s "
        f"and 5 to 6 s, at least "
        f"{PAPER.amount('multics-slower'):g} times",
    )
    report = ctss_comparison.report(laboratory, "average_system_response_time")
    both = {15: float(np.nanmean(ctss)), 17: float(np.nanmean(report))}
    stated = {
        15: PAPER.printed(SUMMARY, {"statistic": "average_all"}, "ctss_15_users_s").value,
        17: fact("ctss-response-time-17-users").value,
    }
    off = {users: both[users] / stated[users] - 1.0 for users in both}
    yield PAPER.claim(
        "ctss-response",
        [max(map(abs, off.values()))],
        f"{_listed(both, '.1f', ' s')} users for {stated[15]} and {stated[17]} s, "
        f"{100 * off[15]:+.0f} and {100 * off[17]:+.0f} %; within "
        f"{100 * PAPER.amount('ctss-response'):.0f} % agrees",
    )
    cpu_off = float(np.nanmean(ctss_cpu)) / fact("ctss-cpu-time-17-users").value - 1.0
    yield PAPER.claim(
        "ctss-cpu-time",
        [abs(cpu_off)],
        f"{np.nanmean(ctss_cpu):.3f} s for {fact('ctss-cpu-time-17-users').value} s, "
        f"{100 * cpu_off:+.1f} %; within "
        f"{100 * PAPER.amount('ctss-cpu-time'):.0f} % agrees",
    )
