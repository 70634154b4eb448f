"""Estimates of rows that do not fit into memory, asked for together and computed in a few looks at them."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.estimate import Estimate
from thinktime.stats.series import batch_means
from thinktime.stats.series.batch_means import Autocorrelation, Batches

Array = NDArray[np.float64]
Piece = TypeVar("Piece")
Answer = TypeVar("Answer")
State = TypeVar("State")


class Request(ABC, Generic[Piece, Answer]):
    """What is asked of the rows: a look absorbs all pieces in order, `more` tells if another is needed."""

    @abstractmethod
    def absorb(self, piece: Piece) -> None:
        """Look at a piece."""

    def more(self) -> bool:
        """End a look; True if there must be another."""
        return False

    @abstractmethod
    def answer(self) -> Answer:
        """Answer, after the last look."""

    def whole(self, piece: Piece) -> Answer:
        """Answer from the only piece that there is."""
        self.absorb(piece)
        while self.more():
            self.absorb(piece)
        return self.answer()


class Asked(Generic[Answer]):
    """Answer to a request: a call gives it, after looks at the rows for all requests that still wait."""

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look
        self._answers: list[Answer] = []

    def settle(self, answer: Answer) -> None:
        """Keep the answer."""
        self._answers = [answer]

    def __call__(self) -> Answer:
        """Answer."""
        if not self._answers:
            self._look()
        return self._answers[0]


class Looks(Generic[Piece]):
    """Requests about the rows of a log, answered together.

    Ask for everything that does not depend on another answer before the first answer is used: all that wait
    share their looks. Of rows in one piece the answers have the same bits as those of the functions of
    arrays; of several pieces, sums are added piece by piece, and the last digits may differ.

    Parameters
    ----------
    pieces : callable
        Gives the pieces from the start each time (`log.observations.held`); there is at least one.
    """

    def __init__(self, pieces: Callable[[], Iterator[Piece]]) -> None:
        self.pieces = pieces
        self._are_several = False
        self._waiting: list[tuple[Request[Piece, object], Asked[object]]] = []

    def ask(self, request: Request[Piece, Answer]) -> Asked[Answer]:
        """Ask for the answer to a request, which is made when it, or another one, is used."""
        asked: Asked[Answer] = Asked(self._look)
        self._waiting.append((request, asked))  # type: ignore[arg-type]
        return asked

    def _look(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not self._are_several:
            first = list(itertools.islice(self.pieces(), 2))
            if len(first) == 1:
                for request, asked in waiting:
                    asked.settle(request.whole(first[0]))
                return
            self._are_several = True
            del first
        active = [request for request, _ in waiting]
        while active:
            for piece in self.pieces():
                for request in active:
                    request.absorb(piece)
            active = [request for request in active if request.more()]
        for request, asked in waiting:
            asked.settle(request.answer())


def shared(formula: Callable[[Piece], Answer]) -> Callable[[Piece], Answer]:
    """Function of a piece that is computed once for the requests that share it."""
    last: list[tuple[Piece, Answer]] = []

    def of(piece: Piece) -> Answer:
        if not last or last[0][0] is not piece:
            last[:] = [(piece, formula(piece))]
        return last[0][1]

    return of


class Fold(Request[Piece, State]):
    """State after all pieces in order, of which each gives the next.

    Parameters
    ----------
    step : callable
        Next state from the state before, which it may change, and a piece.
    first : object
        State before the first piece.
    """

    def __init__(self, step: Callable[[State, Piece], State], first: State) -> None:
        self._step, self._state = step, first

    def absorb(self, piece: Piece) -> None:
        """Look at a piece."""
        self._state = self._step(self._state, piece)

    def answer(self) -> State:
        """Answer, after the last look."""
        return self._state


class Total(Request[Piece, tuple[float, int]]):
    """Sum of values, and their number."""

    def __init__(self, values: Callable[[Piece], Array]) -> None:
        self._values = values
        self._sum, self._n = 0.0, 0

    def absorb(self, piece: Piece) -> None:
        """Look at a piece."""
        values = self._values(piece)
        self._sum += float(values.sum())
        self._n += len(values)

    def answer(self) -> tuple[float, int]:
        """Answer, after the last look."""
        return self._sum, self._n


class Ratio(Request[Piece, "Estimate | None"]):
    """`batch_means.batch_ratio`; None where there is nothing to divide by.

    Parameters
    ----------
    parts : callable
        Amounts and lengths of the observations of a piece; None for lengths of 1, which gives the mean.
    level : float
        Confidence of the interval.
    """

    def __init__(self, parts: Callable[[Piece], tuple[Array, Array | None]], level: float) -> None:
        self._parts, self._level = parts, level
        self._n, self._length = 0, 0.0
        self._batches: Batches | None = None

    def absorb(self, piece: Piece) -> None:
        """Look at a piece."""
        amounts, lengths = self._parts(piece)
        if self._batches is not None:
            self._batches.absorb(amounts[:, None], lengths)
            return
        self._n += len(amounts)
        self._length += len(amounts) if lengths is None else float(lengths.sum())

    def more(self) -> bool:
        """End a look; True if there must be another."""
        if self._batches is not None or not self._length > 0.0:
            return False
        self._batches = Batches(self._n, 1)
        return True

    def answer(self) -> Estimate | None:
        """Answer, after the last look."""
        return None if self._batches is None else self._batches.interval(0, self._level)

    def whole(self, piece: Piece) -> Estimate | None:
        """Answer from the only piece that there is."""
        amounts, lengths = self._parts(piece)
        if not (len(amounts) if lengths is None else lengths.sum()) > 0.0:
            return None
        return batch_means.batch_ratio(amounts, lengths, self._level)


def mean(values: Callable[[Piece], Array], level: float) -> Ratio[Piece]:
    """Request for the mean of values, `batch_means.batch_ratio` without lengths."""
    return Ratio(lambda piece: (values(piece), None), level)


class Following(Request[Piece, float]):
    """Correlation of each value with the one before, `batch_means.autocorrelation` at lag 1; nan as there."""

    def __init__(self, values: Callable[[Piece], Array]) -> None:
        self._values = values
        self._total: Total[Piece] = Total(values)
        self._largest = 0.0
        self._products: Autocorrelation | None = None

    def absorb(self, piece: Piece) -> None:
        """Look at a piece."""
        if self._products is None:
            self._total.absorb(piece)
            self._largest = max(self._largest, float(np.max(np.abs(self._values(piece)), initial=0.0)))
        else:
            total, n = self._total.answer()
            self._products.absorb(self._values(piece) - total / n)

    def more(self) -> bool:
        """End a look; True if there must be another."""
        if self._products is not None or self._total.answer()[1] < 2:
            return False
        self._products = Autocorrelation(1)
        return True

    def answer(self) -> float:
        """Answer, after the last look."""
        return math.nan if self._products is None else float(self._products.values(self._largest)[0])

    def whole(self, piece: Piece) -> float:
        """Answer from the only piece that there is."""
        return float(batch_means.autocorrelation(self._values(piece))[0])
