"""Order statistics of more values than fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError

Array = NDArray[np.float64]
_Keys = NDArray[np.uint64]

KEPT_MOST = 1 << 20
"""Values of one cell that are kept and sorted; those of a larger cell are counted by further bits."""
FIRST_BITS, FURTHER_BITS = 20, 16
"""Leading bits by which values are counted first, and further ones: sign, exponent and 8 more make cells that
are 0.4 % wide."""
_ALL_BITS = 64


def order_statistics(pieces: Callable[[], Iterable[Array]], places: Sequence[int]) -> list[float]:
    """Values in these places of the ascending order of all values, exactly.

    Values are counted by the leading bits of their representation, which orders as the numbers do. Then
    those of the cells with a wanted place are kept and sorted, or counted by further bits where they are too
    many: two or three looks at the values, and memory that does not grow with their number.

    Parameters
    ----------
    pieces : callable
        Gives the values from the start each time, in arrays of any length; none of them nan.
    places : sequence of int
        Places, from 0 for the least value.

    Raises
    ------
    InputError
        There is no value in such a place.
    """
    found: dict[int, float] = {}
    cells: dict[int, list[tuple[int, int]]] = {0: [(place, place) for place in set(places)]}
    bits, width, kept = 0, FIRST_BITS, set[int]()
    while cells:
        counts, values = _look(pieces, bits, width, [cell for cell in cells if cell not in kept], kept)
        for cell, held in values.items():
            ordered = np.sort(np.concatenate(held)) if held else np.zeros(0)
            found.update((place, float(ordered[within])) for place, within in cells[cell])
        further: dict[int, list[tuple[int, int]]] = {}
        kept = set()
        for cell, counted in counts.items():
            until = np.cumsum(counted)
            for place, within in cells[cell]:
                if not 0 <= within < until[-1]:
                    raise InputError(f"places holds {place}, and there are {until[-1]} values")
                inside = int(np.searchsorted(until, within, side="right"))
                number = cell << width | inside
                further.setdefault(number, []).append((place, within - int(until[inside] - counted[inside])))
                if bits + width == _ALL_BITS:
                    found[place] = _value(number)
                elif counted[inside] <= KEPT_MOST:
                    kept.add(number)
        bits += width
        cells = {} if bits == _ALL_BITS else further
        width = min(FURTHER_BITS, _ALL_BITS - bits)
    return [found[place] for place in places]


def _look(
    pieces: Callable[[], Iterable[Array]], bits: int, width: int, counted: Sequence[int], kept: set[int]
) -> tuple[dict[int, NDArray[np.int64]], dict[int, list[Array]]]:
    """Numbers of values by further bits in the cells `counted`, and the values in the cells `kept`."""
    counts = {cell: np.zeros(1 << width, dtype=np.int64) for cell in counted}
    values: dict[int, list[Array]] = {cell: [] for cell in kept}
    for piece in pieces():
        keys = _keys(piece)
        # A number is not shifted by all of its bits.
        of = keys >> np.uint64(_ALL_BITS - bits) if bits else np.zeros(len(keys), dtype=np.uint64)
        for cell in (*counted, *kept):
            inside = of == np.uint64(cell)
            if cell in values:
                values[cell].append(piece[inside])
                continue
            place = keys[inside] >> np.uint64(_ALL_BITS - bits - width) & np.uint64((1 << width) - 1)
            counts[cell] += np.bincount(place.astype(np.int64), minlength=1 << width)
    return counts, values


_SIGN = np.uint64(1 << (_ALL_BITS - 1))


def _keys(values: Array) -> _Keys:
    """Whole numbers that order as the values do: those of negative values with all bits turned."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    keys: _Keys = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    return keys


def _value(key: int) -> float:
    """Value with this whole number."""
    number = np.array([key], dtype=np.uint64)
    return float(np.where(number & _SIGN, number & ~_SIGN, ~number).view(np.float64)[0])
