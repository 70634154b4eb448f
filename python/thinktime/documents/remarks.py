"""Words for the caveats that estimates carry: why an interval has no end, or may be too narrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from thinktime.stats.estimate import Caveat, Estimate

if TYPE_CHECKING:
    from thinktime.documents.document import Table

NAMED_MAX = 4
"""Columns, or tables, that a sentence names."""


def _persistent(where: str, caveats: Sequence[Caveat]) -> str:
    most = max(caveat.values["factor"] for caveat in caveats)
    return (
        f"{where}: successive values are so strongly correlated that the log contains few independent ones. "
        f"Intervals were widened up to {most:.2g} times and may still be too narrow: record for longer."
    )


def _slow_swing(where: str, caveats: Sequence[Caveat]) -> str:
    most = max(caveat.values["factor"] for caveat in caveats)
    return (
        f"{where}: a slow swing lies under the quick variation of successive values, and the log is too "
        f"short to average it out. Intervals were widened up to {most:.2g} times and may still be too "
        "narrow: record for longer."
    )


def _few_determine(where: str, caveats: Sequence[Caveat]) -> str:
    fewest = min(caveat.values["effective"] for caveat in caveats)
    return (
        f"{where}: some have no interval, because too few observations determine them (in effect "
        f"{fewest:.2g}), and these do not show how large their errors are."
    )


def _open_end(where: str, caveats: Sequence[Caveat]) -> str:
    fewest = min(caveats, key=lambda caveat: caveat.values["effective"] / caveat.values["needed"])
    return (
        f"{where}: some intervals have no end, or none at all. The quantile {fewest.values['q']:g} needs "
        f"{fewest.values['needed']} independent observations; those in the log, correlated as they are, "
        f"are worth {fewest.values['effective']:.0f}."
    )


def _open_bucket(where: str, caveats: Sequence[Caveat]) -> str:
    del caveats
    return (
        f"{where}: some intervals have no upper end, for the largest values are counted in one bucket that "
        "has none."
    )


def _heavy_tail(where: str, caveats: Sequence[Caveat]) -> str:
    most = max(caveat.values["largest"] for caveat in caveats)
    return (
        f"{where}: no interval, because rare large values decide the figure ({most:.0%} of it is due to the "
        "largest value), and no sample of this size bounds them."
    )


def _equal_values(where: str, caveats: Sequence[Caveat]) -> str:
    fewest = min(caveat.values["n"] for caveat in caveats)
    return (
        f"{where}: some have no interval, because all values that they rest on ({fewest} or more) are equal "
        "and do not show how much others would differ."
    )


WORDS: Mapping[str, Callable[[str, Sequence[Caveat]], str]] = {
    "persistent": _persistent,
    "slow_swing": _slow_swing,
    "few_determine": _few_determine,
    "open_end": _open_end,
    "open_bucket": _open_bucket,
    "heavy_tail": _heavy_tail,
    "equal_values": _equal_values,
}
"""Sentence of each kind of caveat that an `Estimate` may have, with the columns that have it."""


def remarks(tables: Sequence[Table]) -> Iterator[str]:
    """Sentences on the estimates of the tables: one for each kind of caveat, with the columns concerned."""
    for kind, words in WORDS.items():
        columns: dict[tuple[str, str], None] = {}
        caveats = []
        for table in tables:
            for row in table.rows:
                for column, cell in zip(table.columns, row, strict=True):
                    if isinstance(cell, Estimate) and cell.caveat is not None and cell.caveat.kind == kind:
                        columns[table.caption, column.name] = None
                        caveats.append(cell.caveat)
        if caveats:
            yield words(_named(list(columns)), caveats)


def _named(columns: Sequence[tuple[str, str]]) -> str:
    """Columns by caption and name; of many, how many there are: nobody reads a list of twenty."""
    if len(columns) <= NAMED_MAX:
        return "; ".join(f"{caption}, {name}" for caption, name in columns)
    captions = dict.fromkeys(caption for caption, _ in columns)
    if len(captions) <= NAMED_MAX:
        return f"{'; '.join(captions)} ({len(columns)} columns)"
    return f"{len(columns)} columns of {len(captions)} tables of this section"
