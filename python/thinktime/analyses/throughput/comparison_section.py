"""Section of several logs' throughput: differences at equal load, and the curves of all logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from thinktime.analyses.throughput.section import hollow, load_label, load_name, points
from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Cell, Col, Cols, Figure, Key, Section, Table
from thinktime.documents.series import Series
from thinktime.documents.wording import capital, few_attributed, listed, p_value, range_of, refused, worded
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.throughput.analysis import Measure
    from thinktime.analyses.throughput.comparison import Contrast, ThroughputComparison

TITLE = "Do the periods differ in the work that gets done at the same load?"
COLOURS = ("memory", "system", "user", "iowait", "net", "queue", "steal", "regression")
"""Colours of the logs, in their order; more logs start again with the first."""
OPEN_UP_TO = 24
"""Largest number of rows of a table that is shown unfolded."""
RULE = (
    "Whole means must not be compared: the logs' loads differ, and the means differ with them whatever the "
    "machine does (Bard 1971, Table 7). The means at equal load next to them can be compared."
)
METHOD = (
    "Intervals are grouped by load; every log's means are taken at one common distribution of loads (direct "
    "standardisation). Their errors allow for correlation in time, and include whatever affects all loads "
    "of a time alike. Differences: Welch's t; probabilities adjusted by Holm, "
    "those at equal load for all measures and pairs of logs, those of single loads for all loads of a "
    "measure. A change is good when useful work rises, or overhead for it falls, at the same load "
    "(Bard 1971)."
)
WORDS: Mapping[str, Callable[..., str]] = {
    "few_attributed": few_attributed,
    "little_common_load": lambda name, share: (
        f"Only {100 * share:.0f} % of the time of {name} lies at loads that all logs reached often enough; "
        "the rest is not in the comparison."
    ),
    "different_machines": lambda machines: (
        f"The logs are of different machines ({', '.join(machines)}), and amounts are those of whole ones: "
        "more or faster CPUs, and another kind of work, are in the differences too."
    ),
    "unequal_work": lambda: (
        "Load is equal, but work need not be: the users' work and its timing may have changed between the "
        "logs together with the machine, and are part of the differences."
    ),
    "few_in_range": lambda ranges, n_few: (
        ("One range of load of a log has" if ranges == 1 else f"{ranges} ranges of load of the logs have")
        + f" fewer than {n_few} observations; their means are unreliable and are not tested."
    ),
}


def section(result: ThroughputComparison | NotApplicable, *, whole: bool = False) -> Section:
    """Section of several logs' throughput.

    Parameters
    ----------
    result : ThroughputComparison or NotApplicable
    whole : bool
        Whether means over the whole logs are shown too.
    """
    if isinstance(result, NotApplicable):
        return refused("throughput", TITLE, result)
    tables = (_means(result), _differences(result), _by_load(result), _standard(result))
    names = {item.name for item in result.measures}
    figures = (_figure(result, item) for item in result.curves[0].throughput.measures if item.name in names)
    return Section(
        name="throughput",
        title=TITLE,
        summary=(*_sentences(result), *_warnings(result, asked=whole)),
        tables=(_whole(result), *tables) if whole else tables,
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def _sentences(result: ThroughputComparison) -> list[str]:
    """Change from each log to the next by Bard's rule: useful work, then its overhead, then the rest."""
    judged = [item for item in result.overall if item.measure.useful or item.measure.name == "overhead"]
    one = all(item.kind != "different_machines" for item in result.caveats)
    sentences = [_difference(item, judged=one) for item in judged if item.significant]
    for (first, second), items in _by_pair(judged).items():
        same = [item.measure.label for item in items if not item.significant]
        if same:
            sentences.append(
                f"No difference is detected at equal load between {first} and {second} in {listed(same)}."
            )
    others = [item for item in result.overall if item.significant and item not in judged]
    for (first, second), items in _by_pair(others).items():
        changes = [f"{item.measure.label} {'rose' if item.estimate.value > 0 else 'fell'}" for item in items]
        sentences.append(f"From {first} to {second}, at equal load: {listed(changes)}.")
    return sentences


def _by_pair(contrasts: list[Contrast]) -> dict[tuple[str, str], list[Contrast]]:
    """Contrasts by the two logs that they compare."""
    pairs: dict[tuple[str, str], list[Contrast]] = {}
    for item in contrasts:
        pairs.setdefault((item.first, item.second), []).append(item)
    return pairs


def _difference(item: Contrast, *, judged: bool) -> str:
    higher = item.estimate.value > 0
    better = higher if item.measure.useful else not higher
    return (
        f"At equal load {item.second} has {'more' if higher else 'less'} {item.measure.label} than "
        f"{item.first}: {shown.estimate(item.estimate)} ({p_value(item.p_adjusted)})"
        + (f"; that is {'better' if better else 'worse'}." if judged else ".")
    )


def _warnings(result: ThroughputComparison, *, asked: bool) -> list[str]:
    """Reasons not to compare whole means, if they were asked for or would say the opposite."""
    warnings = []
    loads = [
        (curve.name, curve.throughput.whole.load_mean) for curve in result.curves if curve.throughput.whole
    ]
    if asked:
        means = listed([f"{shown.number(load)} in {name}" for name, load in loads])
        warnings.append(f"{RULE} Mean load: {means}.")
    for (first, second), items in _by_pair(list(result.reversed_measures())).items():
        labels = listed([item.measure.label for item in items])
        warnings.append(
            f"Whole means would suggest the opposite for {labels} of {first} and {second}: they reflect the "
            "loads, not the machine."
        )
    return warnings


def _pair(item: Contrast) -> str:
    return f"{item.second} minus {item.first}"


def _means(result: ThroughputComparison) -> Table:
    return Table.of(
        result.measures,
        Col("measure", lambda item: capital(item.label)),
        Cols(
            [curve.name for curve in result.curves],
            lambda item: [curve.equal_load.get(item.name) for curve in result.curves],
        ),
        name="throughput-equal-load",
        caption="Means at equal load",
    )


def _differences(result: ThroughputComparison) -> Table:
    return Table.of(
        result.overall,
        Col("measure", lambda item: capital(item.measure.label)),
        Col("logs", _pair),
        Col("difference", lambda item: item.estimate),
        Col("p", lambda item: item.p, unit="p"),
        Col("p, adjusted", lambda item: item.p_adjusted, unit="p"),
        name="throughput-differences",
        caption="Differences at equal load",
    )


def _by_load(result: ThroughputComparison) -> Table:
    return Table.of(
        result.by_load,
        Col("measure", lambda item: capital(item.measure.label)),
        Col("logs", _pair),
        Col(load_name(result), lambda item: range_of(*item.load) if item.load else None),
        Col("difference", lambda item: item.estimate),
        Col("p, adjusted", lambda item: item.p_adjusted, unit="p"),
        name="throughput-differences-by-load",
        caption=f"Differences by {load_name(result)}",
        folded=len(result.by_load) > OPEN_UP_TO,
    )


def _standard(result: ThroughputComparison) -> Table:
    return Table.of(
        result.standard,
        Col(load_name(result), lambda item: range_of(item.low, item.high)),
        Col("weight", lambda item: item.weight, unit="share"),
        Cols([f"time of {curve.name}" for curve in result.curves], lambda item: item.shares, unit="share"),
        name="throughput-standard",
        caption="Common distribution of loads, and each log's own",
        folded=True,
    )


def _whole(result: ThroughputComparison) -> Table:
    def means(item: Measure) -> list[Cell]:
        return [means.get(item.name) for curve in result.curves for means in (curve.whole, curve.equal_load)]

    headings = [f"{curve.name}, {kind}" for curve in result.curves for kind in ("whole", "at equal load")]
    return Table.of(
        result.measures,
        Col("measure", lambda item: capital(item.label)),
        Cols(headings, means),
        name="throughput-whole",
        caption="Whole means: not to be compared",
        notes=(RULE,),
    )


def _figure(result: ThroughputComparison, measure: Measure) -> Figure | None:
    """Curves of one measure in all logs."""
    keys = Key.each([curve.name for curve in result.curves], COLOURS, "line")
    series = Series(
        [
            point
            for curve, key in zip(result.curves, keys, strict=True)
            for point in points(curve.throughput.groups, measure, key)
        ],
        order=keys,
    )
    if len(series.points) < 2:
        return None
    load, name = load_name(result), f"throughput-compared-{measure.name.replace('_', '-')}"
    measured = [
        (curve, group)
        for curve in result.curves
        for group in curve.throughput.groups
        if measure.name in group.means
    ]
    reliable = [key for key in keys if any(not point.few for point in series.of(key))]
    alt = ". ".join(f"{key.name}: {series.course(key)}" for key in reliable)
    return Figure(
        name=name,
        title=f"{capital(measure.label)} against {load}",
        chart=series.curves(Axis(load), Axis.from_zero(f"{measure.label} [{measure.unit}]", series.rows())),
        data=Table.of(
            measured,
            Col("log", lambda item: item[0].name),
            Col(load, lambda item: load_label(item[1])),
            Col("n", lambda item: item[1].n),
            Col(
                capital(measure.label),
                lambda item: item[1].means[measure.name],
                unit=measure.unit,
            ),
            name=f"{name}-data",
            caption=f"{capital(measure.label)} by {load}",
        ),
        alt=f"{alt}.{hollow([group for _, group in measured])}",
        keys=keys,
        half=True,
    )
