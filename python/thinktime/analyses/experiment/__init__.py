"""Effect of each factor of a designed experiment on each response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thinktime.errors import InputError
from thinktime.questions.definition import Question, option

if TYPE_CHECKING:
    from thinktime.analyses.experiment.result import Experiment
    from thinktime.documents.document import Document
    from thinktime.log import Log
    from thinktime.log.runs import Runs
    from thinktime.stats.estimate import NotApplicable


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentOptions:
    """Options of the analysis of an experiment."""

    responses: tuple[str, ...] = option(
        (),
        "--response",
        "Analyse this response only; repeatable.",
        metavar="NAME",
        repeated=True,
    )


class ExperimentQuestion(Question):
    """What effect does each factor of an experiment have?"""

    name = "experiment"
    summary = "Estimate the effect of each factor of an experiment."
    description = "Analysis of variance of each response over the cells and replications of a design."
    examples = ("scheduling", "scheduling --response mean_response_s --format json | jq '.findings'")
    accepts = "runs"
    options = ExperimentOptions
    in_report = False

    def open(self, paths: Sequence[Path]) -> Sequence[Runs]:
        """Runs in the folder that was named."""
        from thinktime.log.runs import Runs

        if len(paths) > 1:
            raise InputError(f"{self.name}: {len(paths)} folders of runs are given; give one")
        return (Runs.open(paths[0]),)

    def logs(self, inputs: Sequence[Runs]) -> Sequence[Log]:
        """Logs of the cells."""
        return tuple(cell.log() for runs in inputs for cell in runs if cell.exists)

    def results(
        self, runs: Sequence[Runs], options: ExperimentOptions
    ) -> dict[str, Experiment | NotApplicable]:
        """Analysis of variance of each response, by its name."""
        from thinktime.analyses.experiment.analysis import results

        return results(runs[0], options.responses)

    def answer(self, logs: Sequence[Runs], options: ExperimentOptions | None = None) -> Document:
        """Document with a section for each response."""
        from thinktime.analyses.experiment.page import document

        return document(logs[0], self.results(logs, options or ExperimentOptions()))
