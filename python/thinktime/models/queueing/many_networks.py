"""Many closed networks of one shape at once: a delay, a station of one server, and one of any rates.

With one class of customers (`throughputs`) or several (`class_throughputs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

ENDS = (64, 128, 256, 512, 1024, 2048, 4096)
"""Ends of the bands of numbers of customers. Each has its own scale of the weights, so that a number of
customers has the same digits however many more are asked for."""
LEAST = 1e-280
"""Smallest sum of weights, the largest of which are 1: what a double cannot hold is nothing beside it."""
TOGETHER = 400
"""Networks whose sums are computed together: few calls, whose weights stay in the cache."""


def throughputs(
    delay: Array, serial: Array, rates: Array, users: int, known: Array | None = None
) -> Array | None:
    r"""Throughput of each network with 1, 2, ... customers, shape (networks, users).

    Buzen's convolution, of terms that are all positive:

    .. math:: G(n) = \sum_k \frac{h(n - k)}{\prod_{i \le k} \mu(i)}, \quad
              h(m) = \frac{Z^m}{m!} + s \, h(m - 1), \quad X(n) = \frac{G(n - 1)}{G(n)}

    None where the terms of a network differ by more than a double holds, or for more than the last of `ENDS`:
    `thinktime._native.mva_rates` has no such limit, and takes several times as long.

    Parameters
    ----------
    delay : array
        Mean delay Z of a customer in each network [s].
    serial : array
        Time s at the station of one server [s].
    rates : array of shape (networks, at least users)
        Completions per second of the other station with 1, 2, ... customers there; the last holds for more.
    users : int
    known : array, optional
        Throughputs with fewer customers, which are not computed again.
    """
    if users > ENDS[-1]:
        return None
    found = np.empty((len(rates), users))
    done = 0 if known is None else min(known.shape[1], users)
    if known is not None:
        found[:, :done] = known[:, :done]
    for begin, end in pairwise((0, *ENDS)):
        first, last = max(begin, done), min(end, users)
        if first < last:
            places = np.minimum(np.arange(end), rates.shape[1] - 1)
            part = _band(delay, serial, rates[:, places], (first, last))
            if part is None:
                return None
            found[:, first:last] = part
    return found


def _band(delay: Array, serial: Array, rates: Array, band: tuple[int, int]) -> Array | None:
    """Throughputs with more than the first number of customers, up to the second; scaled for all rates."""
    users, (begin, last) = rates.shape[1], band
    number = np.arange(users + 1.0)
    log_rates = np.log(rates)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Weights are scaled by a power of `scale`, so that no station's grow without bounds, and those of the
        # delay do not vanish before the last customer.
        scale = np.minimum(np.minimum(log_rates[:, -1], -np.log(serial)), np.log(users / delay))
        waits = number * (np.log(delay) + scale)[:, None] - special.gammaln(number + 1.0)
    waits[:, 0] = 0.0
    served = np.zeros((len(rates), users + 1))
    np.cumsum(scale[:, None] - log_rates, axis=1, out=served[:, 1:])
    here, elsewhere = (np.exp(each - each.max(axis=1, keepdims=True)) for each in (served, waits))
    step = serial * np.exp(scale)
    if step.any():
        # One number of customers after the other, of all networks: contiguous in this order.
        turned = elsewhere.T.copy()
        for at in range(1, users + 1):
            turned[at] += step * turned[at - 1]
        elsewhere = turned.T
    # Backwards, so that a sum of products runs along both.
    elsewhere = elsewhere[:, ::-1].copy()
    sums = np.empty((len(rates), last + 1 - begin))
    for first in range(0, len(rates), TOGETHER):
        some = slice(first, first + TOGETHER)
        served_, waits_, sums_ = here[some], elsewhere[some], sums[some]
        for n in range(begin, last + 1):
            np.einsum("ij,ij->i", served_[:, : n + 1], waits_[:, users - n :], out=sums_[:, n - begin])
    if not sums.min() > LEAST:
        return None
    result: Array = np.exp(scale)[:, None] * sums[:, :-1] / sums[:, 1:]
    return result


def class_throughputs(
    delay: Array, serial: Array, demand: Array, rates: Array, users: Sequence[int]
) -> tuple[Array, Array] | None:
    r"""Throughput of each class in each network, and the mean number at the station of any rates.

    Buzen's convolution over the numbers :math:`n = (n_1, n_2, \ldots)` of customers of each class,

    .. math:: G(N) = \sum_{k \le N} \frac{|k|!}{\prod_{i \le |k|} \mu(i)} \prod_c \frac{D_c^{k_c}}{k_c!}
              \, h(N - k), \quad
              h(n) = \prod_c \frac{Z_c^{n_c}}{n_c!} + \sum_c s_c \, h(n - e_c), \quad
              X_c(N) = \frac{G(N - e_c)}{G(N)}

    None where a delay or a demand is 0, or terms differ by more than a double holds: `mva_classes` has no
    such limit.

    Parameters
    ----------
    delay, serial, demand : arrays of shape (networks, classes)
        Mean delay Z, time s at the station of one server, and demand D at the other [s].
    rates : array of at least the number of customers
        Seconds of work done per second at the other station with 1, 2, ... customers there.
    users : sequence of int
        Customers of each class, at least one.
    """
    if not (delay > 0.0).all() or not (demand > 0.0).all():
        return None
    shape, count = tuple(number + 1 for number in users), len(users)
    number = np.indices(shape).reshape(count, -1).astype(np.float64)
    level = number.sum(axis=0).astype(int)
    strides = [math.prod(shape[at + 1 :]) for at in range(count)]
    paths = (
        special.gammaln(level + 1.0) - np.concatenate([[0.0], np.cumsum(np.log(rates[: level[-1]]))])[level]
    )
    orders = special.gammaln(number + 1.0).sum(axis=0)
    # Times in units of each class, in which neither the weights of the delay nor those of the one server grow
    # without bounds.
    unit = np.maximum(delay * math.e / np.array(users), count * serial)
    here = paths - orders + np.log(demand / unit) @ number
    elsewhere = np.log(delay / unit) @ number - orders
    if serial.any():
        h, step = np.exp(elsewhere).T.copy(), (serial / unit).T.copy()
        for at in range(1, len(level)):
            for one, stride in enumerate(strides):
                if number[one, at]:
                    h[at] += step[one] * h[at - stride]
        if not h.min() > LEAST:
            return None
        elsewhere = np.log(h.T)
    within = number[:, ::-1]
    sums = []
    for at in (None, *range(count)):
        # Of all customers, or of one fewer of a class: k up to there, and what is left.
        if at is None:
            weights = here + elsewhere[:, ::-1]
        else:
            some = within[at] > 0
            left = np.flatnonzero(some)
            weights = here[:, left] + elsewhere[:, len(level) - 1 - left - strides[at]]
        most = weights.max(axis=1)
        terms = np.exp(weights - most[:, None])
        total = terms.sum(axis=1)
        sums.append(most + np.log(total))
        if at is None:
            there = (terms @ level) / total
    throughput = np.exp(np.stack(sums[1:], axis=1) - sums[0][:, None]) / unit
    return throughput, there
