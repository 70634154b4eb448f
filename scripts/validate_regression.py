"""Measure how far costs by regression can be trusted, where the true ones are known, and write the page.

    PYTHONPATH=benches python scripts/validate_regression.py [--table NAME] [--quick] [--no-write]

Two sources of logs: data made for the purpose, in which one thing is varied at a time (how much a request
varies by itself, the number of intervals, what else takes system time), and further months of the simulated
CP-67, which knows what each request took. The same seed gives the same tables: two minutes on a core for the
first two, three for the last.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from interval_coverage.requests import design_of

from thinktime.analyses.overhead.regression import FitOptions, Regression, fit
from thinktime.stats.estimate import NotApplicable

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "background" / "how-far-to-trust-regression-costs.md"
END = "<!-- end of table -->"

SHARE, OTHERS = 0.2, 0.6
"""Shares of the mean system time of the request that is looked at, and of all others together."""
SWING = 0.25
"""Standard deviation of the rate of each over its mean."""
NOISE = 0.06
"""Standard deviation of the errors, of the mean system time."""
OWN = (1.0, 0.3, 0.1, 0.03)
"""Shares of a rate's variance that the other requests do not explain, 1 - R_j^2."""
LENGTHS = (100, 400, 1600)
"""Numbers of intervals."""
DROPPED = math.sqrt(1.0923)
"""Factor of the outlier rule with 2.5 s on the standard deviation of a cost, for normal errors: what the rule
drops of these is no mistake, and drops part of what the intervals tell."""
TRIALS, QUICK_TRIALS = 200, 20
HIDDEN, ALONG = 0.1, 0.5
"""Share of unmeasured work in the mean system time, and its correlation with the request's own variation."""
DEARER, FALLS = 0.1, -0.5
"""Standard deviation of a request's cost over its mean, and its correlation with the own variation."""

Array = np.ndarray
Cause = Callable[[np.random.Generator, float, Array, Array], Array]
"""Errors of intervals by a random generator, the own share, and the normal variates of the request's own
variation and of the others."""


def _even(random: np.random.Generator, own: float, mine: Array, others: Array) -> Array:
    """Independent errors of one size."""
    del own, others
    return NOISE * random.normal(size=len(mine))


def _growing(random: np.random.Generator, own: float, mine: Array, others: Array) -> Array:
    """Errors whose size follows the load of the others: double at two deviations above the mean."""
    return _even(random, own, mine, others) * np.exp2(others / 2.0)


def _bursts(random: np.random.Generator, own: float, mine: Array, others: Array) -> Array:
    """Work that nobody counts, in 3 % of the intervals, half of the mean system time on average."""
    struck = random.uniform(size=len(mine)) < 0.03
    return _even(random, own, mine, others) + struck * random.exponential(0.5, size=len(mine))


def _hidden(random: np.random.Generator, own: float, mine: Array, others: Array) -> Array:
    """Unmeasured work whose amount goes with the request's own variation."""
    along = ALONG * mine + math.sqrt(1.0 - ALONG**2) * random.normal(size=len(mine))
    return _even(random, own, mine, others) + HIDDEN * (1.0 + SWING * along)


def _dearer(random: np.random.Generator, own: float, mine: Array, others: Array) -> Array:
    """A cost that differs from interval to interval, and is larger where fewer requests come."""
    cost = DEARER * (FALLS * mine + math.sqrt(1.0 - FALLS**2) * random.normal(size=len(mine)))
    rate = 1.0 + SWING * _together(own, mine, others)
    return _even(random, own, mine, others) + SHARE * rate * cost


CAUSES: dict[str, Cause] = {
    "errors of one size": _even,
    "errors that grow with the load": _growing,
    "bursts of work that nobody counts": _bursts,
    "unmeasured work that goes with the request": _hidden,
    "a request that costs more where it is rarer": _dearer,
}


def _together(own: float, mine: Array, others: Array) -> Array:
    """Variation of the request: a share `own` of its variance is its own, the rest is that of the others."""
    return math.sqrt(own) * mine + math.sqrt(1.0 - own) * others


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Data of which one cost is asked."""

    own: float
    n: int
    cause: str = "errors of one size"

    @property
    def spread(self) -> float:
        """Standard deviation of the estimate over the cost, by theory, for normal errors of one size."""
        return DROPPED * NOISE / (SHARE * SWING * math.sqrt(self.own * self.n))

    @property
    def bias(self) -> float:
        """Mean of the estimate over the cost, less one, by theory: the cause on the own variation."""
        scale = SWING * math.sqrt(self.own)
        if self.cause == "unmeasured work that goes with the request":
            return HIDDEN / SHARE * SWING * ALONG / scale
        if self.cause == "a request that costs more where it is rarer":
            return (1.0 + DEARER * FALLS / scale) / self.true - 1.0
        return 0.0

    @property
    def true(self) -> float:
        """Mean cost of a request over that with which the data are made."""
        if self.cause != "a request that costs more where it is rarer":
            return 1.0
        # A mean over requests, not over intervals: those with few dear ones count less.
        return 1.0 + DEARER * FALLS * SWING * math.sqrt(self.own)

    def regression(self, trial: int) -> Regression:
        """Fit to one log."""
        random = np.random.default_rng(
            [trial, self.n, round(1000 * self.own), list(CAUSES).index(self.cause)]
        )
        mine, others = random.normal(size=(2, self.n))
        rates = 1.0 + SWING * np.column_stack([_together(self.own, mine, others), others])
        y = 0.2 + rates @ [SHARE, OTHERS] + CAUSES[self.cause](random, self.own, mine, others)
        found = fit(design_of(rates, y), FitOptions(subsets=2), select=False)
        assert not isinstance(found, NotApplicable)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came out of many logs of a setting; of the cost itself 1."""

    setting: Setting
    bias: float
    spread: float
    trials: int
    covered: float
    covered_textbook: float


def measured(setting: Setting, trials: int) -> Measured:
    """Errors of the cost over `trials` logs, and how often two kinds of intervals hold it."""
    fits = [setting.regression(trial) for trial in range(trials)]
    off = np.array([item.coefficients[1] / SHARE / setting.true - 1.0 for item in fits])

    def covered(reach: Callable[[Regression], Array]) -> float:
        wide = np.array([reach(item)[1] / SHARE / setting.true for item in fits])
        return float(np.mean(np.abs(off) <= wide))

    return Measured(
        setting=setting,
        bias=float(off.mean()),
        spread=float(off.std(ddof=1)),
        trials=trials,
        covered=covered(Regression.robust_reach),
        covered_textbook=covered(Regression.textbook_reach),
    )


def spreads() -> Iterator[Setting]:
    """Settings of the table of spreads."""
    return (Setting(own=own, n=n) for own in OWN for n in LENGTHS)


def biases() -> Iterator[Setting]:
    """Settings of the table of causes."""
    return (Setting(own=own, n=LENGTHS[1], cause=cause) for cause in CAUSES for own in OWN[:3])


def percent(value: float, form: str = ".0f") -> str:
    """A share in words."""
    return f"{100 * value:{form}} %"


def spread_row(found: Measured) -> list[str]:
    """Row of the table of spreads."""
    setting = found.setting
    return [
        percent(setting.own),
        f"{1.0 / setting.own:.3g}",
        str(setting.n),
        percent(setting.spread, ".1f"),
        percent(found.spread, ".1f"),
        percent(found.covered, ".1f"),
        percent(found.covered_textbook, ".1f"),
    ]


def bias_row(found: Measured) -> list[str]:
    """Row of the table of causes."""
    setting = found.setting
    return [
        setting.cause,
        percent(setting.own),
        percent(setting.bias, "+.0f"),
        percent(found.bias, "+.1f"),
        percent(found.spread, ".1f"),
        percent(found.covered, ".1f"),
        percent(found.covered_textbook, ".1f"),
    ]


# A machine whose true costs are known

RUNS = {"II-2": 8, "II-3": 4, "III-3": 4}
"""Runs of each period of CP-67: of the two long ones, those of the study."""
QUICK_RUNS = 2
HEADS: dict[str, Sequence[str]] = {
    "spread": ("own variation", "VIF", "intervals", "spread, theory", "spread", "long-run", "textbook"),
    "causes": (
        "what else takes system time",
        "own variation",
        "off, theory",
        "off",
        "spread",
        "long-run",
        "textbook",
    ),
    "machine": (
        "period, runs",
        "request",
        "of CP time",
        "own variation",
        "own swing",
        "off",
        "without the outlier rule",
        "spread",
        "long-run",
        "bootstrap",
        "textbook",
    ),
}
"""Headings of the tables."""


def machine_rows(period: str, runs: int) -> Iterator[list[str]]:
    """Rows of a period of CP-67: each cost by regression against the true one, over further months."""
    from thinktime.studies.bard_1971 import costs
    from thinktime.studies.bard_1971.records import REQUESTS, SYSTEM
    from thinktime.studies.bard_1971.regression import cost, fitted
    from thinktime.studies.laboratory import Laboratory, Settings

    laboratory = Laboratory(Settings(seed=1, replications=max(2, runs)), {SYSTEM: []})
    recorded = laboratory.record(SYSTEM, [({"period": period}, number) for number in range(runs)])
    fits = [fitted(run.log) for run in recorded]
    whole = [everything(run.log) for run in recorded]
    for place, request in enumerate(REQUESTS[1:], 1):
        found = [cost(item, request) for item in fits]
        present = [item for item in found if item is not None]
        true = np.array([run.response(costs.TRUE[request]) for run in recorded])
        off = np.array([item.seconds.value for item in present]) / true - 1.0
        plain = np.array([values[place] for values in whole]) / true - 1.0
        ways = {
            "long-run": [item.seconds for item in present],
            "bootstrap": [item.bootstrap for item in present],
            "textbook": [item.textbook for item in present],
        }
        rate = np.array([item.rate.value for item in present])
        mean = np.array([item.target_mean.value for item in fits])
        inflation = np.array([item.variance_inflation or 1.0 for item in present])
        # The textbook's standard error is s / (own deviation x sqrt n).
        error = np.array([(item.textbook.high - item.textbook.low) / (2 * 1.96) for item in present])
        swing = np.array([item.seconds.value for item in present]) / error / np.sqrt([fit.n for fit in fits])
        yield [
            f"{period}, {runs}",
            request.replace("_", " "),
            percent(float(np.mean(true * rate / mean))),
            percent(float(np.mean(1.0 / inflation))),
            f"{np.mean(swing):.2f}",
            f"{100 * off.mean():+.1f} ± {100 * off.std(ddof=1) / math.sqrt(runs):.1f} %",
            percent(float(plain.mean()), "+.1f"),
            percent(float(off.std(ddof=1)), ".1f"),
            *(
                str(sum(_holds(item, value) for item, value in zip(items, true, strict=True)))
                for items in ways.values()
            ),
        ]


def _holds(item: object, true: float) -> bool:
    low, high = getattr(item, "low", None), getattr(item, "high", None)
    return low is not None and high is not None and low <= true <= high


def everything(log: object) -> Array:
    """Costs by plain least squares on all intervals, outliers included."""
    from thinktime.log import Log
    from thinktime.studies.bard_1971.records import COLUMNS

    assert isinstance(log, Log)
    samples = log.samples().collect()
    names = [{"user_time": "problem_s"}.get(name, name) for name in COLUMNS.values()]
    length = samples["length_s"].to_numpy()
    rates = [samples[name].to_numpy() / length for name in names]
    x = np.column_stack([np.ones(len(length)), *rates])
    coefficients: Array = np.linalg.lstsq(x, samples["cp_s"].to_numpy() / length, rcond=None)[0]
    return coefficients


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def put(page: str, name: str, text: str) -> str:
    """`page` with the table of that name replaced."""
    begin = f"<!-- {name}: written by scripts/validate_regression.py -->"
    before, _, rest = page.partition(begin)
    if not rest:
        raise SystemExit(f"{PAGE}: has no line {begin}")
    return f"{before}{begin}\n\n{text}\n\n{END}{rest.partition(END)[2]}"


def designed(
    settings: Iterator[Setting], row: Callable[[Measured], list[str]], trials: int
) -> Iterator[list[str]]:
    """Rows of a table of data that were made for the purpose."""
    return (row(measured(setting, trials)) for setting in settings)


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="append", choices=list(HEADS), help="this table alone; repeatable")
    parser.add_argument("--quick", action="store_true", help="few logs, to try the script; writes nothing")
    parser.add_argument("--no-write", action="store_true", help="print the tables alone")
    chosen = parser.parse_args()
    trials = QUICK_TRIALS if chosen.quick else TRIALS
    runs = dict.fromkeys(RUNS, QUICK_RUNS) if chosen.quick else RUNS
    every = {
        "spread": designed(spreads(), spread_row, trials),
        "causes": designed(biases(), bias_row, trials),
        "machine": (row for period in runs for row in machine_rows(period, runs[period])),
    }
    for name in chosen.table or every:
        rows = []
        for row in every[name]:
            rows.append(row)
            print(*row, sep=" | ", flush=True)
        if not (chosen.quick or chosen.no_write):
            page = put(PAGE.read_text(encoding="utf-8"), name, table(HEADS[name], rows))
            PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
