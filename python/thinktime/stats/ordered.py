"""Order statistics of more values than fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError

Array = NDArray[np.float64]
Keys = NDArray[np.uint64]

KEPT_MOST = 1 << 20
"""Values of one cell that are kept and sorted; those of a larger cell are counted by further bits."""
FIRST_BITS, FURTHER_BITS = 20, 16
"""Leading bits by which values are counted first, and further ones: sign, exponent and 8 more make cells that
are 0.4 % wide."""
ALL_BITS = 64


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
    search = Search(places)
    while search.more:
        for piece in pieces():
            search.absorb(piece)
        search.advance()
    return [search.found[place] for place in places]


class Counts:
    """Numbers of values by the leading bits of their representation.

    Memory is that of the cells between the least and the greatest value: a factor of two between values has
    the same number of cells everywhere.

    Parameters
    ----------
    bits : int
        Number of these bits.
    """

    def __init__(self, bits: int = FIRST_BITS) -> None:
        self.bits = bits
        self.first = 0
        """Leading bits of the first cell."""
        self.of = np.zeros(0, dtype=np.int64)
        """Values in each cell from the first one on."""

    @property
    def n(self) -> int:
        """Number of values."""
        return int(self.of.sum())

    def absorb(self, values: Array) -> None:
        """Count values, none of them nan."""
        self.absorb_keys(keys(values))

    def absorb_keys(self, numbers: Keys) -> None:
        """Count values by their `keys`."""
        if not len(numbers):
            return
        leading = numbers >> np.uint64(ALL_BITS - self.bits)
        least, most = int(leading.min()), int(leading.max())
        if not len(self.of):
            self.first = least
        below, above = max(self.first - least, 0), max(most + 1 - self.first - len(self.of), 0)
        if below or above:
            self.of = np.pad(self.of, (below, above))
            self.first -= below
        place = (leading - np.uint64(self.first)).astype(np.int64)
        self.of += np.bincount(place, minlength=len(self.of))

    def all_cells(self) -> NDArray[np.int64]:
        """Values in every cell that there can be."""
        cells = np.zeros(1 << self.bits, dtype=np.int64)
        cells[self.first : self.first + len(self.of)] = self.of
        return cells


class Search:
    """`order_statistics` of values that come in pieces: a look is all of them, and then `advance`.

    Parameters
    ----------
    places : sequence of int
        Places, from 0 for the least value.
    counts : Counts, optional
        All values, counted before: that saves a look.
    further_bits : int
        Bits by which values are counted after the first ones.
    kept_most : int
        See `KEPT_MOST`.

    Raises
    ------
    InputError
        There is no value in such a place.
    """

    def __init__(
        self,
        places: Sequence[int],
        counts: Counts | None = None,
        *,
        further_bits: int = FURTHER_BITS,
        kept_most: int | None = None,
    ) -> None:
        self.found: dict[int, float] = {}
        """Value in each place, once there is nothing `more` to look for."""
        self._further_bits = further_bits
        self._kept_most = KEPT_MOST if kept_most is None else kept_most
        self._cells: dict[int, list[tuple[int, int]]] = {0: [(place, place) for place in set(places)]}
        self._bits, self._width = 0, FIRST_BITS
        self._values: dict[int, list[Array]] = {}
        self._counts: dict[int, NDArray[np.int64]] = {}
        if counts is not None:
            self._width = counts.bits
            self._counts = {0: counts.all_cells()}
            self.advance()
        else:
            self._expect(set())

    @property
    def more(self) -> bool:
        """True if another look is needed."""
        return bool(self._cells)

    def absorb(self, values: Array) -> None:
        """Look at values."""
        numbers, bits, width = keys(values), self._bits, self._width
        # A number is not shifted by all of its bits.
        of = numbers >> np.uint64(ALL_BITS - bits) if bits else np.zeros(len(numbers), dtype=np.uint64)
        for cell, held in self._values.items():
            held.append(values[of == np.uint64(cell)])
        for cell, counted in self._counts.items():
            inside = numbers[of == np.uint64(cell)]
            place = inside >> np.uint64(ALL_BITS - bits - width) & np.uint64((1 << width) - 1)
            counted += np.bincount(place.astype(np.int64), minlength=1 << width)

    def advance(self) -> None:
        """End a look."""
        bits, width = self._bits, self._width
        for cell, held in self._values.items():
            ordered = np.sort(np.concatenate(held)) if held else np.zeros(0)
            self.found.update((place, float(ordered[within])) for place, within in self._cells[cell])
        further: dict[int, list[tuple[int, int]]] = {}
        kept: set[int] = set()
        for cell, counted in self._counts.items():
            until = np.cumsum(counted)
            for place, within in self._cells[cell]:
                if not 0 <= within < until[-1]:
                    raise InputError(f"places holds {place}, and there are {until[-1]} values")
                inside = int(np.searchsorted(until, within, side="right"))
                number = cell << width | inside
                further.setdefault(number, []).append((place, within - int(until[inside] - counted[inside])))
                if bits + width == ALL_BITS:
                    self.found[place] = value_of(number)
                elif counted[inside] <= self._kept_most:
                    kept.add(number)
        self._bits += width
        self._cells = {} if self._bits == ALL_BITS else further
        self._width = min(self._further_bits, ALL_BITS - self._bits)
        self._expect(kept)

    def _expect(self, kept: set[int]) -> None:
        """Prepare the next look: values of the cells `kept`, and numbers of those in the others."""
        self._values = {cell: [] for cell in self._cells if cell in kept}
        self._counts = {
            cell: np.zeros(1 << self._width, dtype=np.int64) for cell in self._cells if cell not in kept
        }


_SIGN = np.uint64(1 << (ALL_BITS - 1))


def keys(values: Array) -> Keys:
    """Whole numbers that order as the values do: those of negative values with all bits turned.

    Both zeros have the same.
    """
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)
    numbers: Keys = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    return numbers


def value_of(key: int) -> float:
    """Value with this whole number."""
    number = np.array([key], dtype=np.uint64)
    return float(np.where(number & _SIGN, number & ~_SIGN, ~number).view(np.float64)[0])
