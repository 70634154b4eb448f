"""Disks in `thinktime size`: by hand, over disks of known truth, and from a log."""

from __future__ import annotations

import numpy as np
import pytest

from thinktime.predictions.size import disks
from thinktime.predictions.size.disks import Disk, DiskThen, Watched
from thinktime.predictions.size.record import plain
from thinktime.stats.estimate import Estimate


def exact(value: float, unit: str = "1/s") -> Estimate:
    return Estimate(value=value, unit=unit, low=value, high=value, n=1, method="exact")


def steady(users: int, rate: float, background: float, each_s: float, seconds: int = 32) -> Watched:
    """Intervals of a second with the same in each."""
    ones = np.ones(seconds)
    return Watched(
        users=users,
        length_s=ones,
        completed=rate * ones,
        busy_s={"vda": (background + rate * each_s) * ones, "vdb": 0.001 * ones},
    )


def test_the_background_is_what_does_not_grow_with_the_throughput():
    (found,) = disks.disks([steady(5, 10.0, 0.1, 0.02), steady(10, 20.0, 0.1, 0.02)])
    assert (found.name, found.measured[-1][0]) == ("vda", 10)
    assert found.background == pytest.approx(0.1)
    assert found.each.value == pytest.approx(0.02)
    assert found.with_most.value == pytest.approx(0.5)
    # 0.1 + 30/s x 0.02 s, on a disk that is twice as fast.
    assert found.busy(exact(30.0), speed=2.0).value == pytest.approx(0.35)
    assert found.busy(exact(30.0), factor=0.5).value == pytest.approx(0.4)
    assert found.busy(exact(1000.0)).value == 1.0


def test_one_number_of_users_shows_no_background():
    (found,) = disks.disks([steady(5, 10.0, 0.1, 0.02)])
    assert found.background == 0.0
    assert found.busy(exact(20.0)).value == pytest.approx(0.6)


def random_disk(seed: int, background: float, each_s: float) -> Disk:
    """Interactions arrive at random at three rates, and keep a disk busy for exponential times."""
    random = np.random.default_rng(seed)
    watched = []
    for users, rate in ((5, 4.0), (10, 8.0), (20, 16.0)):
        completed = random.poisson(rate, 60)
        busy = random.gamma(np.maximum(completed, 1e-9), each_s) + random.gamma(20.0, background / 20.0, 60)
        watched.append(
            Watched(users=users, length_s=np.ones(60), completed=completed * 1.0, busy_s={"vda": busy})
        )
    return disks.disks(watched)[0]


@pytest.mark.parametrize("background", [0.0, 0.05])
def test_the_interval_with_twice_the_users_holds(background):
    truth = background + 32.0 * 0.02
    found = [random_disk(seed, background, 0.02).busy(exact(32.0)) for seed in range(200)]
    # Below 0.90 by chance in fewer than 2 of 1,000 such tests, if 95 % hold.
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.90
    # A canary: a disk that is 15 % busier is told apart.
    wrong = background + 32.0 * 0.023
    assert np.mean([one.low <= wrong <= one.high for one in found]) < 0.5


def then(name: str, seen: float, predicted: float) -> DiskThen:
    disk = Disk(
        name=name,
        measured=((10, exact(seen, "share")),),
        each=exact(0.01, "s"),
        background=0.0,
        by_users=(),
    )
    return DiskThen(disk=disk, busy=exact(predicted, "share"))


def test_a_limit_is_named_by_the_disk_that_explains_it():
    busy, idle = then("vda", 0.4, 0.8), then("vdb", 0.02, 0.04)
    rest = exact(0.9, "share")
    assert plain(disks.sentence([busy, idle], 20, "rest", rest)) == (
        "Disk vda is busy 80.0 % of the time with 20 users (measured: 40.0 % with 10 users)."
    )
    assert "No disk is busy for more than 4.00 %" in plain(disks.sentence([idle], 20, "rest", rest))
    assert disks.sentence([busy], 20, "cpu", rest) is None
    assert "runs short first" in plain(disks.sentence([then("vda", 0.4, 0.9)], 20, "cpu", rest))
    assert disks.sentence([], 20, "rest", rest) is None
