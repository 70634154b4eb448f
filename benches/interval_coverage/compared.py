"""Two short logs compared at equal load, with nothing changed between them."""

from __future__ import annotations

from functools import partial

import numpy as np

from interval_coverage.registry import Hits, holds, kind
from interval_coverage.series import autoregressive
from thinktime.analyses.compare.pieces import Line, Pieces
from thinktime.analyses.compare.unit_means import Cell

PIECES, PARTS = 12, 20
LENGTH_S = 60.0


def _cell(rows: np.ndarray) -> Cell:
    made = Cell()
    made.absorb(rows, np.full(len(rows), LENGTH_S), 0)
    return made


def stretches(random: np.random.Generator, n: int, rho: float) -> Pieces:
    """Pieces of n intervals in their parts: a quantity with AR(1) errors, the load, and its square."""
    load = 5.0 + 2.0 * autoregressive(random, n, 0.9)
    values = np.column_stack([1.0 + 0.3 * load + 0.5 * autoregressive(random, n, rho), load, load**2])
    pieces = np.array_split(values, PIECES)
    return Pieces(
        cells=tuple(map(_cell, pieces)),
        parts=tuple(tuple(map(_cell, filter(len, np.array_split(piece, PARTS)))) for piece in pieces),
        middles_us=np.arange(PIECES),
        piece_s=n * LENGTH_S / PIECES,
        span_us=(0, round(n * LENGTH_S * 1e6)),
    )


def difference(n: int, rho: float, seed: int) -> Hits:
    """Difference of two logs of n intervals at equal load."""
    random = np.random.default_rng(seed)
    both = stretches(random, n, rho), stretches(random, n, rho)
    found = Line.of(both, 0, [1, 2]).difference(*both)
    return {"difference at equal load": holds(found.estimate("", "", 0.95), 0.0)}


for n in (60, 300):
    for rho in (0.0, 0.5, 0.9):
        kind(
            name=f"compared-ar{rho:g}-{n}",
            interval="Short logs compared",
            data=f"two logs of {n} intervals, errors AR(1) {rho:g}",
        )(partial(difference, n, rho))
