"""Page of a designed experiment: its factors, and a section for each response."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from thinktime.analyses.experiment import section as experiment
from thinktime.documents import format as shown
from thinktime.documents.document import Document, Finding
from thinktime.documents.wording import listed
from thinktime.errors import InputError
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.experiment.result import Experiment
    from thinktime.log.runs import Runs


def analysed(runs: Runs, responses: Sequence[str] = ()) -> Document:
    """Document of the analyses of `responses`; see `results`."""
    return document(runs, results(runs, responses))


def results(runs: Runs, responses: Sequence[str] = ()) -> dict[str, Experiment | NotApplicable]:
    """Analyses of `responses`, or of those that the design of `runs` names, or of all, by name.

    Raises
    ------
    InputError
        There is no such response, nothing was varied, or nothing was simulated yet.
    """
    from thinktime.analyses.experiment.analysis import analyse

    if not runs.factors:
        raise InputError(
            f"{runs.path}: is one configuration, in which nothing was varied; run a design instead"
        )
    design = runs.design()
    frame, units = runs.responses(), runs.units
    if not units:
        raise InputError(f"{runs.path}: no cell is finished yet; run the design with --resume")
    names = list(responses) or list(design.responses if design else ()) or list(units)
    if unknown := [name for name in names if name not in units]:
        raise InputError(f"{runs.path}: has no response {unknown[0]!r}; there are: {', '.join(units)}")
    blocks = "replication" if runs.common_random_numbers else None
    return {
        name: analyse(
            frame,
            response=name,
            factors=runs.factors,
            blocks=blocks,
            unit=units[name],
            transformation=design.transformation(name) if design else None,
        )
        for name in names
    }


def document(runs: Runs, results: Mapping[str, Experiment | NotApplicable]) -> Document:
    """Document of the analyses of `runs`, one of each response."""
    return Document(
        title=f"Effect of {listed(list(runs.factors))} on {runs.system}",
        subtitle=f"{_shape(runs)}: {shown.count(len(runs.cells), 'cell')}, each simulated "
        f"{_replicated(results)}.",
        findings=_findings(results),
        sections=tuple(experiment.section(name, result) for name, result in results.items()),
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
        section = experiment.section(name, result)
        if not isinstance(result, NotApplicable) and not any(item.significant for item in result.sources):
            without.append(name)
        else:
            findings.append(Finding(section.not_applicable or section.summary[0], section=section.name))
    if without:
        findings.append(Finding(f"No factor has a significant effect on {listed(without, 'or')}."))
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
        ("System", runs.system),
        *((f"Factor {name}", ", ".join(map(str, levels))) for name, levels in runs.factors.items()),
        *((name, _written(value)) for name, value in runs.parameters.items()),
        ("Seed", str(runs.seed)),
        ("Workload of a replication", workloads),
        ("Runs", str(runs.path)),
    )


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
