"""Effects of a blocked design, each tested against its own differences from block to block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import critical_values

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnError:
    """An effect over its own error.

    Parameters
    ----------
    f : float
    degrees, error_degrees : int
        Before the correction.
    epsilon : float
        What both are multiplied by: 1 where the effect's parts vary equally and independently between
        blocks, at least 1 / degrees.
    p : float
        After the correction.
    """

    f: float
    degrees: int
    error_degrees: int
    epsilon: float
    p: float


def own_error(y: Array, axes: Sequence[int]) -> OwnError | None:
    r"""Test the effect of the factors on `axes`; None where it is the same in every block.

    One error for all effects supposes that all differences between cells vary equally from block to
    block. With common random numbers, and cells of unlike load, they do not. Here the effect :math:`e_b`
    is computed in each of the r blocks, and its mean is compared with its own spread:

    .. math:: F = \frac{r\,|\bar e|^2 / \nu}{\sum_b |e_b - \bar e|^2 / (\nu (r - 1))}, \qquad
              \epsilon = \frac{(\mathrm{tr}\,\Sigma)^2}{\nu\, \mathrm{tr}\,\Sigma^2}

    with :math:`\Sigma` the covariance of the :math:`e_b`, and both degrees of freedom multiplied by
    epsilon (Greenhouse and Geisser 1959, Psychometrika 24, 95). For one degree of freedom it is the
    paired t test.

    Parameters
    ----------
    y : ndarray
        One axis a factor and a last one for the blocks, two at least.
    axes : sequence of int
        Factors of the effect.
    """
    blocks = y.shape[-1]
    if blocks < 2:
        raise ValueError(f"{blocks} block: differences between blocks cannot be seen")
    averaged = y - y.flat[0]
    others = tuple(axis for axis in range(y.ndim - 1) if axis not in axes)
    effect = averaged.mean(axis=others) if others else averaged
    for axis in range(effect.ndim - 1):
        effect = effect - effect.mean(axis=axis, keepdims=True)
    parts = effect.reshape(-1, blocks)
    degrees = int(np.prod([y.shape[axis] - 1 for axis in axes]))
    mean = parts.mean(axis=1)
    off = parts - mean[:, None]
    spread = float(np.sum(off**2))
    if spread <= 1e-24 * float(np.sum(averaged**2)):
        return None
    f = blocks * float(mean @ mean) * (blocks - 1) / spread
    covariance = off @ off.T
    epsilon = float(np.trace(covariance)) ** 2 / (degrees * float(np.sum(covariance**2)))
    error = degrees * (blocks - 1)
    return OwnError(
        f=f,
        degrees=degrees,
        error_degrees=error,
        epsilon=epsilon,
        p=critical_values.f_tail(f, epsilon * degrees, epsilon * error),
    )
