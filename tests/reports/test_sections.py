"""Each section says what its result says: figures of hand-made results must be found in the words and "
"tables."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import Any

import handmade_results
import pytest

from thinktime import reports
from thinktime.analyses import question
from thinktime.analyses.recording import analysis as recording
from thinktime.analyses.users import analysis as users
from thinktime.documents import format as shown
from thinktime.documents.document import Section
from thinktime.documents.render import text as render_text
from thinktime.log import Log
from thinktime.questions.results import Result
from thinktime.reports.cards import highlights
from thinktime.reports.summary import findings
from thinktime.reports.summary_facts import LogFacts
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable

NAMES = tuple(handmade_results.make_all())


def made(name: str, result: object | None = None) -> Section:
    asked = question(name)
    return asked.section(handmade_results.make_all()[name] if result is None else result, asked.options())


def said(section: Section) -> str:
    return " ".join(render_text.render_section(section).split())


@pytest.mark.parametrize("name", NAMES)
def test_a_result_that_does_not_apply_says_why_and_what_to_do(name: str, log: Log) -> None:
    section = made(name, NotApplicable("the log has no samples", "record one"))
    assert section.not_applicable == "The log has no samples. Record one."
    assert not section.tables
    assert not section.figures


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_can_be_drawn_and_has_words_and_data(name: str) -> None:
    section = made(name)
    for figure in section.figures:
        assert figure.chart()["$schema"]
        assert len(figure.alt) > 20
        assert figure.data.rows


@pytest.mark.parametrize("name", NAMES)
def test_every_estimate_of_the_result_stands_in_the_report(name: str) -> None:
    """No interval is lost on the way: each estimate's value is in some cell, sentence or words."""
    allowed = {
        "textbook",
        "bootstrap",
        "non_negative",
        "robust",
        "growth",
        "reaction",
        "variance",
        "first_output",
    }
    section = made(name)
    cells = [cell for table in section.tables for row in table.rows for cell in row]
    cells += [cell for figure in section.figures for row in figure.data.rows for cell in row]
    values = {cell.value for cell in cells if isinstance(cell, Estimate)}
    text = said(section)
    for estimate in estimates(handmade_results.make_all()[name], allowed):
        forms = {shown.estimate(estimate), shown.estimate(replace(estimate, unit="share"))}
        forms.add(shown.quantity(estimate.value, "share"))
        printed = any(" ".join(form.split()) in text for form in forms)
        assert estimate.value == 0 or estimate.value in values or printed, estimate


def estimates(value: Any, left_out: set[str]) -> list[Estimate]:
    if isinstance(value, Estimate):
        return [value]
    if isinstance(value, tuple):
        return [item for part in value for item in estimates(part, left_out)]
    if isinstance(value, dict):
        return [item for part in value.values() for item in estimates(part, left_out)]
    if is_dataclass(value):
        return [
            item
            for field in fields(value)
            if field.name not in left_out
            for item in estimates(getattr(value, field.name), left_out)
        ]
    return []


@pytest.mark.parametrize("name", NAMES)
def test_caveats_are_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = getattr(import_module(f"thinktime.analyses.{name}.section"), "WORDS", None)
    caveat: Caveat | str = "Beware of the dog."
    if words is not None:
        monkeypatch.setitem(words, "dog", lambda name: f"Beware of the {name}.")
        caveat = Caveat("dog", name="dog")
    marked = replace(handmade_results.make_all()[name], caveats=(caveat,))  # type: ignore[type-var]
    assert "Beware of the dog." in made(name, marked).caveats


def test_capacity_says_how_much_was_used() -> None:
    text = said(made("capacity"))
    assert "63.0 % of the CPU time was used: 44.0 % by user programs, 19.0 % by the system" in text
    assert "minor page faults 9.00 % and forks 4.00 %" in text


def test_overhead_sets_the_direct_measurement_beside_the_regression() -> None:
    text = said(made("overhead"))
    assert "fork 400 ± 20 µs" in text
    assert "fork 408 ± 20 µs (the intervals overlap)" in text
    assert "minor page fault 4.08 ± 0.20 µs (the regression gives 0.980 times that)" in text
    figure = next(figure for figure in made("overhead").figures if figure.name == "overhead-costs")
    assert {key.name for key in figure.keys} == {"by regression", "measured directly"}


def test_a_cost_below_zero_is_in_the_table_and_not_on_a_logarithmic_axis() -> None:
    result = handmade_results.make_overhead()
    below = replace(
        result.costs[1],
        seconds=Estimate(value=-1e-6, unit="s/fork", n=9, method="regression", low=-2e-6, high=-0.5e-6),
    )
    section = made("overhead", replace(result, costs=(*result.costs[:1], below, *result.costs[2:])))
    figure = next(figure for figure in section.figures if figure.name == "overhead-costs")
    data = {"all": figure.chart()["data"]["values"]}
    assert all(row["value"] > 0 for rows in data.values() for row in rows if "value" in row)
    assert any("−1.00 ± " in part or "−1.00 (" in part for part in [said(section)])


def test_response_speaks_only_of_loads_with_enough_interactions() -> None:
    result = handmade_results.make_response()
    lonely = replace(result.by_population[0], response=replace(handmade_results.waiting(9.0), n=3))
    section = made("response", replace(result, by_population=(lonely, *result.by_population[1:])))
    assert "With 2 users the median was" in said(section)
    figure = next(figure for figure in section.figures if figure.name == "response-users")
    assert any(row[0] == "1" for row in figure.data.rows)  # shown all the same


def test_disks_show_sampled_beside_exact_and_measured_beside_the_makers() -> None:
    text = said(made("disks"))
    assert "swap 91.0 ± 4.5 89.9 ± 4.5 1.100 ± 0.055" in text
    assert "Of the blocks requested, 75.0 ± 3.8 % were in the cache." in text
    assert "The CPU was idle while a drive was busy 33.5 ± 1.7 % of the time." in text
    table = next(table for table in made("disks").tables if table.name == "disks-drives")
    names = [column.name for column in table.columns]
    assert table.rows[0][names.index("access, maker's")] == 0.0675
    queue, states = made("disks").figures
    assert len(queue.data.rows) == 6
    assert queue.data.rows[-1][0] == "5 and more"
    drawn = [layer["data"]["values"] for layer in queue.chart()["layer"]]
    assert [len(rows) for rows in drawn] == [6, 6]
    assert [row[:2] for row in states.data.rows[:2]] == [("user", "no drive busy"), ("user", "swap busy")]


def test_parts_of_the_disks_can_be_asked_for_alone() -> None:
    from thinktime.analyses.disks.section import TOPICS, section

    result = handmade_results.make_disks()
    whole = section(result)
    alone = [section(result, [part]) for part in TOPICS]
    assert sorted(table.name for one in alone for table in one.tables) == sorted(
        table.name for table in whole.tables
    )
    assert sorted(figure.name for one in alone for figure in one.figures) == sorted(
        figure.name for figure in whole.figures
    )
    queue = section(result, ["queue"])
    assert [table.name for table in queue.tables] == ["disks-queue", "disks-lengths"]
    assert len(queue.summary) == 1


def test_what_a_log_cannot_tell_of_its_disks_stands_in_the_report() -> None:
    from thinktime.analyses.disks.section import section

    none = NotApplicable("nothing looked", "look")
    result = replace(handmade_results.make_disks(), matrix=none, hit_ratio=none)
    absent = next(table for table in section(result).tables if table.name == "disks-absent")
    assert [row[0] for row in absent.rows] == ["CPU state by drive state", "cache hits"]
    assert section(result, ["matrix"]).not_applicable == "Nothing looked. Look."


def evidence(log: Log, **other: object) -> LogFacts:
    analysed = {"recording": recording.analyse(log), "users": users.analyse(log)}
    facts = LogFacts.of({**handmade_results.make_all(), **analysed, **other})
    assert facts is not None
    return facts


def test_the_findings_tell_the_story(log: Log) -> None:
    told = " ".join(" ".join(finding.text.split()) for finding in findings(evidence(log)))
    for part in (
        "were busy 63.0 % of the time: 44.0 % in user programs, 19.0 % in the system",
        "limit is the CPU, exhausted in 31.0 ± 1.",
        "idle while a drive was busy 33.5 ± 1.7 % of the time, with 2.57 ± 0.13 requests at the controller",
        "a fork costs 400 ± 20 µs",
        "Measured directly in the same run: minor page fault 4.08 ± 0.20 µs",
        "The median response time with 12 users is 1.569 ± 0.078 s, the 90th percentile 3.14 ± 0.16 s",
        "The median response time with 12 users is 2.85 ± 0.14 times that with 1 user",
        "Find out who causes the minor page faults: they take 50.0 % of the system's CPU time",
    ):
        assert part in told


def test_what_is_metered_needs_no_regression(log: Log) -> None:
    metered = replace(handmade_results.make_capacity(), metered=True)
    known = evidence(log, capacity=metered)
    told = " ".join(" ".join(finding.text.split()) for finding in findings(known))
    assert "meters, a minor page fault took 4.00 ± 0.20 µs and a fork took 400 ± 20 µs" in told
    assert "the regression explains" not in told
    assert "Find out who causes the minor page faults: they take 47.4 % of the system's CPU time" in told
    card = next(card for card in highlights(known) if card.name == "cost")
    assert (card.label, card.section) == ("CPU time of one minor page fault", "capacity")


def test_a_load_that_saturates_nothing_is_not_called_saturated(log: Log) -> None:
    calm = replace(
        handmade_results.make_saturation(), saturated_share={"cpu": handmade_results.estimate(0.01)}
    )
    known = evidence(log, saturation=calm)
    told = " ".join(finding.text for finding in findings(known))
    assert "does not saturate the machine" in told
    assert next(card for card in highlights(known) if card.name == "limit").value == "nothing"


def test_a_cost_that_may_be_zero_is_no_finding(log: Log) -> None:
    result = handmade_results.make_overhead()
    unsure = tuple(
        replace(cost, seconds=replace(cost.seconds, low=-1e-6)) if cost.request == "forks" else cost
        for cost in result.costs
    )
    told = " ".join(
        finding.text for finding in findings(evidence(log, overhead=replace(result, costs=unsure)))
    )
    assert "a fork costs" not in told
    assert "a minor page fault costs" in told


def test_without_any_result_the_findings_say_what_to_do(log: Log) -> None:
    nothing = {name: NotApplicable("no") for name in NAMES}
    told = findings(evidence(log, **nothing))
    assert any(finding.tone == "next" and "thinktime play" in finding.text for finding in told)
    assert highlights(evidence(log, **nothing)) == ()


@pytest.mark.parametrize("name", [*NAMES, "recording", "users", "timeline"])
def test_every_result_can_be_taken_along(name: str, log: Log) -> None:
    """As strict JSON, as a frame with a row for each record, and as a few lines of text."""
    asked = question(name)
    made = handmade_results.make_all().get(name) or asked.analyse(log, asked.options())
    assert isinstance(made, Result)
    assert json.loads(json.dumps(made.to_dict(), allow_nan=False)).keys() == {
        field.name for field in fields(made)
    }
    frame = made.to_frame()
    assert frame.height == (len(getattr(made, made.MAIN)) if made.MAIN else max(1, frame.height))
    assert frame.width == len(set(frame.columns)) > 1
    assert max(map(len, repr(made).splitlines())) < 110


def test_findings_link_to_sections_that_are_there(log: Log) -> None:
    document = reports.build([log])
    names = {section.name for section in document.sections}
    for item in (*document.findings, *document.highlights):
        assert item.section == "" or item.section in names
