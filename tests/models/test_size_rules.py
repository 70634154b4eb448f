"""Rules that others use for the number of users: hand-computed answers and errors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from thinktime.models.sizing import Machine
from thinktime.predictions.size import goals, rules
from thinktime.predictions.size.measured import Measured, Stretch
from thinktime.predictions.size.memory import Memory
from thinktime.stats.estimate import Estimate

GAMMA, ALPHA, BETA, THINK = 2.0, 0.02, 0.001, 0.4


def exact(value: float, unit: str = "s") -> Estimate:
    return Estimate(value=value, unit=unit, low=0.99 * value, high=1.01 * value, n=100, method="given")


def stretch(users: int) -> Stretch:
    """Measurement that obeys the law."""
    throughput = GAMMA * users / (1.0 + ALPHA * (users - 1) + BETA * users * (users - 1))
    response = users / throughput - THINK
    return Stretch(
        users=users,
        n=100,
        seconds=50.0,
        throughput=exact(throughput, "1/s"),
        response=exact(response),
        p90=exact(2.0 * response),
        service=exact(0.09),
        think=exact(THINK),
        waited=None,
        machine_cpu=throughput * 0.09,
    )


def measured(users: tuple[int, ...] = (2, 4, 8, 16, 24, 32), *, memory: bool = True) -> Measured:
    found = Memory(
        total_bytes=4e9,
        base_bytes=1e9,
        user=exact(1e8, "byte"),
        user_sd_bytes=1e7,
        largest_bytes=2e8,
        peak=32,
        shared_once=True,
    )
    return Measured(
        names=("log",),
        machine=Machine(cpus=4),
        stretches=tuple(map(stretch, users)),
        extra_cpu_s=0.0,
        services=np.full(100, 0.09),
        memory=found if memory else None,
        caveats=(),
    )


def judged(limit: str, found: Measured, **changed: object) -> dict[str, rules.Judged]:
    wanted = goals.read([limit])
    case = rules.Case(
        **{
            "measured": found,
            "levels": len(found.stretches),
            "goal": wanted[0],
            "alone_s": 0.1,
            "cpus": 4,
            "memory_bytes": 4e9,
            "as_measured": True,
        }
        | changed
    )
    return {one.name: one for one in rules.judge(case, wanted)}


LAW, MEMORY, POSIT, XRDP = (rule.name for rule in rules.RULES)


def test_answers_are_those_of_the_formulas():
    found = judged("mean response < 1s", measured())
    # R = (1 + alpha (N - 1) + beta N (N - 1)) / gamma - Z <= 1: the root of a parabola.
    a, b, c = BETA, ALPHA - BETA, 1.0 - ALPHA - GAMMA * (1.0 + THINK)
    root = math.floor((-b + math.sqrt(b * b - 4.0 * a * c)) / (2.0 * a))
    assert found[LAW].answer == rules.UserRange(low=root, high=root)
    assert found[MEMORY].answer == rules.UserRange(low=19, high=19)  # (4e9 - 128e6) / 2e8 = 19.4
    assert found[POSIT].answer == rules.UserRange(low=2, high=4)
    assert found[XRDP].answer == rules.UserRange(low=20, high=20)


def test_errors_are_towards_the_nearest_number_that_the_log_permits():
    # Responses with 2, 4, 8, 16, 24 and 32 users: 0.111, 0.136, 0.198, 0.37, 0.606, 0.906 s.
    found = judged("mean response < 400ms", measured())
    assert found[LAW].truth == rules.UserRange(low=16, high=23)
    assert found[LAW].error == 0.0
    assert found[XRDP].error == 0.0
    assert found[POSIT].error == pytest.approx(4 / 16 - 1)
    # The memory sufficed for all 32; the rule would have let 19 in.
    assert found[MEMORY].error == pytest.approx(19 / 32 - 1)
    strict = judged("mean response < 150ms", measured())
    assert strict[XRDP].error == pytest.approx(20 / 7 - 1)


def test_rules_without_an_answer_say_why():
    assert judged("p95 response < 1s", measured())[LAW].answer == "knows mean responses only"
    assert judged("mean response < 1s", measured((2, 4)))[LAW].answer == "needs 3 numbers of users"
    changed = judged("mean response < 1s", measured(), as_measured=False)
    assert changed[LAW].answer == "knows only the machine and the work measured"
    none = judged("mean response < 1s", measured(memory=False))
    assert none[MEMORY].answer == "needs the memory of each user"
    assert none[MEMORY].error is None


def test_one_number_of_users_judges_no_rule():
    assert all(one.error is None for one in judged("mean response < 1s", measured((8,))).values())


def test_a_law_without_contention_sets_no_limit():
    plain = measured()
    steady = [replace(one, throughput=exact(2.0 * one.users, "1/s")) for one in plain.stretches]
    found = replace(plain, stretches=tuple(steady))
    assert judged("mean response < 1s", found)[LAW].answer == rules.UserRange(low=100_000, high=None)
    assert "no limit" in (rules.sentence(tuple(judged("mean response < 1s", found).values())) or "")
