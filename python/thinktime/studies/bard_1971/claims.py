"""Claims of the paper, and whether they hold here."""

from __future__ import annotations

from thinktime.studies.bard_1971 import (
    costs,
    free_fret_claims,
    load_claims,
    overhead_claims,
    saturation_claims,
)
from thinktime.studies.bard_1971.free_fret_claims import significance_table
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter


def chapter(laboratory: Laboratory) -> Chapter:
    """Every claim of the paper, with the statistic by which it is judged."""
    claims = (
        *overhead_claims.claims(laboratory),
        *costs.claims(laboratory),
        *load_claims.claims(laboratory),
        *saturation_claims.claims(laboratory),
        *free_fret_claims.claims(laboratory),
    )
    held = sum(claim.holds is True for claim in claims)
    summary = (f"Of {len(claims)} conclusions, {held} hold on the simulated installation.",)
    return Chapter(claims=claims, summary=summary, tables=(significance_table(laboratory),))
