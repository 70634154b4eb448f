"""Claims that the paper bases on its experiments, and whether they hold here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.studies.anderson_sargent_1974.experiment import COUNTS, MEASURES, Experiment, experiment_of
from thinktime.studies.anderson_sargent_1974.runs import PAPER, run_values, think
from thinktime.studies.anderson_sargent_1974.validation import modified, original, slope
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

MODIFIED, FB2, FB_INFINITY = range(3)
WORDS = ("modified", "FB2", "FB-infinity")
PLACES = {"queued_workspaces": 2, "inputs_serviced": 1}


def chapter(laboratory: Laboratory) -> Chapter:
    """Every claim about the experiments, by a statistic on the same workloads."""
    observed = Seen(experiment_of(laboratory))
    findings = (
        *_load(observed),
        *_reaction(observed),
        *_response(observed),
        *_completions(observed),
        *_effects(observed),
        *_further(laboratory),
        *_least_change(laboratory),
    )
    method = (
        "Differences are taken workload by workload (common random numbers) with Student's t at 95 %; an "
        "order holds where the interval of every difference lies on its side of zero; an effect counts "
        f"where its F is at least {COUNTS:g}."
    )
    return Chapter(claims=findings, summary=(_summary(findings),), method=method)


def _summary(findings: Sequence[Claim]) -> str:
    held = sum(finding.holds is True for finding in findings)
    return f"Of {len(findings)} conclusions drawn from the experiments, {held} hold here."


@dataclass(frozen=True, slots=True)
class Seen:
    """The experiment with its responses averaged over cells."""

    experiment: Experiment

    def mean(
        self,
        response: str,
        algorithm: int,
        regions: int | slice = slice(None),
        time_slice: int | slice = slice(None),
    ) -> Array:
        """One response of each replication, averaged over the cells named."""
        y = self.experiment.all(response)[algorithm, regions, time_slice]
        result: Array = y.reshape(-1, y.shape[-1]).mean(axis=0)
        return result

    def order(self, response: str, algorithms: Sequence[int]) -> tuple[bool, str]:
        """True if the response rises along the algorithms, and the differences by which it is judged."""
        means = [self.mean(response, algorithm) for algorithm in algorithms]
        steps = [interval(after - before) for before, after in pairwise(means)]
        levels = ", ".join(
            f"{WORDS[index]} {values.mean():.{PLACES.get(response, 3)}f}"
            for index, values in zip(algorithms, means, strict=True)
        )
        listed = "; ".join(shown(step, PLACES.get(response, 3)) for step in steps)
        return all(
            step.low is not None and step.low > 0.0 for step in steps
        ), f"{levels}; differences {listed}"


def shown(value: Estimate, places: int) -> str:
    """Estimate with its interval, for a sentence."""
    if value.low is None or value.high is None:
        return f"{value.value:.{places}f}"
    return f"{value.value:.{places}f} ({value.low:.{places}f} to {value.high:.{places}f})"


def _load(seen: Seen) -> Iterator[Claim]:
    yield PAPER.claim("queued-order", *seen.order("queued_workspaces", (FB_INFINITY, FB2, MODIFIED)))
    yield PAPER.claim("throughput-order", *seen.order("inputs_serviced", (MODIFIED, FB2, FB_INFINITY)))


def _reaction(seen: Seen) -> Iterator[Claim]:
    analysis = seen.experiment.analyses["table07_anova"]
    f = [analysis.f[name].value for name in ("A_linear", "A_quadratic")]
    yield PAPER.claim(
        "reaction-algorithm",
        max(f) < COUNTS,
        f"F of the algorithm {f[0]:.1f} (linear) and {f[1]:.1f} (quadratic); it counts from {COUNTS:g}",
    )
    y = seen.experiment.all("mean_reaction_s")
    by_slice = [interval(y[:, 0, index].mean(axis=0)) for index in (0, 1)]
    near = all(
        abs(mean.value - PAPER.facts[fact].value.value) <= 0.1 * PAPER.facts[fact].value.value
        for mean, fact in zip(by_slice, ("mean-reaction-slice-0.1", "mean-reaction-slice-0.2"), strict=True)
    )
    yield PAPER.claim(
        "reaction-slice",
        near,
        f"with three resident workspaces {shown(by_slice[0], 3)} s and {shown(by_slice[1], 3)} s",
    )
    longer = interval((y[:, 1] - y[:, 0]).mean(axis=(0, 1)))
    yield PAPER.claim(
        "reaction-regions",
        longer.low is not None and longer.high is not None and longer.high >= 0.02 and longer.low <= 0.05,
        f"four less three resident workspaces: {shown(longer, 3)} s",
    )
    yield _utilisation(seen)


def _utilisation(seen: Seen) -> Claim:
    """Reaction times of the cells against utilisations, the slice taken out."""
    y = seen.experiment.all("mean_reaction_s").mean(axis=-1)
    load = [seen.experiment.all(name).mean(axis=-1) for name in ("processor_utilisation", "disk_utilisation")]
    rest, *x = [(item - item.mean(axis=(0, 1), keepdims=True)).ravel() for item in (y, *load)]
    columns = np.column_stack(x)
    fitted = columns @ np.linalg.lstsq(columns, rest, rcond=None)[0]
    explained, left = float(fitted @ fitted), float((rest - fitted) @ (rest - fitted))
    degrees = len(rest) - 4
    f = explained / 2.0 / (left / degrees)
    p = critical_values.f_tail(f, 2.0, degrees)
    return PAPER.claim(
        "reaction-utilisation",
        [p],
        f"processor and disk utilisation explain {100 * explained / (explained + left):.0f} % of the "
        f"variance of the twelve cells once the slice is taken out (F {f:.1f}, p {p:.2g})",
    )


def _response(seen: Seen) -> Iterator[Claim]:
    y = seen.experiment.all("mean_response_s")
    cells = y.mean(axis=-1)
    best = np.unravel_index(int(cells.argmin()), cells.shape)
    where = f"{WORDS[best[0]]} with {(3, 4)[best[1]]} workspaces and {(0.1, 0.2)[best[2]]} s"
    yield PAPER.claim(
        "best-cell",
        tuple(map(int, best)) == (FB_INFINITY, 0, 0),
        f"the shortest of the twelve mean response times is {cells.min():.3f} s, {where}",
    )
    less = interval(seen.mean("mean_response_s", MODIFIED) - seen.mean("mean_response_s", FB_INFINITY))
    also = interval(seen.mean("mean_response_s", FB2) - seen.mean("mean_response_s", FB_INFINITY))
    yield PAPER.claim(
        "response-lowest",
        bool(less.low and less.low > 0 and also.low and also.low > 0),
        f"longer than under FB-infinity by {shown(less, 3)} s under modified, {shown(also, 3)} s under FB2",
    )
    gain = interval(seen.mean("mean_response_s", MODIFIED) - seen.mean("mean_response_s", FB2))
    yield PAPER.claim(
        "fb2-response", gain.low is not None and gain.low <= 0.0, f"modified less FB2: {shown(gain, 3)} s"
    )
    inputs = interval(seen.mean("inputs_serviced", FB2) - seen.mean("inputs_serviced", MODIFIED))
    busy = interval(seen.mean("processor_utilisation", FB2) - seen.mean("processor_utilisation", MODIFIED))
    yield PAPER.claim(
        "fb2-throughput",
        bool(inputs.low and inputs.low > 0 and busy.high is not None and busy.high < 0),
        f"FB2 less modified: {shown(inputs, 1)} inputs in ten minutes, {shown(busy, 4)} of the processor",
    )
    more = interval((y[FB_INFINITY, 1] - y[FB_INFINITY, 0]).mean(axis=0))
    yield PAPER.claim(
        "response-regions",
        bool(more.low and more.low > 0),
        f"FB-infinity, four less three resident workspaces: {shown(more, 3)} s; F of A'C "
        f"{seen.experiment.analyses['table08_anova'].f['A_linear_x_C'].value:.1f}",
    )


def _completions(seen: Seen) -> Iterator[Claim]:
    more, larger = [], []
    for limit in (5, 10, 15):
        counts = [seen.mean(f"within_{limit}_s", index) for index in range(3)]
        shares = [counts[index].mean() / seen.mean("responses", index).mean() for index in range(3)]
        more.append([interval(counts[index] - counts[MODIFIED]) for index in (FB2, FB_INFINITY)])
        larger.append([share - shares[MODIFIED] for share in shares[1:]])
    yield PAPER.claim(
        "completions",
        all(step.low is not None and step.low > 0.0 for pair in more for step in pair),
        "more than under modified within 5, 10, 15 s: "
        + "; ".join(f"FB2 {pair[0].value:.1f}, FB-infinity {pair[1].value:.1f}" for pair in more)
        + " in ten minutes",
    )
    yield PAPER.claim(
        "completion-share",
        all(fb_infinity > 0.005 and fb2 < 0.005 for fb2, fb_infinity in larger),
        "share more than under modified within 5, 10, 15 s: "
        + "; ".join(
            f"FB2 {100 * fb2:+.1f}, FB-infinity {100 * fb_infinity:+.1f} points"
            for fb2, fb_infinity in larger
        )
        + "; half a point counts",
    )


def _effects(seen: Seen) -> Iterator[Claim]:
    """The effects that count, in each of the four analyses of variance."""
    for measure in MEASURES:
        table = PAPER.tables[measure.anova]
        printed = {str(row["effect"]) for row, cell in table.printed("f_ratio") if cell.value >= COUNTS}
        ours = set(seen.experiment.analyses[measure.anova].counting())
        f = seen.experiment.analyses[measure.anova].f
        listed = ", ".join(f"{name} {f[name].value:.1f}" for name in f if f[name].value >= 1.0)
        yield PAPER.claim(
            f"effects-{measure.table.split('_', 1)[1].replace('_', '-')}",
            ours == printed,
            f"F of eight replications: {listed}",
        )


def _further(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims about the further runs that the paper mentions: a moderate load, and two resident workspaces."""
    for name, users, regions in (("moderate-load", 26, 3), ("two-regions", 35, 2)):
        y = [
            run_values(
                laboratory,
                "mean_response_s",
                users=users,
                insertion_time=think(20.0),
                scheduler=scheduler,
                regions=regions,
                time_slice=0.1,
            )
            for scheduler in ("fb_infinity", "fb2", "modified")
        ]
        gains = [interval(other - y[0]) for other in y[1:]]
        yield PAPER.claim(
            name,
            all(gain.low is not None and gain.low > 0.0 for gain in gains),
            f"mean response {y[0].mean():.3f} s; longer by {shown(gains[0], 3)} s under FB2 and "
            f"{shown(gains[1], 3)} s under modified",
        )


def _least_change(laboratory: Laboratory) -> Iterator[Claim]:
    pairs = {
        name: interval(original(laboratory, name, 35, 20.0) - modified(laboratory, name, 35))
        for name in ("mean_reaction_s", "max_reaction_s")
    }
    yield PAPER.claim(
        "least-change",
        all(gain.low is not None and gain.low > 0.0 for gain in pairs.values()),
        f"original less modified: mean reaction {shown(pairs['mean_reaction_s'], 2)} s, largest "
        f"{shown(pairs['max_reaction_s'], 1)} s",
    )
    slopes = {
        name: (
            slope(original(laboratory, "swap_rate", 35, 20.0), original(laboratory, name, 35, 20.0)),
            slope(modified(laboratory, "swap_rate", 35), modified(laboratory, name, 35)),
        )
        for name in ("mean_reaction_s", "max_reaction_s")
    }
    listed = "; ".join(
        f"{name.split('_')[0]} reaction {1000 * before.value:.2f} s under the original, "
        f"{shown(_thousand(after), 2)} s under modified"
        for name, (before, after) in slopes.items()
    )
    yield PAPER.claim(
        "modified-swapping",
        all(abs(after.value) < 0.25 * abs(before.value) for before, after in slopes.values()),
        f"slope on a thousand disk accesses: {listed}; less than a quarter counts as independent",
    )


def _thousand(value: Estimate) -> Estimate:
    low, high = (None if end is None else 1000.0 * end for end in (value.low, value.high))
    return Estimate(value=1000.0 * value.value, n=value.n, method=value.method, low=low, high=high)
