"""Published beside ours: the figures of a study as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thinktime.documents.document import Cell, Column, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Figure, Finding, Tally, tally

__all__ = ["findings_table", "label", "sentence", "tables"]

LONG_ROWS_MAX = 12
"""A table with more rows and several quantities is shown a quantity at a time."""
MARKS = {"agrees": "✓ agrees", "misses": "✗ misses", "doubtful": "? doubtful", "": ""}
COUNTED = {"arithmetic": "recomputed", "fitted": "fitted", "predicted": "predicted"}
ORIGINS = {
    True: "recomputed from the printed numbers",
    False: "published beside ours",
}


def label(column: str) -> str:
    """Name of a published column as a reader sees it: ``avg_reaction_s`` is avg reaction, s."""
    for ending, unit in (("_s2", "s²"), ("_s", "s"), ("_per_10_min", "per 10 min")):
        if column.endswith(ending) and not column.endswith(f"_per{ending}"):
            return f"{column.removesuffix(ending).replace('_', ' ')}, {unit}"
    return column.replace("_", " ")


def sentence(figures: Sequence[Figure]) -> str:
    """How many figures agree: 12 of 12 fitted and 40 of 44 predicted cells agree."""
    tallies = tally(figures)
    judged = [item for item in tallies if item.judged]
    words = [f"{item.agree} of {item.judged} {COUNTED[item.kind]}" for item in judged]
    if not words:
        printed = any(figure.published is not None for figure in figures)
        return "No tolerance is claimed." if printed else "Nothing is printed to compare with."
    said = f"{_joined(words)} cells agree"
    ways = {figure.tolerance.words for figure in figures if figure.tolerance and figure.published is not None}
    if len(ways) == 1:
        said += f" {ways.pop()}"
    return said + _rest(tallies) + "."


def _rest(tallies: Iterable[Tally]) -> str:
    doubtful = sum(item.doubtful for item in tallies)
    empty = sum(item.empty for item in tallies if item.kind != "arithmetic")
    words = []
    if doubtful:
        verb = (
            "disagrees with a printed number that is"
            if doubtful == 1
            else "disagree with printed numbers that are"
        )
        words.append(f"{doubtful} {verb} doubtful")
    if empty:
        verbs = "has no published value and is" if empty == 1 else "have no published value and are"
        words.append(f"{empty} {verbs} ours alone")
    return f"; {_joined(words)}" if words else ""


def _joined(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def tables(
    name: str, caption: str, figures: Sequence[Figure], notes: Sequence[str] = (), folded: bool = False
) -> list[Table]:
    """Tables of one published table: what was recomputed apart from what was simulated.

    Parameters
    ----------
    name : str
        Name of the published table.
    caption : str
        Where it stands and what it shows.
    figures : sequence of Figure
        Its cells, in the order in which they are to be shown.
    notes : sequence of str
        What stands below: why cells miss.
    folded : bool
        Shown on demand.
    """
    found: list[Table] = []
    for recomputed in (True, False):
        own = [figure for figure in figures if (figure.kind == "arithmetic") == recomputed]
        for part, cells in _parts(own):
            suffix = "-recomputed" if recomputed else ""
            ending = f"-{part}" if part else ""
            about = f": {label(part)}" if part and len(_quantities(own)) > 1 else ""
            misses = any(figure.verdict == "misses" for figure in cells)
            remarks = (*_doubts(cells), *(notes if misses else ()))
            found.append(
                Table(
                    name=f"{name}{suffix}{ending}".replace("_", "-"),
                    caption=f"{caption}{about}, {ORIGINS[recomputed]}. {sentence(cells)}",
                    columns=_columns(cells, part),
                    rows=tuple(_row(figure, part, _mixed(cells), _positive(cells)) for figure in cells),
                    notes=remarks,
                    folded=folded,
                )
            )
    return found


def _parts(figures: Sequence[Figure]) -> list[tuple[str, list[Figure]]]:
    """Figures that share a table; named by their quantity where there is a table for each."""
    if not figures:
        return []
    quantities = _quantities(figures)
    if len(figures) <= LONG_ROWS_MAX and len(quantities) > 1:
        return [("", list(figures))]
    if len({tuple(figure.row.values()) for figure in figures}) <= LONG_ROWS_MAX and len(quantities) > 2:
        return [("", list(figures))]
    return [(name, [figure for figure in figures if figure.quantity == name]) for name in quantities]


def _quantities(figures: Sequence[Figure]) -> list[str]:
    return list(dict.fromkeys(figure.quantity for figure in figures))


def _doubts(figures: Sequence[Figure]) -> tuple[str, ...]:
    seen: dict[str, list[str]] = {}
    for figure in figures:
        if figure.doubt:
            seen.setdefault(figure.doubt, []).append(figure.label or " ".join(map(str, figure.row.values())))
    return tuple(f"{'; '.join(dict.fromkeys(rows))}: {doubt}" for doubt, rows in seen.items())


def _columns(figures: Sequence[Figure], part: str) -> tuple[Column, ...]:
    keys = [Column(label(key), scaled=not _numeric(figures, key)) for key in _keys(figures)]
    quantity = [] if part else [Column("quantity")]
    return (
        *keys,
        *quantity,
        Column("published", scaled=False),
        Column("ours", scaled=False),
        Column("difference", scaled=False),
        Column("verdict"),
        *([Column("kind")] if _mixed(figures) else []),
    )


def _keys(figures: Sequence[Figure]) -> Sequence[str]:
    return ["cell"] if figures[0].label else list(figures[0].row)


def _numeric(figures: Sequence[Figure], key: str) -> bool:
    return all(isinstance(figure.row.get(key), (int, float)) for figure in figures)


def _positive(figures: Sequence[Figure]) -> bool:
    """Whether a difference in per cent means something: numbers on both sides of zero have none."""
    return all(figure.published is None or figure.published >= 0.0 for figure in figures)


def _mixed(figures: Sequence[Figure]) -> bool:
    return len({figure.kind for figure in figures}) > 1


def _row(figure: Figure, part: str, mixed: bool, relative: bool) -> tuple[Cell, ...]:
    published = None if figure.published is None else _fixed(figure.published, figure.places)
    return (
        *((figure.label,) if figure.label else map(str, figure.row.values())),
        *(() if part else (label(figure.quantity),)),
        published,
        _ours(figure),
        _difference(figure, relative),
        MARKS[figure.verdict],
        *((figure.kind,) if mixed else ()),
    )


def _ours(figure: Figure) -> Cell:
    # The unit stands in the name of the column, as in the published table.
    if figure.low is None and figure.high is None:
        return _fixed(figure.ours, figure.places + 1)
    method = (
        "what the rounding of the printed inputs allows" if figure.kind == "arithmetic" else "95 % interval"
    )
    return Estimate(value=figure.ours, unit="", n=figure.n, method=method, low=figure.low, high=figure.high)


def _difference(figure: Figure, relative: bool) -> Cell:
    if figure.published is None:
        return None
    absolute = figure.tolerance is not None and figure.tolerance.way == "absolute"
    if figure.difference is None or absolute or not relative:
        return _signed(figure.ours - figure.published, figure.places + 1)
    return _signed(100 * figure.difference, 1) + " %"


def _fixed(value: float, places: int) -> str:
    return f"{value:.{max(places, 0)}f}".replace("-", "−")


def _signed(value: float, places: int) -> str:
    text = f"{value:+.{max(places, 0)}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def findings_table(name: str, findings: Sequence[Finding]) -> Table:
    """Show the conclusions of a paper, each with whether it holds and by which statistic."""
    said = {True: "✓ yes", False: "✗ no", None: "? open"}
    rows = tuple((item.text, item.source, said[item.holds], item.statistic) for item in findings)
    columns = (Column("conclusion"), Column("source"), Column("holds here"), Column("statistic"))
    return Table(
        name=f"{name}-conclusions",
        caption="Conclusions, and whether they hold here",
        columns=columns,
        rows=rows,
    )
