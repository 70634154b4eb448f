"""Sekino (1969): the arithmetic of its printed numbers, and what one more user costs."""

from __future__ import annotations

import re

import checks
import numpy as np
import pytest

from thinktime.studies import load
from thinktime.studies.cells import Cell
from thinktime.studies.laboratory import Settings
from thinktime.studies.sekino_1969 import ctss_comparison, loads, passes, recomputed, responses, think_time
from thinktime.studies.sekino_1969.loads import CPM01, PAPER, RESPONSES, SUMMARY
from thinktime.studies.sekino_1969.recomputed import implied_faults, truncated
from thinktime.studies.sekino_1969.responses import one_run
from thinktime.studies.study import Outcome, run
from thinktime.studies.study_report import report

NAME = "sekino-1969"
NOT_NUMBERS = {"measurement-period-start", "measurement-period-end"}
"""Facts that are dates."""
NOT_SIMULATED = {"user_file_directory_entries"}
"""Of the run report: nothing depends on it."""


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """Two runs of the loads that claims are about."""
    return run(load(NAME), Settings(replications=2, scale=0.5))


@pytest.fixture(scope="module")
def arithmetic() -> tuple[Cell, ...]:
    """Cells that need no simulation."""
    return recomputed.chapter(None).cells


def test_rows_of_words_are_read_as_words() -> None:
    table = PAPER.tables[CPM01]
    assert table.cell({"quantity": "time"}, "value") is None
    assert table.remark({"quantity": "time"}, "value") == "9:28"
    cell = table.cell({"quantity": "total_run_time"}, "value")
    assert cell is not None
    assert (cell.value, cell.places) == (42.96, 3)


def test_commands_are_carried_to_the_interactions_below_their_label() -> None:
    assert [loads.named(at) for at in (1, 4, 10, 14)] == [
        "1 edm",
        "4 fortran",
        "10 edm",
        "14 a.-prime & prime",
    ]
    assert [loads.named(at, "ctss") for at in (11, 15)] == ["11 mad", "15 loadgo"]
    fortran = [at for at in range(1, 18) if loads.named(at).endswith("fortran")]
    assert fortran == list(loads.COMPILED)


def test_all_arithmetic_comes_out_to_the_printed_digit(arithmetic: tuple[Cell, ...]) -> None:
    assert [cell for cell in arithmetic if cell.verdict == "misses"] == []
    agreed = {cell.table for cell in arithmetic if cell.verdict == "agrees"}
    assert agreed == {SUMMARY, CPM01, "facts"}
    doubtful = [cell.row for cell in arithmetic if cell.verdict == "doubtful"]
    assert doubtful == [{"quantity": "average_system_response_time"}]


def test_averages_of_the_run_report_need_truncation() -> None:
    """The canary: rounded to three places, none of the three averages comes out."""
    assert truncated(42.960 / 66) == 0.650
    wrong = [
        cell.row["quantity"]
        for cell in recomputed.run_report(lambda value: round(value, 3))
        if cell.verdict == "doubtful"
    ]
    assert wrong[:3] == ["average_run_time", "average_swap_time", "average_cpu_time"]


def test_components_that_the_text_implies() -> None:
    """545 = 310 + 120 + 115 at 16 faults; a fault more takes 8.0 and 115 / 16 ms."""
    assert implied_faults(545.0) == pytest.approx(16.0)
    assert implied_faults(545.0 + 8.0 + 115.0 / 16.0) == pytest.approx(17.0)


def test_every_doubt_has_values() -> None:
    checks.doubts_have_values(recomputed.doubts(None))


def test_every_cell_is_computed_whether_it_is_printed_or_not(outcome: Outcome) -> None:
    checks.computed(outcome, {RESPONSES, SUMMARY})
    quantities = {cell.row["quantity"] for cell in outcome.cells if cell.table == CPM01}
    table = PAPER.tables[CPM01]
    numbers = {str(row["quantity"]) for row in table.rows if table.cell(row, "value") is not None}
    assert quantities == numbers - NOT_SIMULATED
    assert {cell.table for cell in outcome.cells} == set(outcome.study.tables)


def test_every_fact_that_is_a_number_is_computed(outcome: Outcome) -> None:
    names = {fact.id: name for name, fact in PAPER.facts.items()}
    facts = {names[cell.row["id"]] for cell in outcome.cells if cell.table == "facts"}
    assert facts == set(PAPER.facts) - NOT_NUMBERS


def test_json_claims_and_report_are_complete(outcome: Outcome) -> None:
    checks.json_has_the_fields(outcome)
    checks.claims_have_statistics(outcome)
    checks.report_is_consistent(outcome)
    for claim in outcome.claims:
        assert "nan" not in claim.statistic, claim
    titles = " ".join(figure.title for section in report(outcome).sections for figure in section.figures)
    assert {int(number) for number in re.findall(r"\(Figure (\d+)\)", titles)} == {1, 2, 3, 4}


def test_one_table_is_that_table() -> None:
    alone = run(load(NAME), Settings(replications=2, scale=0.5), "ctss_run_cpm01")
    assert {cell.table for cell in alone.cells} == {CPM01}
    assert alone.claims == ()


def test_normal_users_who_think_longer_leave_quicker_responses() -> None:
    """The canary of the responses: with 17 users, half as busy normal users must be seen at once."""
    laboratory = load(NAME).begin(Settings(replications=4))
    think = {"kind": "exponential", "mean": 2.0 * float(loads.NORMAL_THINK["mean"])}
    usual = responses.average(loads.on_multics(laboratory, 17))
    idle = responses.average(loads.on_multics(laboratory, 17, normal_think=think))
    assert np.nanmean(idle) < 0.8 * np.nanmean(usual)


def test_a_range_of_39_runs_holds_95_of_100_further_runs() -> None:
    """Exactly 0.95 whatever the distribution; of 2000 ranges, 4 standard errors are 0.02.

    False alarms: 6 in 100 000, but none with a fixed seed. The canary leaves out the lowest and the
    highest run, and must hold fewer.
    """
    random = np.random.default_rng(1)
    runs, further = random.lognormal(0.0, 1.0, (2000, 39)), random.lognormal(0.0, 1.0, 2000)

    def share(values: np.ndarray) -> float:
        ranges = [one_run(row) for row in values]
        return float(np.mean([r.low <= x <= r.high for r, x in zip(ranges, further, strict=True)]))

    assert one_run(runs[0]).level == pytest.approx(0.95)
    assert share(runs) == pytest.approx(0.95, abs=0.02)
    assert abs(share(np.sort(runs, axis=1)[:, 1:-1]) - 0.95) > 0.02


def test_an_editor_waits_for_a_compiler_on_ctss() -> None:
    """The CTSS column of Table 1 by command: by the rule of 1962 the editor is too quick, `mad` too slow.

    The figures have no false alarms with a fixed seed; the rule of 1962 is the canary.
    """
    laboratory = load(NAME).begin(Settings(replications=39))
    kinds = {kind.command: kind for kind in ctss_comparison.by_command(laboratory)}
    assert sum(kind.cells for kind in kinds.values()) == loads.INTERACTIONS
    edited, compiled = kinds["edl"], kinds["mad"]
    assert edited.ours == pytest.approx(edited.printed, rel=0.25)
    assert edited.earlier < 0.4 * edited.printed
    assert compiled.ours < 2.0 * compiled.printed < compiled.earlier
    inside, earlier = (
        sum(getattr(kind, name) for kind in kinds.values()) for name in ("inside", "inside_earlier")
    )
    assert inside >= 14
    assert earlier <= 11


def test_a_column_is_strange_as_often_as_it_says() -> None:
    """Cells of a pass that hang together: of 2000 further passes 5 in 100 are below 5 %, at most.

    False alarms: 4 standard errors are 0.02, and none with a fixed seed. The canary takes the cells for
    independent of each other, and must call far more passes strange.
    """
    random = np.random.default_rng(3)

    def drawn(count: int) -> np.ndarray:
        load = random.normal(0.0, 1.0, (count, 1))
        return np.round(2.0 * np.exp(0.5 * load + random.normal(0.0, 0.5, (count, 17)))) / 2.0

    found = np.array([passes.strangeness(drawn(39), drawn(1)[0]) for _ in range(2000)])
    assert (found <= 0.05).mean() <= 0.05 + 0.02
    assert abs((found <= 0.25).mean() - 0.25) < 0.04

    def independent() -> float:
        rows, other = drawn(39), drawn(1)[0]
        shuffled = np.stack([random.permutation(cells) for cells in rows.T], axis=1)
        return passes.strangeness(shuffled, other)

    assert np.mean([independent() <= 0.05 for _ in range(400)]) > 0.12


def test_a_stretch_of_slow_responses_is_found_where_it_is() -> None:
    """Interactions 5 to 9 above all passes: none of 39 has that; one slow response many have."""
    random = np.random.default_rng(5)
    drawn = random.lognormal(0.0, 0.5, (39, 17))
    other = np.median(drawn, axis=0)
    assert passes.stretch(drawn, other)[1] == 0
    other[4:9] = 99.0
    assert passes.stretch(drawn, other) == (5, 5, 1 / 40)
    other[4:8] = 0.0
    first, length, p = passes.stretch(drawn, other)
    assert (first, length) == (9, 1)
    assert p > 0.3


def test_responses_that_are_longer_with_fewer_users_are_counted() -> None:
    few = np.array([[1.0, 5.0, 2.0], [1.0, 1.0, 1.0]])
    many = np.array([[2.0, 2.0, 2.0], [0.5, 6.0, 1.0]])
    # The first against the second, and the second against the first.
    assert passes.slower_than_with_more(few, many).tolist() == [2, 0]


def test_the_shape_of_three_passes_is_that_of_their_means() -> None:
    """Triple by triple, with the pass before at the first load and the one after at the third."""
    random = np.random.default_rng(4)
    drawn = [passes.printed(users) * random.lognormal(0.0, 0.4, (12, 17)) for users in passes.LOADS]
    printed = [passes.printed(users) for users in passes.LOADS]

    def has(which: str, *three: np.ndarray) -> tuple[bool, bool]:
        few, middle, many = (float(passes.mean(one[None, :], which)[0]) for one in three)
        stated = [passes.stated(users, which) for users in passes.LOADS]
        return middle / few >= stated[1] / stated[0], many / middle <= stated[2] / stated[1]

    count = len(drawn[0])
    triples = [(drawn[0][j - 1], drawn[1][j], drawn[2][(j + 1) % count]) for j in range(count)]
    expected = [[has(which, *three) for which in passes.LEAVING_OUT] for three in triples]
    steep, flat = passes.shape(*drawn)
    assert list(zip(steep, flat, strict=True)) == [
        tuple(map(all, zip(*each, strict=True))) for each in expected
    ]
    assert 0 < steep.sum() < count
    assert 0 < flat.sum() < count
    assert passes.percentile(np.array([1.0, 2.0, 2.0, 3.0]), 2.0).value == 0.5
    assert [round(float(column.mean()), 1) for column in printed] == [3.8, 8.5, 21.0]


def test_think_time_has_an_effect_with_others_and_none_without() -> None:
    """Alone, nobody takes the pages while the user thinks: the same command costs no more faults.

    With four users they are taken. Without any effect Student's test would say so once in a thousand times.
    """
    both = load(NAME).begin(Settings(replications=8))
    alone, four = (think_time.trend(both, users, think_time.FAULTS) for users in (think_time.ALONE, 4))
    assert abs(alone.slope.value) < 0.1
    assert four.slope.value > 1.0
    assert four.p < 0.001


def test_the_published_numbers_are_as_printed() -> None:
    """A digit of each column, from the paper."""
    for row, column, value in (
        (4, "multics_17_users_s", 117.0),
        (10, "multics_17_users_s", 19.5),
        (10, "multics_10_users_s", 8.5),
        (1, "multics_6_users_s", 8.5),
        (17, "ctss_15_users_s", 16.0),
    ):
        assert PAPER.printed(RESPONSES, {"interaction": row}, column).value == value
