"""Each section says what its result says: figures of the result must be found in the words and tables."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import synthetic_machine

from thinktime import reports
from thinktime.analyses import QUESTIONS, question
from thinktime.analyses.disks.section import TOPICS
from thinktime.analyses.disks.section import section as disks_section
from thinktime.analyses.overhead import analysis as overhead
from thinktime.analyses.overhead.claims import judged
from thinktime.documents import format as shown
from thinktime.documents import palette
from thinktime.documents.document import Section
from thinktime.documents.render import text as render_text
from thinktime.documents.wording import bare, worded
from thinktime.log import Log
from thinktime.reports.cards import highlights
from thinktime.reports.summary import findings
from thinktime.reports.summary_facts import LogFacts
from thinktime.results import Result
from thinktime.stats.estimate import Estimate, NotApplicable

Answers = dict[str, Any]
"""Result of every question of the report, by name."""
NAMES = tuple(question.name for question in QUESTIONS if question.in_report)
UNSHOWN = {
    "whole",
    "per_event",
    "growth",
    "textbook",
    "bootstrap",
    "non_negative",
    "robust",
    "reaction",
    "variance",
    "first_output",
}
"""Fields of results that the report leaves out: means of the whole log stand in it only on request, and the
times of an interaction per event without the first component."""


def section_of(name: str, result: object) -> Section:
    asked = question(name)
    return asked.section(result, asked.options())


def text_of(section: Section) -> str:
    return " ".join(render_text.render_section(section).split())


def share(value: float) -> str:
    return " ".join(shown.quantity(value, "share").split())


def number(value: Estimate) -> str:
    return " ".join(shown.estimate(value).split())


@pytest.mark.parametrize("name", [name for name in NAMES if name != "recording"])
def test_a_result_that_does_not_apply_says_why_and_what_to_do(name: str) -> None:
    """Of every log it can be said how good the recording is."""
    section = section_of(name, NotApplicable("the log has no samples", "record one"))
    assert section.not_applicable == "The log has no samples. Record one."
    assert not section.tables
    assert not section.figures


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_can_be_drawn_and_has_words_and_data(name: str, results: Answers) -> None:
    section = section_of(name, results[name])
    for figure in section.figures:
        assert figure.chart()["$schema"]
        assert len(figure.alt) > 20
        assert figure.data.rows


@pytest.mark.parametrize("name", NAMES)
def test_a_state_has_one_colour_in_all_figures(name: str, results: Answers) -> None:
    keys = [key for figure in section_of(name, results[name]).figures for key in figure.keys]
    css = Path(reports.__file__).parents[1] / "documents" / "render" / "page" / "report.css"
    for key in keys:
        assert key.colour == palette.STATES.get(key.name, key.colour)
        assert f"--c-{key.colour}:" in css.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_every_estimate_of_the_result_stands_in_the_report(name: str, results: Answers) -> None:
    """No interval is lost on the way: each estimate's value is in some cell, sentence or words."""
    section = section_of(name, results[name])
    cells = [cell for table in section.tables for row in table.rows for cell in row]
    cells += [cell for figure in section.figures for row in figure.data.rows for cell in row]
    values = {cell.value for cell in cells if isinstance(cell, Estimate)}
    text = text_of(section)
    for estimate in estimates(results[name]):
        forms = {shown.estimate(estimate), shown.estimate(replace(estimate, unit="share"))}
        forms.add(shown.quantity(estimate.value, "share"))
        printed = any(" ".join(form.split()) in text for form in forms)
        assert estimate.value == 0 or estimate.value in values or printed, estimate


def estimates(value: Any) -> list[Estimate]:
    if isinstance(value, Estimate):
        return [value]
    if isinstance(value, tuple):
        return [item for part in value for item in estimates(part)]
    if isinstance(value, dict):
        return [item for part in value.values() for item in estimates(part)]
    if is_dataclass(value):
        return [
            item
            for field in fields(value)
            if field.name not in UNSHOWN
            for item in estimates(getattr(value, field.name))
        ]
    return []


@pytest.mark.parametrize("name", NAMES)
def test_caveats_are_kept(name: str, results: Answers) -> None:
    result = results[name]
    module = import_module(f"thinktime.analyses.{name.replace('-', '_')}.section")
    texts = worded(result.caveats, getattr(module, "WORDS", {}))
    assert set(texts) <= set(section_of(name, result).caveats)
    silent = section_of(name, replace(result, caveats=()))
    assert not set(texts) & set(silent.caveats)


def test_capacity_says_how_much_was_used(synthetic: Answers) -> None:
    result = synthetic["capacity"]
    text = text_of(section_of("capacity", result))
    user, system = result.user.value, result.system.value
    used = f"{share(user + system)} of the CPU time was used"
    assert f"{used}: {share(user)} by user programs, {share(system)} by the system" in text
    shares = {event.request: share(event.share.value) for event in result.events}
    # A fork has no single cost: it is in the table alone.
    faults, switches = shares["page_faults_minor"], shares["context_switches"]
    assert f"minor page faults {faults} and context switches {switches}" in text


def test_overhead_sets_the_direct_measurement_beside_the_regression(tmp_path: Path) -> None:
    # Of the direct costs of the synthetic machine, that of a minor page fault is made half too high.
    frames = synthetic_machine.make()
    (fault,) = (row for row in frames.session["direct_costs"] if row["request"] == "page_faults_minor")
    fault |= {end: 1.5 * fault[end] for end in ("seconds", "low", "high")}
    result = overhead.analyse(Log.open(synthetic_machine.write(tmp_path / "log", frames)))
    assert not isinstance(result, NotApplicable)
    costs = {cost.request: cost for cost in result.costs}
    fork, fault_cost = costs["forks"], costs["page_faults_minor"]
    assert fork.direct is not None
    assert fault_cost.direct is not None
    section = section_of("overhead", result)
    text = text_of(section)
    assert f"fork {number(bare(fork.seconds))}" in text
    assert f"fork {number(bare(fork.direct.seconds))} (no further apart than by chance)" in text
    # The synthetic machine adds 2 % to the direct costs.
    assert fault_cost.direct.ratio == pytest.approx(1 / (1.02 * 1.5), rel=0.02)
    direct, ratio = number(bare(fault_cost.direct.seconds)), shown.number(fault_cost.direct.ratio)
    assert f"minor page fault {direct} (the regression gives {ratio} times that)" in text
    figure = next(figure for figure in section.figures if figure.name == "overhead-costs")
    assert {key.name for key in figure.keys} == {"by regression", "measured directly"}


def test_a_cost_below_zero_is_in_the_table_and_not_on_a_logarithmic_axis(synthetic: Answers) -> None:
    result = synthetic["overhead"]
    # Selection keeps costs that are positive when they enter: it takes a rare log to have one below zero.
    seconds = Estimate(value=-1e-6, unit="s/fork", n=9, method="regression", low=-2e-6, high=-0.5e-6)
    below = replace(result.costs[1], seconds=seconds)
    section = section_of("overhead", replace(result, costs=(*result.costs[:1], below, *result.costs[2:])))
    figure = next(figure for figure in section.figures if figure.name == "overhead-costs")
    values = [row["value"] for row in figure.chart()["data"]["values"] if "value" in row]
    assert values
    assert min(values) > 0
    text = text_of(section)
    assert "−1.00 ± " in text or "−1.00 (" in text


def test_response_speaks_only_of_loads_with_enough_interactions(synthetic: Answers) -> None:
    result = synthetic["response"]
    assert result.by_population[0].response.n < 10 <= result.by_population[1].response.n
    section = section_of("response", result)
    text = text_of(section)
    assert "With 2 users the median was" in text
    assert "With 1 user the median" not in text
    figure = next(figure for figure in section.figures if figure.name == "response-users")
    assert figure.data.rows[0][0] == "1"  # shown all the same


def test_disks_show_sampled_beside_exact_and_measured_beside_the_makers(swapping: Answers) -> None:
    result = swapping["disks"]
    section = section_of("disks", result)
    text = text_of(section)
    hits = number(replace(result.hit_ratio, unit="share"))
    assert f"Of the blocks requested, {hits} were in the cache." in text
    waiting = number(replace(result.cpu.waiting, unit="share"))
    assert f"The CPU was idle while a drive was busy {waiting} of the time." in text
    busy = next(table for table in section.tables if table.name == "disks-busy")
    by_name = {row[0]: row[1:] for row in busy.rows}
    for drive in result.drives:
        compared = drive.utilisation
        assert [cell.value for cell in by_name[drive.name]] == [
            compared.sampled.value,
            compared.exact.value,
            compared.difference.value,
        ]
    drives = next(table for table in section.tables if table.name == "disks-drives")
    names = [column.name for column in drives.columns]
    assert drives.rows[0][names.index("access, maker's")] == result.drives[0].maker.access_s
    queue, states = section.figures
    assert [row[0] for row in queue.data.rows] == [*map(str, range(15)), "15 and more"]
    assert [len(layer["data"]["values"]) for layer in queue.chart()["layer"]] == [16, 16]
    assert [row[:2] for row in states.data.rows[:2]] == [("user", "no drive busy"), ("user", "drive0 busy")]


def test_parts_of_the_disks_can_be_asked_for_alone(swapping: Answers) -> None:
    result = swapping["disks"]
    whole = disks_section(result)
    alone = [disks_section(result, [topic]) for topic in TOPICS]
    assert sorted(table.name for one in alone for table in one.tables) == sorted(
        table.name for table in whole.tables
    )
    assert sorted(figure.name for one in alone for figure in one.figures) == sorted(
        figure.name for figure in whole.figures
    )
    queue = disks_section(result, ["queue"])
    assert [table.name for table in queue.tables] == ["disks-queue", "disks-lengths"]
    assert len(queue.summary) == 1


def test_what_a_log_cannot_tell_of_its_disks_stands_in_the_report(synthetic: Answers) -> None:
    """A log of totals has neither caches nor states of drives."""
    result = synthetic["disks"]
    absent = next(table for table in disks_section(result).tables if table.name == "disks-absent")
    assert {"CPU state by drive state", "cache hits"} <= {row[0] for row in absent.rows}
    assert disks_section(result, ["matrix"]).not_applicable.startswith(f"{result.matrix.reason}. Use ")


def facts_of(answers: Answers) -> LogFacts:
    facts = LogFacts.of(answers)
    assert facts is not None
    return facts


def story(answers: Answers) -> str:
    """All findings as one text."""
    return " ".join(" ".join(finding.text.split()) for finding in findings(facts_of(answers)))


def test_the_findings_tell_the_story(synthetic: Answers) -> None:
    text = story(synthetic)
    capacity, response = synthetic["capacity"], synthetic["response"]
    crowd = response.by_population[-1].response
    saturated = synthetic["saturation"].saturated_share["cpu"]
    costs = {cost.request: cost for cost in synthetic["overhead"].costs}
    direct = number(bare(costs["page_faults_minor"].direct.seconds))
    for part in (
        f"were busy {share(capacity.user.value + capacity.system.value)} of the time",
        f"{share(capacity.user.value)} in user programs, {share(capacity.system.value)} in the system",
        f"limit is the CPU, exhausted in {number(replace(saturated, unit='share'))} of the intervals",
        f"a context switch costs {number(bare(costs['context_switches'].seconds))}",
        f"Measured directly in the same run, for comparison: minor page fault {direct}",
        f"median response time with 12 users is {number(crowd.p50)}, the 90th percentile {number(crowd.p90)}",
        f"median response time with 12 users is {number(response.growth)} times that with 2 users",
        "Find out who causes the minor page faults: they take "
        f"{share(costs['page_faults_minor'].share.value)} of the system's CPU time",
        "The longer an input has run, the sooner it is likely to end",
    ):
        assert part in text


def test_waiting_for_drives_is_a_finding(swapping: Answers) -> None:
    disks = swapping["disks"]
    waiting = number(replace(disks.cpu.waiting, unit="share"))
    assert (
        f"idle while a drive was busy {waiting} of the time, with {number(disks.queues[0].mean.exact)} "
        "at the controller" in story(swapping)
    )


def test_what_is_metered_needs_no_regression(paging: Answers) -> None:
    text = story(paging)
    assert isinstance(paging["overhead"], Result)
    assert "the regression explains" not in text
    first, second, *_ = sorted(paging["capacity"].events, key=lambda event: -event.share.value)
    told = [f"a {event.label} took {number(event.overhead)}" for event in (first, second)]
    assert f"According to the meters, {', '.join(told)}" in text
    part = share(first.share.value / paging["capacity"].system.value)
    assert f"Find out who causes the {first.label}s: they take {part} of the system's CPU time" in text
    card = next(card for card in highlights(facts_of(paging)) if card.name == "cost")
    assert (card.label, card.section) == (f"CPU time of one {first.label}", "capacity")


def test_a_load_that_saturates_nothing_is_not_called_saturated(paging: Answers) -> None:
    assert paging["saturation"].saturated_share["cpu"].value < 0.1
    assert "does not saturate the machine" in story(paging)
    assert next(card for card in highlights(facts_of(paging)) if card.name == "limit").value == "nothing"


def test_a_cost_that_may_be_zero_is_no_finding(synthetic: Answers) -> None:
    result = synthetic["overhead"]
    unsure = tuple(
        replace(cost, seconds=replace(cost.seconds, low=-1e-6))
        if cost.request == "context_switches"
        else cost
        for cost in result.costs
    )
    assert "a context switch costs" in story(synthetic)
    text = story({**synthetic, "overhead": replace(result, costs=judged(unsure, result.timing))})
    assert "a context switch costs" not in text
    assert "a minor page fault costs" in text


def test_without_any_result_the_findings_say_what_to_do(synthetic: Answers) -> None:
    nothing = {name: NotApplicable("no") for name in NAMES} | {"recording": synthetic["recording"]}
    facts = facts_of(nothing)
    assert any(finding.tone == "next" and "thinktime play" in finding.text for finding in findings(facts))
    assert highlights(facts) == ()


@pytest.mark.parametrize("name", NAMES)
def test_every_result_can_be_taken_along(name: str, results: Answers) -> None:
    """As strict JSON, as a frame with a row for each record, and as a few lines of text."""
    result = results[name]
    assert isinstance(result, Result)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)).keys() == {
        field.name for field in fields(result)
    }
    frame = result.to_frame()
    assert frame.height == (len(getattr(result, result.MAIN)) if result.MAIN else max(1, frame.height))
    assert frame.width == len(set(frame.columns)) > 1
    assert max(map(len, repr(result).splitlines())) < 110


def test_findings_link_to_sections_that_are_there(log: Log) -> None:
    document = reports.build([log])
    names = {section.name for section in document.sections}
    for item in (*document.findings, *document.highlights):
        assert item.section == "" or item.section in names
