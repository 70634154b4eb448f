"""The page of an experiment: what was found of each response, then the analyses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from thinktime.analyses.experiment import sentences, words
from thinktime.analyses.experiment.section import section
from thinktime.documents import format as shown
from thinktime.documents.document import Document, Finding
from thinktime.documents.wording import listed
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.experiment.result import Experiment
    from thinktime.log.runs import Runs

SENTENCES_MAX = 3
"""Sentences on one response among the findings; its section has the others."""


def document(runs: Runs, results: Mapping[str, Experiment | NotApplicable]) -> Document:
    """Document of the analyses of `runs`, one of each response."""
    factors = [words.factor(name) for name in runs.factors]
    return Document(
        title=f"Effect of the {listed(factors)} on {words.system(runs.system)}",
        subtitle=f"{_shape(runs)}: {shown.count(len(runs.cells), 'cell')}, each "
        f"{'simulated' if runs.is_simulated else 'run'} {_replicated(results)}.",
        findings=_findings(results),
        sections=tuple(section(name, result) for name, result in results.items()),
        facts=_facts(runs),
    )


def _shape(runs: Runs) -> str:
    levels = [str(len(values)) for values in runs.factors.values()]
    return (
        f"A {' × '.join(levels)} factorial experiment" if len(levels) > 1 else "An experiment with one factor"
    )


def _findings(results: Mapping[str, Experiment | NotApplicable]) -> tuple[Finding, ...]:
    """Findings on each response, and one on the responses without significant effects."""
    findings, without = [], []
    for name, result in results.items():
        link = f"experiment-{name}"
        if isinstance(result, NotApplicable):
            findings.append(Finding(section(name, result).not_applicable, section=link))
        elif any(item.significant for item in result.sources):
            said = sentences.findings(result)
            kept = said if len(said) <= SENTENCES_MAX else [*said[: SENTENCES_MAX - 1], said[-1]]
            findings.append(Finding(" ".join(kept), section=link))
        else:
            without.append(words.response(name))
    if without:
        findings.append(Finding(f"No factor has a significant effect on the {listed(without, 'or')}."))
    return tuple(findings)


def _replicated(results: Mapping[str, Experiment | NotApplicable]) -> str:
    counts = [result.replications for result in results.values() if not isinstance(result, NotApplicable)]
    if not counts:
        return "several times"
    least, most = min(low for low, _ in counts), max(high for _, high in counts)
    return f"{least} times" if least == most else f"{least} to {most} times"


def _facts(runs: Runs) -> tuple[tuple[str, str], ...]:
    workloads = "the same in every cell" if runs.common_random_numbers else "different in every cell"
    return (
        ("System", words.system(runs.system)),
        *(
            (f"Factor {name}", "; ".join(words.level(name, level) for level in levels))
            for name, levels in runs.factors.items()
        ),
        *((name, _written(value)) for name, value in runs.parameters.items()),
        ("Seed", str(runs.seed)),
        ("Workload of a replication", workloads),
        ("Runs", str(runs.path)),
    )


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
