"""Work done per second as the load grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.errors import InputError, offered
from thinktime.questions.definition import Question, log_names, option

if TYPE_CHECKING:
    from thinktime.analyses.throughput.analysis import Throughput
    from thinktime.analyses.throughput.comparison import ThroughputComparison
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputOptions:
    """Options of the question about throughput."""

    by: str | None = option(
        None,
        "--by",
        "Measure of load: a column of the samples, or population for the users who played. Default: the "
        "users who played, otherwise the first column with the role load that varies.",
        metavar="COLUMN",
    )
    width: int | None = option(
        None, "--width", "Loads per group; 2 gives 1 to 2, 3 to 4, ...", metavar="N", least=1
    )
    few: int = option(
        10, "--few", "Mark means of loads with fewer observations as unreliable.", metavar="N", least=2
    )
    whole: bool = option(
        False,
        "--whole",
        "Also print means over whole logs next to those at equal load, and why they must not be compared.",
    )


class ThroughputQuestion(Question):
    """How much work gets done as the load grows?"""

    name = "throughput"
    summary = "Show how much work gets done as the load grows."
    description = (
        "Intervals are grouped by load and means are taken within each group (Bard 1971). Several logs are "
        "compared at equal load: at each load, and at one common distribution of loads, with tests."
    )
    examples = (
        "run --by active_users --width 2",
        "run --format csv > throughput.csv",
        "before after --whole",
    )
    accepts = "logs"
    options = ThroughputOptions

    def analyse(self, log: Log, options: ThroughputOptions) -> Throughput | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.throughput.analysis import analyse
        from thinktime.log import LogError

        _check_load(log, options.by)
        try:
            return analyse(log, load=options.by, width=options.width, n_few=options.few)
        except LogError:
            raise
        except InputError as error:
            raise InputError(f"--{error}") from None

    def section(self, result: Throughput | NotApplicable, options: ThroughputOptions) -> Section:
        """Section of the result."""
        from thinktime.analyses.throughput.section import section

        return section(result, whole=options.whole)

    def compare(
        self, logs: Sequence[Log], options: ThroughputOptions
    ) -> ThroughputComparison | NotApplicable:
        """Throughput of several logs at equal load."""
        from thinktime.analyses.throughput.comparison import compare
        from thinktime.log import LogError

        for log in logs:
            _check_load(log, options.by)
        try:
            return compare(logs, log_names(logs), load=options.by, width=options.width, n_few=options.few)
        except LogError:
            raise
        except InputError as error:
            raise InputError(f"--{error}") from None

    def comparison_section(
        self, result: ThroughputComparison | NotApplicable, options: ThroughputOptions
    ) -> Section:
        """Section of the comparison."""
        from thinktime.analyses.throughput.comparison_section import section

        return section(result, whole=options.whole)


def _check_load(log: Log, by: str | None) -> None:
    """Refuse a load that no source could have recorded."""
    columns = [column.name for column in log.schema("samples") if column.kind in ("counter", "gauge")]
    if by is not None and by not in (*columns, "population"):
        loads = ["population", *log.columns_with("load")]
        names = dict.fromkeys([*loads, *columns])
        raise InputError(f"--by {by}: {log.path} has no such column; {offered(by, names)}")
