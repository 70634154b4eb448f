"""Integrals of functions that are smooth between known points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["cumulative_integral", "panels"]

Array = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


def panels(edges: Array) -> tuple[Array, Array]:
    """Nodes and weights of Gauss and Legendre's rule of 16 points on each of the panels between `edges`."""
    low, half = edges[:-1], np.diff(edges) / 2.0
    nodes = (low + half)[:, None] + half[:, None] * NODES
    return nodes.ravel(), (half[:, None] * WEIGHTS).ravel()


def cumulative_integral(function: Callable[[Array], Array], edges: Array, upto: Array) -> Array:
    r""":math:`\int_0^x f` at each x of `upto`; `f` is smooth between the `edges`, which begin at 0."""
    nodes, weights = panels(edges)
    by_panel = (function(nodes) * weights).reshape(-1, len(NODES)).sum(axis=1)
    whole = np.concatenate([[0.0], np.cumsum(by_panel)])
    at = np.clip(np.searchsorted(edges, upto, side="right") - 1, 0, len(edges) - 1)
    half = (upto - edges[at]) / 2.0
    inside = (edges[at] + half)[:, None] + half[:, None] * NODES
    values = function(inside.ravel()).reshape(inside.shape)
    result: Array = whole[at] + half * (values @ WEIGHTS)
    return result
