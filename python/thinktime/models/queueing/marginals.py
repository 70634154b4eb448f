"""Exact probabilities of numbers of customers at stations of product-form networks, by convolution."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from thinktime.errors import InputError
from thinktime.models.queueing.customers import Network

Array = NDArray[np.float64]

POPULATIONS_MAX = 4000
"""Largest number of populations up to the users': time grows with its square."""


def tail_terms(number: int, load: float) -> int:
    """Open customers to count beside `number` closed ones where they use the fraction `load` of a station."""
    mean = (number + 1) * load / (1.0 - load)
    spread = math.sqrt((number + 1) * load) / (1.0 - load)
    return math.ceil(mean + 12.0 * spread + 40.0 / (1.0 - load)) + 1


def open_given_closed(number: int, offered: float, rates: Array) -> tuple[float, Array]:
    r"""Logarithm of H(n), and probabilities of 0, 1, ... open customers beside n closed ones.

    .. math:: H(n) = \sum_j \binom{n+j}{j} \frac{a^j}{\prod_{i=n+1}^{n+j} \mu(i)}

    with the rates :math:`\mu` of the station and the work a that open customers bring per second.
    """
    if offered == 0.0:
        return 0.0, np.ones(1)
    j = np.arange(tail_terms(number, offered / float(rates[-1])))
    at = rates[np.minimum(number + j[1:] - 1, len(rates) - 1)]
    steps = np.concatenate([[0.0], np.cumsum(np.log(offered * (number + j[1:]) / (j[1:] * at)))])
    # In a loop over thousands of numbers: SciPy's logarithm of such a sum takes several times as long.
    most = float(steps.max())
    log_sum = most + math.log(float(np.exp(steps - most).sum()))
    return log_sum, np.exp(steps - log_sum)


def closed_rates(offered: float, rates: Array, users: int) -> tuple[float, ...]:
    r"""Rates that closed customers see where open ones share the station: :math:`\mu(n) H(n-1) / H(n)`.

    Bruell, Balbo and Afshari, Performance Evaluation 4 (1984), 241-260.
    """
    logs = [open_given_closed(number, offered, rates)[0] for number in range(users + 1)]
    at = rates[np.minimum(np.arange(users), len(rates) - 1)]
    return tuple(float(rate) for rate in at * np.exp(-np.diff(logs)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginals:
    """Factors of the product form of a closed network, over all populations."""

    factors: Sequence[Array]
    """Factor of each station, by how many of each class are there, with the largest scaled to 1."""
    others: Sequence[Array]
    """Normalising constants of the network without each station."""
    users: tuple[int, ...]

    @classmethod
    def of(cls, network: Network, throughput: Array, rates: Sequence[Array | None]) -> Marginals:
        """Marginals of the closed classes; `rates` as they see them, None for a delay.

        Throughputs scale the demands, so that probabilities neither overflow nor vanish.

        Raises
        ------
        InputError
            There are too many populations.
        """
        closed = ~network.open
        users = tuple(int(number) for number in network.users[closed])
        if math.prod(number + 1 for number in users) > POPULATIONS_MAX:
            raise InputError(
                f"users is {list(users)}: probabilities of numbers are computed for at most"
                f" {POPULATIONS_MAX} populations; give fewer users or classes"
            )
        loads = network.demands[:, closed] * throughput[closed]
        think = network.think[closed] * throughput[closed]
        everything = [*zip(loads, rates, strict=True), (think, None)]
        factors = [_factor(users, load, at) for load, at in everything]
        before = list(itertools.accumulate(factors, _convolved))
        after = list(itertools.accumulate(reversed(factors), _convolved))[::-1]
        last = len(factors) - 1
        others = [after[k + 1] if k == 0 else _convolved(before[k - 1], after[k + 1]) for k in range(last)]
        return cls(factors=factors[:last], others=others, users=users)

    def number(self, station: int, less: int | None = None) -> Array:
        """Probabilities of 0, 1, ... closed customers at a station, with one user of a class `less`."""
        left = tuple(number - (index == less) for index, number in enumerate(self.users))
        inside = tuple(slice(0, number + 1) for number in left)
        there = self.factors[station][inside]
        elsewhere = self.others[station][inside][(slice(None, None, -1),) * len(left)]
        total = np.indices(there.shape).sum(axis=0)
        chances = np.bincount(total.ravel(), weights=(there * elsewhere).ravel())
        result: Array = chances / chances.sum()
        return result


def _factor(users: tuple[int, ...], load: Array, rates: Array | None) -> Array:
    """Factor of a station for each population that may be there."""
    index = np.indices([number + 1 for number in users]).astype(np.float64)
    total = index.sum(axis=0)
    logs = np.zeros(total.shape)
    for number, one in zip(index, load, strict=True):
        logs += special.xlogy(number, one) - special.gammaln(number + 1.0)
    if rates is not None:
        most = int(total.max())
        at = np.log(rates[np.minimum(np.arange(most), len(rates) - 1)]) if most else np.zeros(0)
        logs += special.gammaln(total + 1.0) - np.concatenate([[0.0], np.cumsum(at)])[total.astype(np.int64)]
    factor: Array = np.exp(logs - logs.max())
    return factor


def _convolved(one: Array, other: Array) -> Array:
    """Sum over all splits of a population, scaled to a largest value of 1."""
    result = np.zeros(one.shape)
    for place in np.ndindex(one.shape):
        if one[place]:
            here = tuple(slice(start, None) for start in place)
            rest = tuple(slice(0, size - start) for start, size in zip(place, one.shape, strict=True))
            result[here] += one[place] * other[rest]
    scaled: Array = result / result.max()
    return scaled
