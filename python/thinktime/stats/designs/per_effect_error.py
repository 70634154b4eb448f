"""Effects of a blocked design, each tested against its own variation from block to block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PerEffectError:
    """Test of an effect against its own error."""

    f: float
    degrees: int
    error_degrees: int
    """Degrees of freedom before the correction."""
    epsilon: float
    """Correction of both: 1 where the components of the effect vary equally and independently between
    blocks, at least 1 / degrees."""
    p: float
    """Probability after the correction."""


def per_effect_error(y: Array, axes: Sequence[int]) -> PerEffectError | None:
    r"""Test of the effect of the factors on `axes`; None where it is the same in every block.

    One error for all effects assumes that all differences between cells vary equally from block to
    block. With common random numbers, and cells of different load, they do not. Here the effect :math:`e_b`
    is computed in each of the r blocks, and its mean is compared with its own spread:

    .. math:: F = \frac{r\,|\bar e|^2 / \nu}{\sum_b |e_b - \bar e|^2 / (\nu (r - 1))}, \qquad
              \epsilon = \frac{(\mathrm{tr}\,\Sigma)^2}{\nu\, \mathrm{tr}\,\Sigma^2}

    with the covariance :math:`\Sigma` of the :math:`e_b`, and both degrees of freedom multiplied by
    epsilon (Greenhouse and Geisser 1959, Psychometrika 24, 95). For one degree of freedom it is the
    paired t test.

    Parameters
    ----------
    y : ndarray
        One axis per factor and a last one for the blocks, at least two.
    axes : sequence of int
        Axes of the factors of the effect.

    Raises
    ------
    InputError
        There are fewer than two blocks, a value is not finite, or `axes` are not axes of factors.
    TypeError
        An argument is of the wrong kind.
    """
    y = arguments.numeric(y, "y")
    blocks = y.shape[-1] if y.ndim else 0
    if y.ndim < 2 or blocks < 2 or not np.isfinite(y).all():
        raise InputError(
            f"y has the shape {y.shape}; give finite responses of two blocks or more along the last axis"
        )
    axes = arguments.sequence(axes, "axes", "a list of axes")
    axes = [arguments.whole(axis, "axes", most=y.ndim - 2) for axis in axes]
    if not axes or len(set(axes)) != len(axes):
        raise InputError(f"axes is {axes}; give one or more different axes")
    averaged = y - y.flat[0]
    others = tuple(axis for axis in range(y.ndim - 1) if axis not in axes)
    effect = averaged.mean(axis=others) if others else averaged
    for axis in range(effect.ndim - 1):
        effect = effect - effect.mean(axis=axis, keepdims=True)
    components = effect.reshape(-1, blocks)
    degrees = int(np.prod([y.shape[axis] - 1 for axis in axes]))
    mean = components.mean(axis=1)
    deviations = components - mean[:, None]
    spread = float(np.sum(deviations**2))
    if spread <= 1e-24 * float(np.sum(averaged**2)):
        return None
    f = blocks * float(mean @ mean) * (blocks - 1) / spread
    covariance = deviations @ deviations.T
    epsilon = float(np.trace(covariance)) ** 2 / (degrees * float(np.sum(covariance**2)))
    error = degrees * (blocks - 1)
    return PerEffectError(
        f=f,
        degrees=degrees,
        error_degrees=error,
        epsilon=epsilon,
        p=critical_values.f_tail(f, epsilon * degrees, epsilon * error),
    )
