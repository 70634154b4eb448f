"""What must be known before relying on the analysis of an experiment."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.experiment.data import Data
    from thinktime.analyses.experiment.result import Experiment

__all__ = ["experiment_caveats"]

FEW_REPLICATIONS = 4


def experiment_caveats(result: Experiment, data: Data) -> tuple[str, ...]:
    """Sentences, the gravest first."""
    return tuple(
        text
        for text in (
            *_left_out(result, data),
            _interactions(result),
            *_errors(result),
            _scores(result),
            _many(result),
            _few(result),
        )
        if text
    )


def _left_out(result: Experiment, data: Data) -> list[str]:
    found = []
    cells = math.prod(len(factor.levels) for factor in result.factors)
    if missing := cells - len(result.cells):
        found.append(
            f"{missing} of {cells} cells have no observation: main effects are compared over unlike cells, "
            "and interactions are tested as far as the cells allow."
        )
    if data.not_measured:
        found.append(f"{data.not_measured} runs without a value of {data.response} are left out.")
    if data.blocks_incomplete:
        found.append(
            f"{data.blocks_incomplete} replications that lack some of the cells are left out, "
            "so that every block holds every cell."
        )
    return found


def _interactions(result: Experiment) -> str:
    together = [item.name for item in result.sources if item.significant and len(item.factors) > 1]
    if not together:
        return ""
    named = ", ".join(together)
    return (
        f"Factors act together ({named}): the effect of one depends on the level of the other. "
        "Read the cells before the means of single levels."
    )


def _errors(result: Experiment) -> list[str]:
    found = []
    uneven = result.equal_variances
    if not isinstance(uneven, NotApplicable) and uneven.rejected():
        text = (
            f"The errors vary more in some cells than in others (p = {uneven.p:.2g}), which F tests with one "
            "error for all do not know"
        )
        found.append(f"{text}; intervals of differences between blocks do." if result.blocked else f"{text}.")
    skewed = result.normality
    if not isinstance(skewed, NotApplicable) and skewed.rejected():
        found.append(
            f"The errors are not normal (p = {skewed.p:.2g}): small p values are approximate; the rule that "
            f"a mean square counts from {result.multiple:g} times the error's on asks for no normality."
        )
    return found


def _scores(result: Experiment) -> str:
    named = [factor.name for factor in result.factors if not factor.numeric and len(factor.levels) > 2]
    if not named:
        return ""
    return (
        f"Levels of {', '.join(named)} are names: linear and quadratic contrasts take them as equally far "
        "apart in the order given."
    )


def _many(result: Experiment) -> str:
    tests = len(result.sources)
    if tests < 4:
        return ""
    chance = 1.0 - (1.0 - result.significance) ** tests
    return (
        f"{tests} effects are tested, each with a false-alarm rate of {100 * result.significance:g} %: "
        f"if there were none at all, one or more would still be found with a probability of about "
        f"{100 * chance:.0f} %."
    )


def _few(result: Experiment) -> str:
    if result.replications[0] >= FEW_REPLICATIONS:
        return ""
    return (
        f"With {result.replications[0]} replications of a cell the checks of the errors see little, and the "
        "intervals of single cells are wide."
    )
