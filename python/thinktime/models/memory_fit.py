"""How many processes of unequal sizes are in memory together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from thinktime.errors import InputError
from thinktime.models.prediction import count, positive

__all__ = ["number_that_fit"]

NEVER = 1e-9
"""Chance up to which a number is left out: rounding, or too seldom to matter."""


def number_that_fit(memory: int, sizes: Sequence[float], text: float = 0.0) -> dict[int, float]:
    r"""Probability of each number of processes that memory holds, if they come in a random order.

    .. math:: \Pr\{L \ge k\} = \Pr\{S_k \le MM - t\}

    with :math:`S_k` the sum of k sizes drawn without replacement, less the text t that all share. Equal
    sizes give the one number :math:`\lfloor (MM - t) / (PS - t) \rfloor`, at most that of the processes.
    Sizes are rounded up to whole units.

    Parameters
    ----------
    memory : int
        MM.
    sizes : sequence of float
        Size of each process, its text included, in the unit of `memory`.
    text : float
        t, the part of every size that is in memory once for all.

    Raises
    ------
    InputError
        There is no process, one is larger than memory, or one is no larger than its text.
    """
    if not sizes:
        raise InputError("there are no sizes of processes; give at least one")
    for size in sizes:
        if positive("size", size) <= text:
            raise InputError(
                f"size is {size:g}, and text {text:g}; give a text that is smaller than the process"
            )
    largest = max(sizes)
    if largest > count("memory", memory):
        raise InputError(
            f"size is {largest:g}, and memory {memory}: no such process can ever be loaded; give more memory "
            "or smaller processes"
        )
    if len(set(sizes)) == 1:
        return {min(len(sizes), math.floor((memory - text) / (largest - text))): 1.0}
    least = _at_least(math.floor(memory - text), [math.ceil(size - text) for size in sizes])
    exactly = {k: least[k] - (least[k + 1] if k < len(sizes) else 0.0) for k in range(1, len(sizes) + 1)}
    return {k: chance for k, chance in exactly.items() if chance > NEVER}


def _at_least(free: int, sizes: Sequence[int]) -> list[float]:
    """Chance that k = 0, 1, ... sizes of a random order fit: the part of the k-subsets whose sum fits."""
    number = len(sizes)
    # By k, the chance of each sum of a random k-subset of the sizes seen.
    subsets = [np.zeros(free + 1) for _ in range(number + 1)]
    subsets[0][0] = 1.0
    for seen, size in enumerate(sizes, start=1):
        for k in range(min(seen, number), 0, -1):
            # Of the k-subsets of `seen` sizes, the part k / seen contains the last.
            with_last = np.zeros(free + 1)
            if size <= free:
                with_last[size:] = subsets[k - 1][: free + 1 - size]
            subsets[k] = with_last * (k / seen) + subsets[k] * (1.0 - k / seen)
    return [min(1.0, float(subset.sum())) for subset in subsets]
