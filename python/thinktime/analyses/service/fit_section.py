"""Which distributions fit the service times: added to the service section when a fit is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Section, Table
from thinktime.documents.wording import capital
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.service.fit import ServiceFit
    from thinktime.stats.distributions.fitting import Fits

__all__ = ["extended"]

METHOD = (
    "Fits: maximum likelihood (hyperexponential by EM, 2 to 5 phases by BIC); p of Kolmogorov and Smirnov's "
    "and of Anderson and Darling's distance by parametric bootstrap, each sample fitted anew; parameters' "
    "intervals from the same samples. The family of least BIC is chosen if its A² has p of 0.05 or more, "
    "else the sample itself."
)


def extended(section: Section, result: ServiceFit | NotApplicable) -> Section:
    """Return the service section with the fits."""
    if isinstance(result, NotApplicable):
        return replace(section, summary=(*section.summary, f"{capital(result.reason)}."))
    named = [("all", result.overall), *((item.name, item.fits) for item in result.classes)]
    refusals = tuple(f"{name}: {why}." for name, why in result.refused)
    return replace(
        section,
        summary=(*section.summary, *(_sentence(name, fits) for name, fits in named)),
        tables=(*section.tables, _comparison(named, refusals), _parameters(named)),
        caveats=(*section.caveats, *result.caveats),
        method=f"{section.method} {METHOD}",
    )


def _sentence(name: str, fits: Fits) -> str:
    whom = "all service times" if name == "all" else f"service times of class {name}"
    if not fits.fits:
        return f"No family can be fitted to {whom}: the sample itself stands for them."
    best = fits.fits[0]
    kind = best.spec["kind"].replace("_", " ")
    if fits.adequate():
        return (
            f"Best for {whom} is the {kind} distribution (A² {shown.number(best.ad)}, "
            f"p {shown.probability(best.ad_p)})."
        )
    return (
        f"No family fits {whom} well: the best, {kind}, is rejected (p {shown.probability(best.ad_p)}); the "
        "sample itself is taken."
    )


def _comparison(named: list[tuple[str, Fits]], refusals: tuple[str, ...]) -> Table:
    columns = (
        Column("class"),
        Column("family"),
        Column("BIC"),
        Column("AIC"),
        Column("D"),
        Column("p of D", unit="p"),
        Column("A²"),
        Column("p of A²", unit="p"),
        Column("mean", unit="s"),
        Column("coefficient of variation"),
    )
    rows: list[tuple[Cell, ...]] = []
    for name, fits in named:
        rows.append(
            (name, "(the sample)", *(None,) * 6, fits.mean, fits.coefficient_of_variation),
        )
        for fit in fits.fits:
            distance = (fit.ks, fit.ks_p, fit.ad, fit.ad_p)
            about = (fit.mean, fit.coefficient_of_variation)
            rows.append((name, fit.spec["kind"], fit.bic, fit.aic, *distance, *about))
    notes = [f"{name}, {kind}: {why}." for name, fits in named for kind, why in fits.refused]
    return Table(
        name="service-fits",
        caption="Distributions fitted to the service times",
        columns=columns,
        rows=tuple(rows),
        notes=(*notes, *refusals),
    )


def _parameters(named: list[tuple[str, Fits]]) -> Table:
    columns = (Column("class"), Column("family"), Column("parameter"), Column("estimate"))
    rows = tuple(
        (name, fit.spec["kind"], parameter, value)
        for name, fits in named
        for fit in fits.fits
        for parameter, value in fit.parameters
    )
    return Table(
        name="service-fit-parameters",
        caption="Parameters of the fitted distributions",
        columns=columns,
        rows=rows,
        folded=True,
    )
