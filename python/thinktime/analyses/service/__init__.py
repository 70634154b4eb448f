"""Service times, and the distributions fitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thinktime.questions.definition import Question, option, with_result

if TYPE_CHECKING:
    from thinktime.analyses.service.analysis import Service
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """Options of the question about service times."""

    fit: Path | None = option(
        None,
        "--fit",
        "Fit distributions to the service times, overall and by class, and write the best to FILE in TOML, "
        "for a simulation.",
        metavar="FILE",
    )


class ServiceQuestion(Question):
    """How much service does an input need?"""

    name = "service"
    summary = "Show how much service an input needs."
    description = "Service times and their concentration; with --fit, distributions fitted to them."
    examples = ("run", "run --fit service.toml")
    options = ServiceOptions
    folded = True

    def analyse(self, log: Log, options: ServiceOptions) -> Service | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.service.analysis import analyse

        return analyse(log)

    def section(self, result: Service | NotApplicable, options: ServiceOptions) -> Section:
        """Section of the result."""
        from thinktime.analyses.service.section import section

        return section(result)

    def answer(self, logs: Sequence[Log], options: ServiceOptions | None = None) -> Section:
        """Section of the service times, with the fits if they are requested."""
        from thinktime.analyses.service.fit import analyse
        from thinktime.analyses.service.section import extended

        (log,) = logs
        chosen = options or ServiceOptions()
        result = self.analyse(log, chosen)
        section = with_result(self.section(result, chosen), result)
        return section if chosen.fit is None else extended(section, analyse(log))

    def writes(self, path: Path, options: ServiceOptions) -> bool:
        """True if `path` is the file of the fits."""
        return path == options.fit

    def files(self, logs: Sequence[Log], options: ServiceOptions) -> Mapping[Path, str]:
        """Fitted distributions in TOML.

        Raises
        ------
        WorkError
            The log has no service times that can be fitted.
        """
        from thinktime.analyses.service.fit import analyse, toml
        from thinktime.errors import WorkError
        from thinktime.stats.estimate import NotApplicable

        (log,) = logs
        if options.fit is None:
            return {}
        result = analyse(log)
        if isinstance(result, NotApplicable):
            raise WorkError(f"{log.path}: {result.reason}; {result.remedy}")
        return {options.fit: toml(result, str(log.path))}
