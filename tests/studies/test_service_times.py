"""Service times of Anderson and Sargent (1974): the fit meets what is printed, and the system uses it."""

from __future__ import annotations

import numpy as np
import pytest

from thinktime.models.distributions import distribution
from thinktime.sources.simulated import resolve
from thinktime.studies.anderson_sargent_1974.service_times import MOMENTS, Fit, Phases, fit


@pytest.fixture(scope="module")
def fitted() -> Fit:
    return fit()


def test_moments_are_within_one_and_parts_within_one_point(fitted: Fit) -> None:
    """Table 1's moments to a hundredth, the percentages of page 130 and Figure 2 to one point."""
    for target in fitted.targets:
        if target.source == "Table 1":
            assert target.fitted == pytest.approx(target.wanted, rel=0.01), target.name
        elif target.source != "chosen":
            assert target.fitted == pytest.approx(target.wanted, abs=0.01), target.name


def test_the_fit_gives_the_same_each_time(fitted: Fit) -> None:
    assert fit().specs == fitted.specs


def test_the_simulated_system_uses_the_fit(fitted: Fit) -> None:
    resolved = resolve("apl360", {})
    for name, spec in fitted.specs.items():
        assert resolved[f"{name}_service"]["weights"] == pytest.approx(spec["weights"], abs=2e-5), name
        assert resolved[f"{name}_service"]["means"] == pytest.approx(spec["means"], rel=1e-3), name


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_agree_with_those_of_the_distribution(fitted: Fit, name: str) -> None:
    """Rounded specs, through the code that any distribution goes through."""
    spec = distribution(fitted.specs[name])
    mean, variance, skewness = MOMENTS[name]
    assert spec.mean == pytest.approx(mean, rel=0.01)
    assert spec.variance == pytest.approx(variance, rel=0.01)
    assert spec.skewness == pytest.approx(skewness, rel=0.01)


def test_one_phase_is_the_exponential_distribution() -> None:
    """Mean m, variance m^2, skewness 2; the largest p give p (1 - log p) of the mean."""
    one = Phases(np.array([1.0]), np.array([3.0]))
    assert one.moments() == pytest.approx((3.0, 9.0, 2.0))
    assert one.above(3.0) == pytest.approx(np.exp(-1.0))
    assert one.upper_part(0.04) == pytest.approx(0.04 * (1.0 - np.log(0.04)))


def test_rounded_weights_still_add_up() -> None:
    thirds = Phases(np.array([1.0, 1.0, 1.0]) / 3.0, np.array([1.0, 2.0, 3.0]))
    assert sum(thirds.spec()["weights"]) == pytest.approx(1.0, abs=1e-12)
