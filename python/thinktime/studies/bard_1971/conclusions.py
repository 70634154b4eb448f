"""What the paper concludes, and whether it holds here."""

from __future__ import annotations

from thinktime.studies.bard_1971 import (
    costs,
    free_fret_findings,
    load_findings,
    overhead_findings,
    saturation_findings,
)
from thinktime.studies.bard_1971.free_fret_findings import significance_table
from thinktime.studies.bard_1971.installation import Installation
from thinktime.studies.study import Chapter

__all__ = ["chapter"]


def chapter(installation: Installation) -> Chapter:
    """Every conclusion of the paper, with the statistic that says whether it holds."""
    findings = (
        *overhead_findings.findings(installation),
        *costs.findings(installation),
        *load_findings.findings(installation),
        *saturation_findings.findings(installation),
        *free_fret_findings.findings(installation),
    )
    held = sum(finding.holds is True for finding in findings)
    summary = (f"Of {len(findings)} conclusions, {held} hold on the simulated installation.",)
    return Chapter(claims=findings, summary=summary, tables=(significance_table(installation),))
