"""Where the printed numbers contradict each other, or can be read in two ways."""

from __future__ import annotations

from collections.abc import Callable

from thinktime.studies.bard_1971.recomputed import BEST, CALLS, DATA_SETS, fact, free_fret_share
from thinktime.studies.bard_1971.records import (
    DATA_PERIODS,
    DISPATCH,
    EXPERIMENT,
    LOADS,
    OMISSION,
    PAPER,
    RATES,
    REGRESSION,
    SHARE_COLUMNS,
    SHARES,
    THETAS,
    key,
)
from thinktime.studies.common_sections import doubtful
from thinktime.studies.study import Chapter


def chapter(_: object) -> Chapter:
    """Every doubtful number as printed, with what the other printed numbers imply."""
    checks: tuple[tuple[str, str, Callable[[], str]], ...] = (
        ("rows of Table 8", "one label is lost, two read 11-3 and 111-3", _rows_of_table_8),
        ("order of Table 7", "labels are broken by overlines", _order_of_table_7),
        ("columns of Table 11", "heads read 11*, III*, III", _columns_of_table_11),
        ("phi5", "1, without a decimal", _phi5),
        ("theta1 - phi1 of Table 9", "52 %", _vsio_of_table_9),
        ("theta5 of II-2, adjusted", "24.0", _theta5),
        ("observations of II-3", "7890 in Table 3", _observations),
        ("reductions of 1.8, -0.3, 1.0 and 1.1", "seconds", _seconds),
        ("divisor of equation 6", "n - m, with m + 1 coefficients", _divisor),
        ("time that measuring free-fret takes", "16.5 and 14.6 %, 2.9 and 2.3 %", _measuring),
        ("shares of free-fret", "16.5 and 2.9 %", _shares),
    )
    return doubtful(checks)


def _theta(data_set: str, variant: str, request: str) -> float:
    column = next(name for name, item in THETAS.items() if item == request)
    return PAPER.printed(REGRESSION, {"data_set": data_set, "variant": variant}, column).value


def _rate(data_set: str, request: str) -> float:
    return PAPER.printed(RATES, key(RATES, request), DATA_SETS[data_set]).value


def _off(row: str, data_set: str, order: tuple[str, ...] = ()) -> float:
    """Largest difference of a row of Table 8 from the shares of a data set, points."""
    requests = [request for request in SHARE_COLUMNS.values() if request != "vmio"]
    rates = dict(zip(requests, order or requests, strict=True))
    result = []
    for column, request in SHARE_COLUMNS.items():
        cell = PAPER.tables[SHARES].cell({"data_set": row}, column)
        if cell is not None and request != "vmio":
            theta = _theta(data_set, BEST[data_set], request)
            share = 0.1 * theta * _rate(data_set, rates[request]) / _rate(data_set, "cp_time")
            result.append(abs(share - cell.value))
    return max(result)


def _rows_of_table_8() -> str:
    listed = []
    for row in DATA_SETS:
        fits = ", ".join(f"{_off(row, data_set):.1f} from {data_set}" for data_set in DATA_SETS)
        listed.append(f"row {row} {fits}")
    return f"largest differences in points: {'; '.join(listed)}"


def _order_of_table_7() -> str:
    named = _off("III-3", "III-3")
    exchanged = _off("III-3", "III-3", ("page_io", "vsio", "spool_io", "problem_state_time"))
    return (
        f"with the order x1 to x5 the shares of III-3 are within {named:.2f} points of Table 8, with x1 and "
        f"x3 exchanged within {exchanged:.0f}"
    )


def _columns_of_table_11() -> str:
    first = [_theta("II-3", "adjusted_for_vmio", request) for request in ("vsio", "page_io", "spool_io")]
    last = [_theta("III-3", "vmio_included", request) for request in CALLS]
    listed = [", ".join(f"{value:g}" for value in column) for column in (first, last)]
    return (
        f"the first column is that of II-3, adjusted ({listed[0]}), the last that of III-3 in Table 5 "
        f"({listed[1]}): old, old and new free-fret"
    )


def _phi5() -> str:
    tau, rate = _rate("III-3", "cp_time"), _rate("III-3", "problem_state_time")
    theta = _theta("III-3", "vmio_included", "problem_state_time")
    low, high = (theta - 10.0 * percent * tau / rate for percent in (17.5, 16.5))
    phi = {row["request_type"]: cell.value for row, cell in PAPER.tables[DISPATCH].printed("value")}
    rest = sum(
        value * (1.0 if request == "base" else _rate("III-3", str(request)))
        for request, value in phi.items()
        if request != "problem_state_time"
    )
    shares = [0.1 * (rest + value * rate) / tau for value in (phi["problem_state_time"], low)]
    return (
        f"17 % in Table 9 needs phi5 between {low:.1f} and {high:.1f}; dispatch takes {shares[0]:.1f} % of "
        f"CP time with phi5 as printed, {shares[1]:.1f} % with {low:.1f}, and 8.5 % is printed"
    )


def _vsio_of_table_9() -> str:
    tau, rate = _rate("III-3", "cp_time"), _rate("III-3", "vsio")
    theta, phi = (
        _theta("III-3", "vmio_included", "vsio"),
        PAPER.printed(DISPATCH, key(DISPATCH, "vsio"), "value").value,
    )
    ends = [0.1 * (theta - phi + off) * rate / tau for off in (-0.1, 0.0, 0.1)]
    return f"{ends[1]:.1f} %, and {ends[0]:.1f} to {ends[2]:.1f} % by the rounding of the two coefficients"


def _theta5() -> str:
    present, unknown = (
        PAPER.printed(OMISSION, key(OMISSION, "problem_state_time"), name).value
        for name in ("with_vmio", "without_vmio")
    )
    plain = _theta("II-2", "vmio_not_included", "problem_state_time")
    low, high = (plain + off for off in (-0.05, 0.05))
    return (
        f"{plain:g} x {present:g} / {unknown:g} is {plain * present / unknown:.2f}, between "
        f"{low * present / unknown:.2f} and {high * present / unknown:.2f} by rounding"
    )


def _observations() -> str:
    total = sum(cell.value for _, cell in PAPER.tables[LOADS].printed("ii_3"))
    stated = PAPER.printed(DATA_PERIODS, {"data_set": "II-3"}, "n_points").value
    row = {"data_set": "II-3", "variant": "vmio_not_included"}
    fitted = sum(
        PAPER.printed(REGRESSION, row, name).value for name in ("n_rejected_outliers", "n_remaining_points")
    )
    return f"Table 10 adds up to {total:.0f}, Table 5 to {fitted:.0f}; Table 3 says {stated:.0f}"


def _seconds() -> str:
    pairs = (fact(CALLS["vsio"]).value * fact("pair-saving").value) / 1000.0
    return f"calls times what a pair of calls is faster is {pairs:.1f} milliseconds for a VSIO"


def _divisor() -> str:
    n = PAPER.printed(
        REGRESSION, {"data_set": "II-2", "variant": "vmio_not_included"}, "n_remaining_points"
    ).value
    ratio = ((n - 4.0) / (n - 5.0)) ** 0.5
    return (
        f"n - m - 1 would make s {100.0 * (ratio - 1.0):.2f} % larger in the smallest data set: hardly an "
        "outlier more or less"
    )


def _measuring() -> str:
    listed = []
    for way, (with_it, without) in {
        "old": ("share-measured-old", "share-bare-old"),
        "new": ("share-measured-new", "share-bare-new"),
    }.items():
        measured, bare = fact(with_it).value / 100.0, fact(without).value / 100.0
        cp = PAPER.printed(EXPERIMENT, {"variable": "cp_time"}, f"{way}_free_fret").value / 100.0
        pairs = sum(
            fact(name).value * PAPER.printed(EXPERIMENT, {"variable": request}, f"{way}_free_fret").value
            for request, name in CALLS.items()
        )
        item = 1e6 * (measured - bare) / (1.0 - bare) * cp / pairs
        listed.append(f"{item:.0f} microseconds a pair of calls with the {way} algorithm")
    return "; ".join(listed)


def _shares() -> str:
    old, new = (free_fret_share(way).value for way in ("old", "new"))
    return f"calls a request, rates of Table 12 and times of a call give {old:.1f} and {new:.1f} % of CP time"
