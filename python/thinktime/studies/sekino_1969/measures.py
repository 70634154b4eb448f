"""Measures of the paper's claims; `study.toml` judges them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from thinktime.stats.difference import difference, ratio
from thinktime.studies.cells import Claim, held
from thinktime.studies.estimates import interval, scaled
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1969 import ctss_comparison, instruments, responses, think_time
from thinktime.studies.sekino_1969.cpu_time import (
    CPU,
    LEAST_USERS,
    OTHERS,
    RUN,
    SHARE_AT,
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
from thinktime.studies.sekino_1969.recomputed import at_twenty_ms
from thinktime.studies.sekino_1969.responses import average, fortran, one_run
from thinktime.studies.study import Chapter


def chapter(laboratory: Laboratory) -> Chapter:
    """Every claim of the paper, with the statistic by which it is judged."""
    claims = (
        *_cpu_time(laboratory),
        *_components(laboratory),
        *_instruments(laboratory),
        *_responses(laboratory),
        *_both_systems(laboratory),
        *think_time.claims(laboratory),
    )
    summary = (f"Of {len(claims)} claims, {held(claims)} hold on the simulated machines.",)
    return Chapter(claims=claims, summary=summary)


def _listed(values: Mapping[int, float], form: str, unit: str = "") -> list[str]:
    return [f"{value:{form}}{unit} with {users}" for users, value in values.items()]


def _mean(laboratory: Laboratory, name: str) -> dict[int, float]:
    """Mean time of a component by users, ms."""
    return {users: component(decomposed_at(laboratory, users), name).value for users in users_of(laboratory)}


def _cpu_time(laboratory: Laboratory) -> Iterator[Claim]:
    cpu = _mean(laboratory, CPU)
    counts = {users: faults(decomposed_at(laboratory, users)).value for users in users_of(laboratory)}
    above = [users for users in users_of(laboratory) if users >= LEAST_USERS]
    points = [component(decomposed_at(laboratory, users), CPU) for users in above]
    ends = {"least": LEAST_USERS, "last": above[-1]}
    first, last = (decomposed_at(laboratory, users) for users in (LEAST_USERS, above[-1]))
    cpu_growth = ratio(component(first, CPU), component(last, CPU))
    fault_growth = ratio(faults(first), faults(last))
    yield PAPER.claim(
        "cpu-time-rises",
        {
            **ends,
            "cpu": _listed(cpu, ".0f", " ms"),
            "growth": cpu_growth,
            "steps": [difference(one, other) for one, other in pairwise(points)],
            "per_user_ms": scaled(difference(points[0], points[-1]), 1.0 / (above[-1] - LEAST_USERS)),
        },
    )
    growth = {"cpu": cpu_growth, "faults": fault_growth}
    yield PAPER.claim("faults-rise-faster", {**ends, "faults": _listed(counts, ".1f"), "growth": growth})
    for users, target in ((17, 1000.0 * fact("multics-cpu-time-17-users").value), (20, at_twenty_ms())):
        yield PAPER.claim(f"cpu-time-{users}-users", {"ours": cpu[users], "target": target})


def _components(laboratory: Laboratory) -> Iterator[Claim]:
    run = _mean(laboratory, RUN)
    middle = float(np.mean(list(run.values())))
    spread = max(abs(value / middle - 1.0) for value in run.values())
    yield PAPER.claim("run-time-constant", {"run": _listed(run, ".0f", " ms"), "spread": spread})
    yield PAPER.claim("added-fault", {"added_ms": added_fault_ms(laboratory)})
    fitted = line(laboratory, OTHERS)
    y = np.array(list(_mean(laboratory, OTHERS).values()))
    yield PAPER.claim(
        "other-faults-linear",
        {
            "intercept_ms": 1000.0 * fitted.intercept.value,
            "slope_ms": 1000.0 * fitted.slope.value,
            "explained": 1.0 - (1000.0 * fitted.deviation) ** 2 / float(y.var()),
            "loads": len(y),
        },
    )
    shares = {users: run_share(laboratory, users).value for users in (LEAST_USERS, SHARE_AT)}
    few, many = (shares[users] - fact(f"run-time-share-{users}-users").value for users in shares)
    yield PAPER.claim(
        "run-share-falls", {"shares": _listed(shares, ".1f", " %"), "off": {"few": few, "many": many}}
    )


def _instruments(laboratory: Laboratory) -> Iterator[Claim]:
    cpu = _mean(laboratory, CPU)
    few = {users: cpu[users] for users in users_of(laboratory)[:4]}
    yield PAPER.claim(
        "four-users-minimum",
        {
            "cpu": _listed(few, ".0f", " ms"),
            "least": LEAST_USERS,
            "more_ms": [cpu[users] - cpu[LEAST_USERS] for users in cpu if users != LEAST_USERS],
            "quiet_ms": instruments.reading(laboratory, DAILY, QUIET).cpu_ms,
        },
    )

    def off(variant: str) -> dict[str, float]:
        inside, outside = (instruments.reading(laboratory, item, variant) for item in (INSIDE, DAILY))
        return dict(zip(("cpu", "paging"), instruments.off(inside, outside), strict=True))

    yield PAPER.claim("instruments-agree", {"off": off(AS_IN_1969), "off_alike": off(ALIKE)})
    errors = {step: instruments.clock_error(laboratory, step)[1].std() for step in instruments.CLOCKS_S}
    yield PAPER.claim(
        "clock-too-coarse",
        {
            "errors": [f"{deviation:.1f} s by steps of {step:g} s" for step, deviation in errors.items()],
            "largest_s": errors[max(errors)],
            "mean_s": np.nanmean(average(on_multics(laboratory, instruments.CLOCK_USERS))),
            "users": instruments.CLOCK_USERS,
        },
    )


def _responses(laboratory: Laboratory) -> Iterator[Claim]:
    statistics = {"every": ("average_all", ()), "without": ("average_except_fortran", COMPILED)}
    few = on_multics(laboratory, 6)
    for users in (6, 10, 17):
        run, column = on_multics(laboratory, users), f"multics_{users}_users_s"
        yield PAPER.claim(
            f"response-{users}-users",
            {
                "ours": {name: interval(average(run, without)) for name, (_, without) in statistics.items()},
                "stated": {
                    name: PAPER.printed(SUMMARY, {"statistic": statistic}, column).value
                    for name, (statistic, _) in statistics.items()
                },
                "per_user_s": interval((average(run) - average(few)) / (users - 6)) if users > 6 else None,
            },
        )
    before, many = (fortran(on_multics(laboratory, users)) for users in (6, 17))
    growth = one_run(many / before)
    yield PAPER.claim(
        "fortran-tenfold",
        {
            "few_s": np.nanmean(before),
            "many_s": np.nanmean(many),
            "one_run": {"low": growth.low, "high": growth.high},
            "mean_ratio": interval(many / before),
            "printed": responses.stated_growth(),
        },
    )
    slow = {
        users: float(np.nanmean(fortran(run)) / np.nanmean(average(run, COMPILED)))
        for users in (6, 10, 17)
        for run in (on_multics(laboratory, users),)
    }
    yield PAPER.claim("heavy-slow", {"ratios": _listed(slow, ".1f"), "least": min(slow.values())})
    inside, cells, level = responses.inside(laboratory)
    yield PAPER.claim("one-run", {"inside": inside, "cells": cells, "level": level})


def _both_systems(laboratory: Laboratory) -> Iterator[Claim]:
    users = ctss_comparison.REPORT_USERS
    ctss_cpu = interval(ctss_comparison.report(laboratory, "average_cpu_time"))
    cpu = {"multics": decomposed_at(laboratory, users).cpu, "ctss": ctss_cpu}
    yield PAPER.claim("comparable-cpu-time", {"cpu": cpu, "users": users})
    means = [average(on(laboratory, 15)) for on in (on_multics, on_ctss)]
    multics, ctss = (float(np.nanmean(values)) for values in means)
    each_s = dict(zip(("multics", "ctss"), map(interval, means), strict=True))
    yield PAPER.claim("multics-slower", {"multics_s": multics, "ctss_s": ctss, "each_s": each_s})
    report = float(np.nanmean(ctss_comparison.report(laboratory, "average_system_response_time")))
    stated = PAPER.printed(SUMMARY, {"statistic": "average_all"}, "ctss_15_users_s").value
    yield PAPER.claim(
        "ctss-response",
        {
            "responses": _listed({15: ctss, users: report}, ".1f", " s"),
            "ours": {"at_15": ctss, "at_17": report},
            "stated": {"at_15": stated, "at_17": fact("ctss-response-time-17-users").value},
        },
    )
    yield PAPER.claim("ctss-cpu-time", {"ours": ctss_cpu})
