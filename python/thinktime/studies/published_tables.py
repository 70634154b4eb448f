"""Published tables with our values: the cells of a study as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from thinktime.documents import document
from thinktime.documents.document import Col, Column, Table
from thinktime.documents.wording import capital
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Cell, Claim, Tally, tally

LONG_ROWS_MAX = 12
"""A table with more rows and several quantities is split into one table per quantity."""
MARKS = {"agrees": "✓ agrees", "misses": "✗ misses", "doubtful": "? doubtful", "": ""}
COUNTED = {"arithmetic": "recomputed", "fitted": "fitted", "predicted": "predicted"}
ORIGINS = {True: "recomputed from the printed numbers", False: "published and simulated"}
MISSED = {False: "Does not hold", None: "Open"}
CLAIMS_SHOWN = 40
"""A longer table of claims that hold is shown on demand."""
HOLDS = {True: "✓ yes", False: "✗ no", None: "? open"}


Names = Mapping[str, str]
"""Words for identifiers of the published tables."""
NO_NAMES: Names = {}
"""Identifiers stand for themselves."""


def label(column: str, names: Names) -> str:
    """Name of a published column for a reader: ``avg_reaction_s`` is avg reaction, s."""
    if column in names:
        return names[column]
    for ending, unit in (("_s2", "s²"), ("_s", "s"), ("_per_10_min", "per 10 min")):
        if column.endswith(ending) and not column.endswith(f"_per{ending}"):
            return f"{column.removesuffix(ending).replace('_', ' ')}, {unit}"
    return column.replace("_", " ")


def sentence(cells: Sequence[Cell]) -> str:
    """Number of cells that agree, in words: 12 of 12 fitted and 40 of 44 predicted cells agree."""
    tallies = tally(cells)
    judged = [item for item in tallies if item.judged]
    words = [f"{item.agree} of {item.judged} {COUNTED[item.kind]}" for item in judged]
    if not words:
        printed = any(cell.published is not None for cell in cells)
        return "No tolerance is claimed." if printed else "Nothing is printed to compare with."
    text = f"{_joined(words)} cells agree"
    ways = {cell.tolerance.words for cell in cells if cell.tolerance and cell.published is not None}
    if len(ways) == 1:
        text += f" {ways.pop()}"
    return text + _rest(tallies) + "."


def _rest(tallies: Iterable[Tally]) -> str:
    """Words for the cells that are not counted."""
    doubtful = sum(item.doubtful for item in tallies)
    empty = sum(item.empty for item in tallies if item.kind != "arithmetic")
    words = []
    if doubtful:
        several = "disagree with printed numbers that are"
        words.append(
            f"{doubtful} {'disagrees with a printed number that is' if doubtful == 1 else several} doubtful"
        )
    if empty:
        verbs = "has no published value and is" if empty == 1 else "have no published value and are"
        words.append(f"{empty} {verbs} ours alone")
    return f"; {_joined(words)}" if words else ""


def _joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def tables(
    name: str,
    caption: str,
    cells: Sequence[Cell],
    *,
    names: Names = NO_NAMES,
    notes: Sequence[str] = (),
    folded: bool = False,
) -> list[Table]:
    """Tables of one published table: recomputed values apart from simulated ones.

    Parameters
    ----------
    name : str
        Name of the published table.
    caption : str
        Its place and title.
    cells : sequence of Cell
        In the order in which they are shown.
    names : mapping
        Words for identifiers.
    notes : sequence of str
        Why cells miss.
    folded : bool
        Shown on demand.
    """
    result: list[Table] = []
    for recomputed in (True, False):
        selected = [cell for cell in cells if (cell.kind == "arithmetic") == recomputed]
        for quantity, group in _groups(selected):
            suffix = "-recomputed" if recomputed else ""
            ending = f"-{quantity}" if quantity else ""
            about = f": {label(quantity, names)}" if quantity and len(_quantities(selected)) > 1 else ""
            misses = any(cell.verdict == "misses" for cell in group)
            result.append(
                Table(
                    name=f"{name}{suffix}{ending}".replace("_", "-"),
                    caption=f"{caption}{about}, {ORIGINS[recomputed]}. {sentence(group)}",
                    columns=_columns(group, quantity, names),
                    rows=tuple(_row(cell, quantity, group, names) for cell in group),
                    notes=(*_doubts(group), *(notes if misses else ())),
                    folded=folded,
                )
            )
    return result


def _groups(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    """Cells that share a table; named by their quantity where there is a table for each."""
    if not cells:
        return []
    quantities = _quantities(cells)
    if len(cells) <= LONG_ROWS_MAX and len(quantities) > 1:
        return [("", list(cells))]
    if len({tuple(cell.row.values()) for cell in cells}) <= LONG_ROWS_MAX and len(quantities) > 2:
        return [("", list(cells))]
    return [(name, [cell for cell in cells if cell.quantity == name]) for name in quantities]


def _quantities(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.quantity for cell in cells))


def _doubts(cells: Sequence[Cell]) -> tuple[str, ...]:
    rows_by_doubt: dict[str, list[str]] = {}
    for cell in cells:
        if cell.doubt:
            rows = rows_by_doubt.setdefault(cell.doubt, [])
            rows.append(cell.label or " ".join(map(str, cell.row.values())))
    return tuple(f"{'; '.join(dict.fromkeys(rows))}: {doubt}" for doubt, rows in rows_by_doubt.items())


def _columns(cells: Sequence[Cell], quantity: str, names: Names) -> tuple[Column, ...]:
    keys = ["cell"] if cells[0].label else list(cells[0].row)
    return (
        *(Column(label(key, names), scaled=not _numeric(cells, key)) for key in keys),
        *([] if quantity else [Column("quantity")]),
        *(Column(name, scaled=False) for name in ("published", "ours", "difference")),
        Column("verdict"),
        *([Column("kind")] if _mixed(cells) else []),
    )


def _numeric(cells: Sequence[Cell], key: str) -> bool:
    return all(isinstance(cell.row.get(key), (int, float)) for cell in cells)


def _positive(cells: Sequence[Cell]) -> bool:
    """True if differences in per cent are meaningful: numbers on both sides of zero have none."""
    return all(cell.published is None or cell.published >= 0.0 for cell in cells)


def _mixed(cells: Sequence[Cell]) -> bool:
    return len({cell.kind for cell in cells}) > 1


def _row(cell: Cell, quantity: str, group: Sequence[Cell], names: Names) -> tuple[document.Cell, ...]:
    return (
        *((cell.label,) if cell.label else (names.get(str(key), str(key)) for key in cell.row.values())),
        *(() if quantity else (label(cell.quantity, names),)),
        None if cell.published is None else _fixed(cell.published, cell.places),
        _ours(cell),
        _difference(cell, _positive(group)),
        MARKS[cell.verdict],
        *((cell.kind,) if _mixed(group) else ()),
    )


def _ours(cell: Cell) -> document.Cell:
    # The unit is in the name of the column, as in the published table.
    if cell.low is None and cell.high is None:
        return _fixed(cell.ours, cell.places + 1)
    method = "range allowed by the rounding of the printed inputs"
    if cell.kind != "arithmetic":
        method = "95 % interval"
    return Estimate(value=cell.ours, n=cell.n, method=method, low=cell.low, high=cell.high)


def _difference(cell: Cell, relative: bool) -> document.Cell:
    if cell.published is None:
        return None
    absolute = cell.tolerance is not None and cell.tolerance.way == "absolute"
    if cell.difference is None or absolute or not relative:
        return _signed(cell.ours - cell.published, cell.places + 1)
    return _signed(100 * cell.difference, 1) + " %"


def _fixed(value: float, places: int) -> str:
    return f"{value:.{max(places, 0)}f}".replace("-", "−")


def _signed(value: float, places: int) -> str:
    text = f"{value:+.{max(places, 0)}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def held_table(claims: Sequence[Claim]) -> Table:
    """Table of the claims that hold."""
    return Table.of(
        claims,
        Col("claim", lambda claim: capital(claim.text)),
        Col("in the paper", lambda claim: claim.source),
        name="claims-held",
        caption="Claims that hold",
        folded=len(claims) > CLAIMS_SHOWN,
    )


def missed_table(claims: Sequence[Claim]) -> Table:
    """Table of the claims that do not hold or are undecided, with the reason."""
    return Table.of(
        claims,
        Col("claim", lambda claim: f"{capital(claim.text)} ({claim.source})"),
        Col("here", lambda claim: f"{MISSED[claim.holds]}: {claim.statistic}"),
        Col("why", lambda claim: claim.why or None),
        name="claims-missed",
        caption="Claims that do not hold or are open",
    )


def short_table(claims: Sequence[Claim]) -> Table:
    """Table of the claims that hold at full length, and do not in these runs."""
    return Table.of(
        claims,
        Col("claim", lambda claim: f"{capital(claim.text)} ({claim.source})"),
        Col("here", lambda claim: f"{MISSED[claim.holds]}: {claim.statistic}"),
        name="claims-short",
        caption="Claims that hold at full length, but not in these runs",
        folded=True,
    )


def claims_table(name: str, claims: Sequence[Claim]) -> Table:
    """Table of the claims of a paper, each with its verdict and the statistic behind it."""
    return Table.of(
        claims,
        Col("claim", lambda claim: capital(claim.text)),
        Col("source", lambda claim: claim.source),
        Col("holds here", lambda claim: HOLDS[claim.holds]),
        Col("statistic", lambda claim: claim.statistic),
        name=f"{name}-claims",
        caption="Claims, and whether they hold here",
    )
