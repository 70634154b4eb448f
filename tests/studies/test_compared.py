"""When a published number and ours agree."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from thinktime.studies import cells_render as render_figures
from thinktime.studies import published_tables as beside
from thinktime.studies.cells import Figure, Finding, Tolerance, tally

FIGURE = Figure(
    "paper",
    "table01",
    {"users": 35},
    "time_s",
    "s",
    2.0,
    2.09,
    2.0,
    2.2,
    8,
    "predicted",
    Tolerance("relative", 0.05),
)


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
    assert FIGURE.verdict == "agrees"
    assert replace(FIGURE, published=None).verdict == ""
    assert replace(FIGURE, tolerance=None).verdict == ""
    assert replace(FIGURE, published=None).difference is None
    assert replace(FIGURE, published=0.0).difference is None


def test_a_miss_of_a_doubtful_number_is_not_counted_as_a_miss() -> None:
    wrong = replace(FIGURE, ours=3.0)
    doubtful = replace(wrong, doubt="a slip")
    empty = replace(FIGURE, published=None)
    assert (wrong.verdict, doubtful.verdict) == ("misses", "doubtful")
    (counted,) = tally([FIGURE, wrong, doubtful, empty])
    assert (counted.agree, counted.judged, counted.doubtful, counted.empty) == (1, 2, 1, 1)


def test_kinds_are_counted_apart() -> None:
    counted = tally([FIGURE, replace(FIGURE, kind="fitted"), replace(FIGURE, kind="arithmetic", ours=9.0)])
    assert [(item.kind, item.agree, item.judged) for item in counted] == [
        ("arithmetic", 0, 1),
        ("fitted", 1, 1),
        ("predicted", 1, 1),
    ]


def test_a_sentence_says_how_many_cells_agree_and_by_what() -> None:
    figures = [FIGURE, replace(FIGURE, ours=3.0), replace(FIGURE, published=None)]
    assert beside.sentence(figures) == (
        "1 of 2 predicted cells agree within 5 %; 1 has no published value and is ours alone."
    )


def test_a_table_marks_what_misses_and_says_why() -> None:
    figures = [FIGURE, replace(FIGURE, row={"users": 26}, ours=3.0)]
    (table,) = beside.tables("table01", "Table 1: times", figures, ["The disk is slower."])
    marks = [row[-1] for row in table.rows]
    assert marks == ["✓ agrees", "✗ misses"]
    assert table.notes == ("The disk is slower.",)
    (calm,) = beside.tables("table01", "Table 1: times", [FIGURE], ["The disk is slower."])
    assert calm.notes == ()


def test_recomputed_and_simulated_figures_have_tables_of_their_own() -> None:
    both = [FIGURE, replace(FIGURE, kind="arithmetic")]
    names = [table.name for table in beside.tables("table01", "Table 1", both)]
    assert len(set(names)) == 2


def test_json_is_one_list_of_figures_and_findings() -> None:
    finding = Finding("paper", "order", "Table 1", True, "difference 1 (0.5 to 1.5)", "shorter is better")
    undecided = replace(finding, finding="other", holds=None)
    strange = replace(FIGURE, ours=float("inf"), low=float("nan"))
    parsed = json.loads(render_figures.to_json([FIGURE, strange], [finding, undecided]))
    assert list(parsed[0]) == list(render_figures.HEADER)
    assert parsed[0]["row"] == {"users": 35}
    assert (parsed[1]["ours"], parsed[1]["low"]) == (None, None)
    assert list(parsed[2]) == ["study", "finding", "source", "holds", "statistic", "text"]
    assert [item["holds"] for item in parsed[2:]] == [True, None]


def test_csv_holds_the_same_figures() -> None:
    empty = replace(FIGURE, published=None, row={"users": 26, "slice_s": 0.1})
    rows = list(csv.DictReader(io.StringIO(render_figures.to_csv([FIGURE, empty]))))
    assert tuple(rows[0]) == render_figures.HEADER
    assert (rows[0]["published"], rows[1]["published"]) == ("2.0", "")
    assert rows[1]["row"] == "users=26;slice_s=0.1"
    assert float(rows[0]["ours"]) == FIGURE.ours


def test_numbers_of_numpy_do_not_reach_the_json() -> None:
    """The reason for the conversion in `Paper.figure`: NumPy's integers cannot be written."""
    with pytest.raises(TypeError):
        render_figures.to_json([replace(FIGURE, n=np.int64(8))], [])
