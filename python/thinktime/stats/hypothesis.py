"""Outcome of a significance test, and adjustment and combination of several."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.errors import InputError
from thinktime.stats.estimate import Plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

# Every result knows this module, many a command none of its functions: NumPy, which takes most of the time
# of a short command, is imported where it is used.

ALPHA = 0.05
"""Default false-alarm rate of a test."""
P_LEAST = 1e-300
"""Smaller probabilities count as this one, so that one test that is certain leaves a finite sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignificanceTest:
    """Outcome of a test of one hypothesis."""

    hypothesis: str
    """Statement that is tested: ``service times are exponential``."""
    statistic: float
    """Value of the test statistic."""
    p: float
    """Probability of a statistic at least as extreme under the hypothesis."""
    n: int
    """Number of observations."""
    method: str
    """Name and source of the test."""
    direction: int = 0
    """Side of the data: 1 above, -1 below the hypothesis; 0 for a test without sides."""

    def rejected(self, alpha: float = ALPHA) -> bool:
        """True if the hypothesis is rejected at false-alarm rate `alpha`."""
        from thinktime.stats import arguments

        return self.p < arguments.level(alpha, "alpha")

    def to_dict(self) -> dict[str, Plain]:
        """All fields by name."""
        return dataclasses.asdict(self)


def _probabilities(p: ArrayLike) -> NDArray[np.float64]:
    from thinktime.stats import arguments

    values = arguments.sample(p, "p")
    if ((values < 0.0) | (values > 1.0 + 1e-9)).any():
        raise InputError(f"p is {arguments.shown(p)}; give probabilities from 0 to 1")
    return values


def holm(p: ArrayLike) -> NDArray[np.float64]:
    r"""Adjusted probabilities of several tests: the rate of one false alarm or more among all is kept.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\{1, (m - j + 1)\, p_{(j)}\}

    (Holm 1979, Scandinavian Journal of Statistics 6, 65); the tests need not be independent.

    Parameters
    ----------
    p : array of shape (m,)
        Probabilities, in any order; the result has the same order.

    Raises
    ------
    InputError
        A probability is not from 0 to 1.
    TypeError
        `p` are not numbers.
    """
    import numpy as np

    values = _probabilities(p)
    order = np.argsort(values)
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    result = np.empty(len(values))
    result[order] = np.minimum(steps, 1.0)
    return result


def adjusted(tests: Iterable[SignificanceTest]) -> tuple[SignificanceTest, ...]:
    """Tests with their probabilities adjusted by `holm`, in the same order.

    Raises
    ------
    TypeError
        An item is no `SignificanceTest`.
    """
    from thinktime.stats import arguments

    items = arguments.records(tests, SignificanceTest, "tests")
    values = holm([test.p for test in items])
    return tuple(dataclasses.replace(test, p=float(p)) for test, p in zip(items, values, strict=True))


def combined(p: ArrayLike) -> float:
    r"""Probability of the hypothesis that all of several independent tests' hypotheses hold.

    :math:`-2 \sum \ln p_i` is chi-square with 2m degrees of freedom (Fisher, *Statistical Methods for
    Research Workers*, 21.1).

    Parameters
    ----------
    p : array of shape (m,)
        Probabilities, at least one.

    Raises
    ------
    InputError
        There is no probability, or one is not from 0 to 1.
    TypeError
        `p` are not numbers.
    """
    import numpy as np
    from scipy import stats

    values = _probabilities(p)
    if not len(values):
        raise InputError("p is empty; give the probability of at least one test")
    return float(stats.combine_pvalues(np.maximum(values, P_LEAST), method="fisher").pvalue)
