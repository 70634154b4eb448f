"""Sekino (1971): the arithmetic of its printed numbers, and predictions of two processors from one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import checks
import pytest

from thinktime.documents.document import Section
from thinktime.documents.render import render_section
from thinktime.studies import load, published_tables
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import exact
from thinktime.studies.laboratory import Laboratory, Settings
from thinktime.studies.sekino_1971 import capacity_planning, mechanisms, recomputed, trials
from thinktime.studies.sekino_1971.configurations import (
    BETWEEN,
    CAPACITY,
    CONFIGURATIONS,
    EVENTS,
    FULL,
    LARGE,
    OVERHEAD,
    PAPER,
    QUANTITIES,
    SMALL,
    STATES,
    SYSTEMS,
    compared,
    simulated,
    value_of,
)
from thinktime.studies.study import Outcome, run

NAME = "sekino-1971"
GOLDEN = Path(__file__).parent / "golden" / f"{NAME}-recomputed.txt"


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """All parts with two replications of six minutes."""
    return run(load(NAME), Settings(replications=2, scale=0.1))


@pytest.fixture(scope="module")
def arithmetic() -> tuple[Cell, ...]:
    """Cells that need no simulation."""
    return recomputed.chapter(None).cells


def test_the_configurations_are_those_of_the_memorandum() -> None:
    assert [(item.cpus, item.core_kwords, item.users) for item in SYSTEMS.values()] == [
        (1, 256, 40),
        (1, 384, 41),
        (2, 384, 48),
    ]


def test_the_identity_holds_to_the_printed_digit(arithmetic: tuple[Cell, ...]) -> None:
    """Each of three tables follows from the other two, in all thirteen events that are printed."""
    assert {cell.verdict for cell in arithmetic} == {"agrees"}
    off = recomputed.identity_deviations()
    assert max(map(abs, off.values())) == pytest.approx(0.039, abs=0.001)


def test_the_identity_needs_the_column_of_its_own() -> None:
    """The canary: with the overheads of another configuration the same check must miss."""
    for item, other in ((SMALL, FULL), (FULL, SMALL)):
        for event in ("page_fault", "drum_interrupt", "getwork"):
            share = recomputed.share(value_of(OVERHEAD, other, event), value_of(BETWEEN, item, event))
            row = {"configuration": item.name, "event": event}
            crossed = PAPER.recomputed(CAPACITY, row, QUANTITIES[CAPACITY], exact(share, "%", 2))
            assert crossed.verdict == "misses"
            deviation = abs(crossed.ours - (crossed.published or 0.0))
            assert PAPER.claim("identity", {"deviations": [deviation]}).holds is False


def test_golden(arithmetic: tuple[Cell, ...], request: pytest.FixtureRequest) -> None:
    """Did it change? Whether it is right is asked by the other tests. `--update-golden` writes it anew."""
    names = ("table1_capacity", "table2_time_between_events", "table3_overhead_time", "facts")
    shown = [
        table
        for name in names
        for table in published_tables.tables(name, name, [cell for cell in arithmetic if cell.table == name])
    ]
    chapter = recomputed.chapter(None)
    section = Section(
        name="recomputed", title="Recomputed", summary=chapter.summary, tables=(*chapter.tables, *shown)
    )
    text = render_section(section, "text")
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert GOLDEN.exists(), f"{GOLDEN}: run pytest {__file__} --update-golden"
    assert GOLDEN.read_text(encoding="utf-8") == text


def test_what_decides_a_doubt() -> None:
    chapter = recomputed.doubts(None)
    checks.doubts_have_values(chapter)
    evidence = {str(row[0]): str(row[2]) for row in chapter.tables[0].rows}
    gates = evidence["two lines of gate faults in Table 2"]
    assert "the first gives 3.4, 3.7, 2.5 %; the second gives 3.7, 13.4, 2.5 %" in gates
    assert "Table 1 has 3.4 and 2.5 %" in gates
    assert "MPM117 is missing" in evidence["runs"]
    assert (
        "99.8 % with 1 CPU, 256K, 100.0 % with 2 CPUs, 384K" in evidence["sum of the first column of Table 1"]
    )


def test_every_cell_is_computed_whether_it_is_printed_or_not(outcome: Outcome) -> None:
    cells = checks.computed(outcome, (CAPACITY, CONFIGURATIONS, BETWEEN, OVERHEAD))
    assert {cell.row["configuration"] for cell in cells if cell.published is None} == {LARGE.name}
    assert {cell.table for cell in outcome.cells} == set(outcome.study.tables)


def test_the_capacity_of_each_configuration_is_all_of_it(outcome: Outcome) -> None:
    cells = checks.computed(outcome, (CAPACITY,))
    for name in SYSTEMS:
        shares = [cell.ours for cell in cells if cell.row["configuration"] == name]
        assert len(shares) == len(STATES)
        assert sum(shares) == pytest.approx(100.0, abs=1e-6)


def test_the_meters_agree_with_the_simulation(outcome: Outcome) -> None:
    """Exact: the log of a run holds its counts and times."""
    claims = {claim.id: claim for claim in outcome.claims}
    for name in ("meters-tell", "meters-identity", "identity"):
        assert claims[name].holds, claims[name]


def test_steps_add_up_to_the_whole_difference() -> None:
    """On the same work the sum of the steps is the difference of the ends, whatever the machine does."""
    ends = mechanisms.whole()
    along = mechanisms.steps()
    assert along[0].before == ends.before == SMALL.parameters
    assert along[-1].after == ends.after == FULL.parameters
    for one, other in pairwise(along):
        assert one.after == other.before


def test_json_claims_and_report_are_complete(outcome: Outcome) -> None:
    checks.json_has_the_fields(outcome)
    checks.claims_have_statistics(outcome)
    checks.report_is_consistent(outcome)


def test_a_cell_that_misses_says_why(outcome: Outcome) -> None:
    notes = next(chapter.notes for part, chapter in outcome.chapters if part.name == "capacity")
    for table in (CAPACITY, BETWEEN, OVERHEAD):
        missed = [cell for cell in outcome.cells if (cell.table, cell.verdict) == (table, "misses")]
        assert len(notes.get(table, ())) == len(missed)


def test_one_table_is_that_table_by_its_number_too() -> None:
    alone = run(load(NAME), Settings(replications=2, scale=0.1), "3")
    assert {cell.table for cell in alone.cells} == {OVERHEAD}
    assert {cell.kind for cell in alone.cells} == {"arithmetic", "fitted"}
    assert alone.claims == ()


def test_eligible_processes_go_through_table_1() -> None:
    for item in SYSTEMS.values():
        assert capacity_planning.eligible(item.cpus, item.core_kwords) == pytest.approx(item.eligible)


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    """Two replications at full length."""
    return load(NAME).begin(Settings(replications=2))


def off_by(laboratory: Laboratory, parameters: Mapping[str, Any]) -> dict[str, float]:
    """Relative difference from Table 3 of each rising overhead on 2 CPUs with 384K."""
    off = {}
    for event in mechanisms.RISING:
        ours = 1000.0 * compared(laboratory, parameters, f"{event}_overhead_s").mean()
        off[event] = ours / value_of(OVERHEAD, FULL, event) - 1.0
    return off


def test_two_processors_are_predicted_from_one(laboratory: Laboratory) -> None:
    """Every line of Table 1 and the time between page faults agree, and so do the rising overheads.

    Means of two hours have standard errors of a tenth of the tolerances: one seed in a thousand fails.
    Segment faults are the exception among the times of Table 2, and not tested.
    """
    for state in STATES:
        row = {"configuration": FULL.name, "event": state}
        ours = simulated(laboratory, CAPACITY, FULL, state)
        assert PAPER.simulated(CAPACITY, row, QUANTITIES[CAPACITY], ours).verdict == "agrees", state
    row = {"configuration": FULL.name, "event": "page_fault"}
    between = simulated(laboratory, BETWEEN, FULL, "page_fault")
    assert PAPER.simulated(BETWEEN, row, QUANTITIES[BETWEEN], between).verdict == "agrees"
    assert all(abs(off) < 0.20 for off in off_by(laboratory, FULL.parameters).values())


def test_the_first_trial_is_the_machine_of_the_study(laboratory: Laboratory) -> None:
    """What was tried is compared with it: the same figures, but for the seed and a calibration of its own."""
    as_it_is = trials.trials()[0]
    assert as_it_is.mechanism == trials.AS_IT_IS
    for item, tried in ((SMALL, as_it_is.small_ms), (LARGE, as_it_is.large_ms), (FULL, as_it_is.full[0])):
        ours = simulated(laboratory, BETWEEN, item, "page_fault").value
        assert tried == pytest.approx(ours, rel=0.05), item.name


def test_trials_are_judged_as_cells_of_the_study() -> None:
    """What was measured misses nothing; times and shares beyond the tolerances do, by name."""
    times = [value_of(BETWEEN, FULL, event) for event in EVENTS]
    shares = [value_of(CAPACITY, FULL, state) for state in trials.SHARES]
    measured = value_of(BETWEEN, LARGE, "page_fault")

    def trial(large_ms: float, full: list[float]) -> trials.Trial:
        return trials.Trial(mechanism="x", small_ms=17.2, large_ms=large_ms, full=tuple(full))

    assert trial(measured, times + shares).missed == ()
    assert trial(1.19 * measured, times + shares).reaches
    assert not trial(0.79 * measured, times + shares).reaches
    wrong = trial(measured, [1.21 * times[0], *times[1:], shares[0] - 8.1, shares[1]])
    assert wrong.missed == ("page_fault", "idle")
    chapter = trials.chapter(None)
    assert len(chapter.tables[0].rows) == len(trials.trials()) + 1


def test_processors_that_never_meet_do_not_cost_what_was_measured(laboratory: Laboratory) -> None:
    """The canary: without interference and lockout page faults and drum interrupts are far too cheap."""
    alone = FULL.parameters | mechanisms.NO_INTERFERENCE | mechanisms.NO_LOCKS
    off = off_by(laboratory, alone)
    assert max(off["page_fault"], off["drum_interrupt"]) < -0.35


def test_the_readme_names_the_parts(outcome: Outcome) -> None:
    readme = (outcome.study.paper.folder / "README.md").read_text(encoding="utf-8")
    parts = {
        name.strip() for row in re.findall(r"^\| ([a-z, -]+) \|", readme, re.M) for name in row.split(",")
    }
    assert {part.name for part in outcome.study.paper.parts} - {"configuration"} <= parts
