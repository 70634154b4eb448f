"""Statistics: estimates with intervals, tests, regression, designed experiments, distributions, frontiers.

>>> from thinktime import stats
>>> stats.quantile([0.2, 0.3, 0.3, 0.5, 0.9, 1.1, 1.4, 2.0], 0.5)
Estimate(0.7, 95 % interval 0.3 to 1.4, n=8, method='order statistics')

Imports NumPy and SciPy alone. Accumulators (`LeastSquares`, `LongRunErrors`, `ParetoSet`) take rows in
chunks; everything random takes a seed. `CONTENTS` lists the public names, which are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

CONTENTS: dict[str, tuple[str, ...]] = {
    "estimate": ("Estimate", "NotApplicable"),
    "hypothesis": ("SignificanceTest", "adjusted", "combined", "holm"),
    "outliers": ("outlying",),
    "samples": ("proportion", "quantile"),
    "series.batch_means": ("autocorrelation", "batch_ratio", "plain_mean"),
    "series.moments": ("coefficient_of_variation", "skewness", "variance"),
    "series.shares": ("proportion_in_blocks", "proportion_in_time", "quantile_in_time"),
    "series.homogeneity": ("same_distribution", "trend"),
    "series.poisson": ("counts_in_cells", "dispersion", "dispersion_test", "gaps_test", "order_test"),
    "regression.bootstrap": ("BlockBootstrap",),
    "regression.collinearity": ("diagnose",),
    "regression.equality": ("same_coefficient", "same_coefficients", "same_mean"),
    "regression.least_squares": ("LeastSquares",),
    "regression.long_run": ("LongRunErrors",),
    "regression.robust": ("drop_outliers", "huber", "non_negative"),
    "regression.selection": ("forward", "stepwise"),
    "regression.separation": ("choose",),
    "designs.anova": ("anova", "one_way", "relative_efficiency"),
    "designs.contrasts": ("Component", "contrast", "orthogonal_polynomials", "polynomial_contrasts"),
    "designs.effect_sizes": ("partial_eta_squared", "partial_omega_squared"),
    "designs.factorial": ("CellMeans", "Factor", "Responses", "full_factorial"),
    "designs.per_effect_error": ("per_effect_error",),
    "designs.residual_checks": ("brown_forsythe", "equal_variances", "normality"),
    "designs.simultaneous": ("bonferroni", "tukey"),
    "designs.transformations": ("Transformation", "box_cox"),
    "distributions.fitting": ("empirical", "fit"),
    "distributions.lifetime_tests": (
        "exponentiality",
        "hazard_rate",
        "mean_residual_life",
        "used_in_expectation",
    ),
    "distributions.residual_life": ("residual_life",),
    "randomisation.assignments": ("Assignments",),
    "randomisation.permutation": ("Reassignment",),
    "randomisation.power": ("permutation_power", "t_detectable", "t_power"),
    "frontier": (
        "ParetoSet",
        "area",
        "chord",
        "concave_hull",
        "dominated",
        "height",
        "maximal",
        "order_alpha",
        "staircase",
    ),
}
"""Public names, by the module that defines them."""

_MODULES = {name: module for module, names in CONTENTS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
