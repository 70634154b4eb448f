"""Other questions to the overhead regression as they are answered on paper."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic_machine

from thinktime.analyses.overhead import analysis as overhead
from thinktime.analyses.overhead import comparison as overhead_comparison
from thinktime.analyses.overhead import comparison_section as compared
from thinktime.analyses.overhead.omission import omit
from thinktime.analyses.overhead.subtraction import subtract
from thinktime.analyses.overhead.variant_sections import omission_section, subtraction_section
from thinktime.documents.document import Section
from thinktime.documents.render import render_section
from thinktime.log import Log
from thinktime.stats.estimate import NotApplicable


def drawn(section: Section) -> str:
    """Text of the section, all of whose figures can be drawn."""
    for figure in section.figures:
        assert figure.chart()["$schema"]
        assert len(figure.alt) > 20
        assert figure.data.rows
    return " ".join(render_section(section, "text").split())


def test_costs_with_and_without_a_request_stand_side_by_side(log: Log) -> None:
    found = omit(log, ["forks"])
    assert not isinstance(found, NotApplicable)
    section = omission_section(found)
    text = drawn(section)
    assert "Without fork, its cost is charged to the requests that accompany it." in text
    assert "Costs with and without fork" in text
    assert [row[3] for row in section.tables[0].rows] == [cost.ratio for cost in found.costs]


def test_a_part_stands_by_itself_among_the_shares(log: Log) -> None:
    found = subtract(log, ["softirq_s"])
    assert not isinstance(found, NotApplicable)
    section = subtraction_section(found)
    assert "Costs of requests, with and without softirq" in drawn(section)
    assert section.tables[0].rows[-1][0] == "softirq"


def test_costs_of_logs_are_compared_with_their_tests(log: Log, tmp_path: Path) -> None:
    other = Log.open(synthetic_machine.write(tmp_path / "other", synthetic_machine.make(users=10)))
    found = overhead_comparison.compare([log, other], ["before", "after"], drop=["interrupts"])
    assert not isinstance(found, NotApplicable)
    text = drawn(compared.section(found))
    assert "before less" not in text
    assert "after less before" in text
    assert ("are not the same" in text) == found.every.rejected()


@pytest.mark.parametrize("column", ["softirq_s", "context_switches"])
def test_another_target_is_named_wherever_system_time_would_be(log: Log, column: str) -> None:
    from thinktime.analyses.overhead import section

    result = overhead.analyse(log, target=[column], drop=[column])
    assert not isinstance(result, NotApplicable)
    text = drawn(section.section(result))
    assert "system time" not in text.partition("Beware")[0].lower()
    assert result.target in text


def test_a_question_that_the_log_cannot_answer_says_why(log: Log) -> None:
    refused = omit(log, ["page_faults_major"])
    assert isinstance(refused, NotApplicable)
    assert "no cost to drop" in omission_section(refused).not_applicable
