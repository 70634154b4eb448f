"""What the paper concludes, and whether it holds here."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from thinktime.stats.difference import difference
from thinktime.studies.cells import Claim
from thinktime.studies.sekino_1969 import instruments, responses, think_time_answer, twin
from thinktime.studies.sekino_1969.cpu_time import (
    CPU,
    LEAST_USERS,
    OTHERS,
    RUN,
    USERS,
    added_fault_ms,
    at,
    component,
    faults,
    line,
    run_share,
)
from thinktime.studies.sekino_1969.instruments import ALIKE, AS_IN_1969, DAILY, INSIDE, QUIET
from thinktime.studies.sekino_1969.machines import Machines, interval
from thinktime.studies.sekino_1969.responses import average, fortran, one_run
from thinktime.studies.sekino_1969.tables import COMPILED, NAME, RESPONSES, SUMMARY, fact, printed
from thinktime.studies.study import Chapter

__all__ = ["chapter"]

MEAN, TIME, SHARE = 0.20, 0.10, 4.0
"""Parts, and points, within which a mean response, a time and a share agree."""
GRADUAL = 2.5
"""Times the CPU time of the minimum: more at 20 users is no gradual rise."""
CONSTANT = 0.05
LINEAR = 0.95
"""Part of the variance that a straight line explains."""
TENFOLD = 10.0
HEAVY = 2.0
"""Times the response of the others: a command that is very slow."""
COARSE = 0.5
"""Part of the mean response that a reading may be off and still tell something."""
MEANT = 3.0
"""19 s over 5 to 6 s."""


def chapter(machines: Machines) -> Chapter:
    """Every conclusion of the paper, with the statistic that says whether it holds."""
    findings = (
        *_cpu_time(machines),
        *_components(machines),
        *_instruments(machines),
        *_responses(machines),
        *_twin(machines),
        *think_time_answer.findings(machines),
    )
    held = sum(finding.holds is True for finding in findings)
    summary = (f"Of {len(findings)} conclusions, {held} hold on the simulated machines.",)
    return Chapter(claims=findings, summary=summary)


def _found(finding: str, source: str, holds: bool, statistic: str, text: str) -> Claim:
    return Claim(study=NAME, id=finding, source=source, holds=bool(holds), statistic=statistic, text=text)


def _listed(values: dict[int, float], form: str, unit: str) -> str:
    return ", ".join(f"{value:{form}}{unit} with {users}" for users, value in values.items())


def _mean(machines: Machines, name: str) -> dict[int, float]:
    """Mean time of a component by users, ms."""
    return {users: component(at(machines, users), name).value for users in USERS}


def _faults(machines: Machines) -> dict[int, float]:
    return {users: faults(at(machines, users)).value for users in USERS}


def _cpu_time(machines: Machines) -> Iterator[Claim]:
    cpu, count = _mean(machines, CPU), _faults(machines)
    above = [users for users in USERS if users >= LEAST_USERS]
    points = {users: component(at(machines, users), CPU) for users in above}
    falls = [
        f"{one} to {other}"
        for one, other in pairwise(above)
        if (difference(points[one], points[other]).high or 0.0) < 0.0
    ]
    last = above[-1]
    yield _found(
        "cpu-time-rises",
        "Figure 1",
        not falls and cpu[LEAST_USERS] < cpu[last] < GRADUAL * cpu[LEAST_USERS],
        f"{_listed(cpu, '.0f', ' ms')} users; from {LEAST_USERS} to {last} "
        f"{cpu[last] / cpu[LEAST_USERS]:.2f} times as much, below {GRADUAL:g} is gradual; from a load to "
        f"the next it falls at 5 % {len(falls)} times",
        "CPU time per interaction rises gradually with the number of users",
    )
    yield _found(
        "faults-rise-faster",
        "Figure 2",
        count[last] / count[LEAST_USERS] > cpu[last] / cpu[LEAST_USERS],
        f"{_listed(count, '.1f', '')} users; {count[last] / count[LEAST_USERS]:.2f} times as many at "
        f"{last} as at {LEAST_USERS} users, of CPU time {cpu[last] / cpu[LEAST_USERS]:.2f} times",
        "page faults per interaction rise faster than CPU time",
    )
    for users, target, source in ((17, 1000.0 * fact("M-F19").value, "Figure 1"), (20, _implied(), "text")):
        off = cpu[users] / target - 1.0
        yield _found(
            f"cpu-time-{users}-users",
            source,
            abs(off) <= TIME,
            f"{cpu[users]:.0f} ms for {target:.0f} ms, "
            f"{100 * off:+.1f} %; within {100 * TIME:.0f} % agrees (calibrated to)",
            f"an interaction takes {target / 1000.0:.2f} s of CPU time with {users} users",
        )


def _implied() -> float:
    """CPU time that the run share at 20 users implies, ms."""
    return 100.0 * fact("M-F13").value / fact("M-F16").value


def _components(machines: Machines) -> Iterator[Claim]:
    run = _mean(machines, RUN)
    middle = float(np.mean(list(run.values())))
    spread = max(abs(value / middle - 1.0) for value in run.values())
    yield _found(
        "run-time-constant",
        "decomposition",
        spread <= CONSTANT,
        f"{_listed(run, '.0f', ' ms')} users, at most {100 * spread:.1f} % off their mean; within "
        f"{100 * CONSTANT:.0f} % is constant",
        "run time per interaction is about constant, a little over 300 ms",
    )
    added, stated = added_fault_ms(machines), fact("M-F14").value
    yield _found(
        "added-fault",
        "Figure 3",
        abs(added.value / stated - 1.0) <= TIME,
        f"{added.value:.2f} ms a fault along the curve for {stated} ms; within {100 * TIME:.0f} % agrees "
        "(calibrated to)",
        "page faults that come with more users take 8.0 ms each",
    )
    fitted = line(machines, OTHERS)
    y = np.array(list(_mean(machines, OTHERS).values()))
    r2 = 1.0 - (1000.0 * fitted.deviation) ** 2 / float(y.var())
    yield _found(
        "other-faults-linear",
        "Figure 3",
        r2 >= LINEAR and fitted.slope.value > 0.0,
        f"a straight line, {1000.0 * fitted.intercept.value:.0f} ms and {1000.0 * fitted.slope.value:.2f} ms "
        f"a page fault, explains {100 * r2:.1f} % of the variance over {len(y)} loads; {100 * LINEAR:.0f} % "
        "is linear",
        "the processing of other faults is linear in the number of page faults",
    )
    shares = {users: run_share(machines, users).value for users in (LEAST_USERS, 20)}
    off = [shares[users] - fact(name).value for users, name in zip(shares, ("M-F15", "M-F16"), strict=True)]
    yield _found(
        "run-share-falls",
        "text on Figure 3",
        max(map(abs, off)) <= SHARE,
        f"{_listed(shares, '.1f', ' %')} users, {off[0]:+.1f} and {off[1]:+.1f} points off; within {SHARE:g} "
        "points agrees (calibrated to)",
        "run time is 57 % of CPU time with 4 users and 28 % with 20",
    )


def _instruments(machines: Machines) -> Iterator[Claim]:
    cpu = _mean(machines, CPU)
    least = min(cpu, key=cpu.__getitem__)
    quiet = instruments.reading(machines, DAILY, QUIET).cpu_ms.value
    yield _found(
        "four-users-minimum",
        "four-user experiment",
        least == LEAST_USERS,
        f"{_listed({users: cpu[users] for users in USERS[:4]}, '.0f', ' ms')} users; with {LEAST_USERS} "
        f"users and no housekeeping {quiet:.0f} ms",
        "the run with four users shows the minimum of CPU time",
    )
    both, same = (
        instruments.off(*(instruments.reading(machines, each, variant) for each in (INSIDE, DAILY)))
        for variant in (AS_IN_1969, ALIKE)
    )
    yield _found(
        "instruments-agree",
        "four-user experiment and MPL-26",
        max(map(abs, both)) <= 100.0 * TIME,
        f"meter inside against the daily measurement of the same runs: {both[0]:+.1f} % of CPU time, "
        f"{both[1]:+.1f} % of page-fault processing; within {100 * TIME:.0f} % they agree. Where all users "
        f"play the script and nothing else runs they differ by {same[0]:+.2f} and {same[1]:+.2f} %",
        "what is measured inside the system agrees with the daily measurement",
    )
    mean = float(np.nanmean(average(machines.multics(instruments.CLOCK_USERS))))
    errors = {step: float(instruments.clock_error(machines, step)[1].std()) for step in instruments.CLOCKS_S}
    coarsest = max(errors)
    said = ", ".join(f"{sd:.1f} s by steps of {step:g} s" for step, sd in errors.items())
    yield _found(
        "clock-too-coarse",
        "text on instruments",
        errors[coarsest] > COARSE * mean,
        f"standard deviation of a reading's error: {said}; "
        f"the mean response with {instruments.CLOCK_USERS} users is {mean:.1f} s",
        "the clock of the ready message, if it gives minutes, is too coarse for response times",
    )


def _responses(machines: Machines) -> Iterator[Claim]:
    for users in (6, 10, 17):
        run = machines.multics(users)
        said, holds = [], True
        for statistic, without in (("average_all", ()), ("average_except_fortran", COMPILED)):
            stated = printed(SUMMARY, {"statistic": statistic}, f"multics_{users}_users_s").value
            ours = interval(average(run, without))
            holds &= abs(ours.value / stated - 1.0) <= MEAN
            said.append(f"{ours.value:.1f} s for {stated} s ({100 * (ours.value / stated - 1):+.0f} %)")
        kind = " (calibrated to)" if users == 6 else ""
        yield _found(
            f"response-{users}-users",
            "Table 1",
            holds,
            f"all {said[0]}, without FORTRAN {said[1]}; within {100 * MEAN:.0f} % agrees{kind}",
            f"mean response with {users} users, of all and without FORTRAN",
        )
    few, many = (fortran(machines.multics(users)) for users in (6, 17))
    growth = interval(many / few)
    theirs = [
        sum(printed(RESPONSES, {"interaction": at}, f"multics_{users}_users_s").value for at in COMPILED)
        for users in (6, 17)
    ]
    yield _found(
        "fortran-tenfold",
        "Table 1",
        float(np.nanmean(many)) > TENFOLD * float(np.nanmean(few)),
        f"{np.nanmean(few):.1f} s with 6 users, {np.nanmean(many):.1f} s with 17: "
        f"{np.nanmean(many) / np.nanmean(few):.1f} times, in one run between "
        f"{one_run(many / few).low:.1f} and {one_run(many / few).high:.1f} times (mean ratio "
        f"{growth.value:.1f}); printed {theirs[1] / theirs[0]:.1f} times",
        "the response of FORTRAN grows more than tenfold from 6 to 17 users",
    )
    slow = {}
    for users in (6, 10, 17):
        run = machines.multics(users)
        slow[users] = float(np.nanmean(fortran(run)) / np.nanmean(average(run, COMPILED)))
    yield _found(
        "heavy-slow",
        "Table 1",
        min(slow.values()) > HEAVY,
        f"mean response of FORTRAN over that of the others: {_listed(slow, '.1f', '')} users; more than "
        f"{HEAVY:g} is very slow",
        "heavy commands are very slow",
    )
    cells = [(found, value) for _, _, found, value in responses.ranges(machines) if value is not None]
    inside = len([1 for found, value in cells if found.low <= value <= found.high])
    level = min(found.level for found, _ in cells)
    yield _found(
        "one-run",
        "Table 1",
        inside >= MOSTLY * len(cells),
        f"{inside} of {len(cells)} printed cells lie where one simulated run lies with probability "
        f"{100 * level:.0f} %; at least {100 * MOSTLY:.0f} % of them are as one run shows",
        "the printed responses are what one run of the simulated script shows",
    )


MOSTLY = 0.8
"""Part of the printed cells that must lie in ranges of 95 %; those of a column depend on each other."""


def _twin(machines: Machines) -> Iterator[Claim]:
    ctss_cpu = twin.report(machines, "average_cpu_time")
    multics_cpu = at(machines, twin.REPORT_USERS).cpu.value
    ratio = multics_cpu / float(np.nanmean(ctss_cpu))
    yield _found(
        "comparable-cpu-time",
        "comparison with CTSS",
        abs(ratio - 1.0) <= TIME,
        f"{multics_cpu:.2f} s on Multics and {np.nanmean(ctss_cpu):.2f} s on CTSS with "
        f"{twin.REPORT_USERS} users, a ratio of {ratio:.2f} (published "
        f"{fact('M-F19').value / fact('M-F20').value:.2f}); within {100 * TIME:.0f} % is comparable",
        "Multics and CTSS take comparable CPU times for the same script",
    )
    multics, ctss = average(machines.multics(15)), average(machines.ctss(15))
    times = float(np.nanmean(multics) / np.nanmean(ctss))
    yield _found(
        "multics-slower",
        "comparison with CTSS",
        times >= MEANT,
        f"{np.nanmean(multics):.1f} s on Multics and {np.nanmean(ctss):.1f} s on CTSS with 15 users, "
        f"{times:.1f} times as long; stated are about {fact('M-F17').value:.0f} s and 5 to 6 s, at least "
        f"{MEANT:g} times",
        "with 15 users Multics responds several times more slowly than CTSS",
    )
    report = twin.report(machines, "average_system_response_time")
    both = {15: float(np.nanmean(ctss)), 17: float(np.nanmean(report))}
    stated = {
        15: printed(SUMMARY, {"statistic": "average_all"}, "ctss_15_users_s").value,
        17: fact("M-F21").value,
    }
    off = {users: both[users] / stated[users] - 1.0 for users in both}
    yield _found(
        "ctss-response",
        "Table 1 and run CPM01",
        max(map(abs, off.values())) <= MEAN,
        f"{_listed(both, '.1f', ' s')} users for {stated[15]} and {stated[17]} s, "
        f"{100 * off[15]:+.0f} and {100 * off[17]:+.0f} %; within {100 * MEAN:.0f} % agrees",
        "CTSS responds in 5 to 6 s",
    )
    cpu_off = float(np.nanmean(ctss_cpu)) / fact("M-F20").value - 1.0
    yield _found(
        "ctss-cpu-time",
        "run CPM01",
        abs(cpu_off) <= TIME,
        f"{np.nanmean(ctss_cpu):.3f} s for {fact('M-F20').value} s, {100 * cpu_off:+.1f} %; within "
        f"{100 * TIME:.0f} % agrees",
        "an interaction of the twin script takes 1.07 s of CPU time on CTSS",
    )
