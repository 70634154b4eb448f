"""When a published number and ours agree."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from checks import CELL

from thinktime.studies import cells_render, published_tables
from thinktime.studies.cells import Claim, Tolerance, tally


@pytest.mark.parametrize(
    ("tolerance", "published", "ours", "low", "high", "agrees"),
    [
        (Tolerance("relative", 0.05), 2.0, 2.1, None, None, True),
        (Tolerance("relative", 0.05), 2.0, 2.11, None, None, False),
        (Tolerance("relative", 0.05), 0.0, 0.1, None, None, False),
        (Tolerance("relative", 0.05), -2.0, -2.1, None, None, True),
        (Tolerance("absolute", 0.015), 0.95, 0.965, None, None, True),
        (Tolerance("absolute", 0.015), 0.95, 0.966, None, None, False),
        (Tolerance("range"), 2.0, 2.5, 1.9, 3.0, True),
        (Tolerance("range"), 2.0, 2.5, 2.1, 3.0, False),
        (Tolerance("digits", 0.05), 2.0, 2.04, None, None, True),
        (Tolerance("digits", 0.05), 2.0, 2.06, None, None, False),
        (Tolerance("digits", 0.05), 2.0, 2.2, 2.04, 2.36, True),
    ],
)
def test_tolerances(
    tolerance: Tolerance, published: float, ours: float, low: float, high: float, agrees: bool
) -> None:
    assert tolerance.holds(published, ours, low, high) is agrees


def test_a_figure_without_published_value_or_claim_has_no_verdict() -> None:
    assert CELL.verdict == "agrees"
    assert replace(CELL, published=None).verdict == ""
    assert replace(CELL, tolerance=None).verdict == ""
    assert replace(CELL, published=None).difference is None
    assert replace(CELL, published=0.0).difference is None


def test_a_miss_of_a_doubtful_number_is_not_counted_as_a_miss() -> None:
    wrong = replace(CELL, ours=3.0)
    doubtful = replace(wrong, doubt="a slip")
    empty = replace(CELL, published=None)
    assert (wrong.verdict, doubtful.verdict) == ("misses", "doubtful")
    (counted,) = tally([CELL, wrong, doubtful, empty])
    assert (counted.agree, counted.judged, counted.doubtful, counted.empty) == (1, 2, 1, 1)


def test_kinds_are_counted_apart() -> None:
    counted = tally([CELL, replace(CELL, kind="fitted"), replace(CELL, kind="arithmetic", ours=9.0)])
    assert [(item.kind, item.agree, item.judged) for item in counted] == [
        ("arithmetic", 0, 1),
        ("fitted", 1, 1),
        ("predicted", 1, 1),
    ]


def test_a_sentence_says_how_many_cells_agree_and_by_what() -> None:
    figures = [CELL, replace(CELL, ours=3.0), replace(CELL, published=None)]
    assert published_tables.sentence(figures) == (
        "1 of 2 predicted cells agree within 5 %; 1 has no published value and is ours alone."
    )


def test_a_table_marks_what_misses_and_says_why() -> None:
    figures = [CELL, replace(CELL, row={"users": 26}, ours=3.0)]
    (table,) = published_tables.tables("table01", "Table 1: times", figures, notes=["The disk is slower."])
    marks = [row[-1] for row in table.rows]
    assert marks == ["✓ agrees", "✗ misses"]
    assert table.notes == ("The disk is slower.",)
    (calm,) = published_tables.tables("table01", "Table 1: times", [CELL], notes=["The disk is slower."])
    assert calm.notes == ()


def test_recomputed_and_simulated_figures_have_tables_of_their_own() -> None:
    both = [CELL, replace(CELL, kind="arithmetic")]
    names = [table.name for table in published_tables.tables("table01", "Table 1", both)]
    assert len(set(names)) == 2


def test_json_is_one_list_of_cells_and_claims() -> None:
    claim = Claim(
        study="paper",
        id="order",
        source="Table 1",
        holds=True,
        statistic="difference 1 (0.5 to 1.5)",
        text="shorter is better",
    )
    undecided = replace(claim, id="other", holds=None)
    strange = replace(CELL, ours=float("inf"), low=float("nan"))
    parsed = json.loads(cells_render.to_json([CELL, strange], [claim, undecided]))["records"]
    assert list(parsed[0]) == list(cells_render.HEADER)
    assert parsed[0]["row"] == {"users": 35}
    assert (parsed[1]["ours"], parsed[1]["low"]) == (None, None)
    assert list(parsed[2]) == ["study", "claim", "source", "holds", "statistic", "text"]
    assert [item["holds"] for item in parsed[2:]] == [True, None]


def test_csv_holds_the_same_figures() -> None:
    empty = replace(CELL, published=None, row={"users": 26, "slice_s": 0.1})
    rows = list(csv.DictReader(io.StringIO(cells_render.to_csv([CELL, empty]))))
    assert tuple(rows[0]) == cells_render.HEADER
    assert (rows[0]["published"], rows[1]["published"]) == ("2.0", "")
    assert rows[1]["row"] == "users=26;slice_s=0.1"
    assert float(rows[0]["ours"]) == CELL.ours


def test_numbers_of_numpy_do_not_reach_the_json() -> None:
    """The reason for the conversion in `Paper.figure`: NumPy's integers cannot be written."""
    with pytest.raises(TypeError):
        cells_render.to_json([replace(CELL, n=np.int64(8))], [])
