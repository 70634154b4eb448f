"""Results as plain values, as a data frame and as text: one record, three readers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from thinktime.errors import InputError
from thinktime.log import Log, LogWriter
from thinktime.questions.checks import check_level, check_log, check_logs
from thinktime.results import Result
from thinktime.stats.estimate import Estimate, NotApplicable


def seconds(value: float) -> Estimate:
    return Estimate(value=value, unit="s", n=40, method="mean", low=value - 0.1, high=value + 0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    n: int
    median: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    users: int
    mean: Estimate | None
    wait: Wait | None
    by_request: Mapping[str, Estimate]
    waits: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Curve(Result):
    MAIN = "groups"

    load: str
    groups: tuple[Group, ...]
    bound: float
    disks: NotApplicable
    counts: dict[int, int]


CURVE = Curve(
    load="active <users>",
    groups=(
        Group(users=1, mean=None, wait=None, by_request={"fork": seconds(0.2)}),
        Group(
            users=3,
            mean=seconds(0.5),
            wait=Wait(n=9, median=seconds(0.7)),
            by_request={"fork": seconds(0.3)},
            waits=(1.0, math.inf),
        ),
    ),
    bound=math.nan,
    disks=NotApplicable("no disk", "add one"),
    counts={1: np.int64(4)},
)


def test_a_result_survives_json() -> None:
    """Strict JSON: no NaN, no infinity, every key a text."""
    plain = json.loads(json.dumps(CURVE.to_dict(), allow_nan=False))
    assert plain["groups"][1]["wait"]["median"]["value"] == 0.7
    assert plain["groups"][1]["waits"] == [1.0, None]
    assert plain["bound"] is None
    assert plain["counts"] == {"1": 4}
    assert plain["disks"] == {"not_applicable": "no disk", "remedy": "add one"}


def test_a_frame_has_a_row_for_each_record_and_four_columns_for_each_estimate() -> None:
    frame = CURVE.to_frame()
    assert frame.columns[:5] == ["users", "mean", "mean_low", "mean_high", "mean_n"]
    assert frame["mean"].to_list() == [None, 0.5]
    assert frame["mean_high"].to_list() == [None, 0.6]
    assert frame["wait_median_n"].to_list() == [None, 40]
    assert frame["by_request_fork"].to_list() == [0.2, 0.3]
    assert "waits" not in frame.columns


def test_a_result_without_a_main_table_is_one_row() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True, repr=False)
    class Single(Result):
        share: Estimate

    assert Single(share=seconds(0.5)).to_frame().to_dicts() == [
        {"share": 0.5, "share_low": 0.4, "share_high": 0.6, "share_n": 40}
    ]


def test_the_representation_is_a_short_line_for_each_field() -> None:
    lines = repr(CURVE).splitlines()
    assert lines[0] == "Curve"
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "load",
        "groups",
        "bound",
        "disks",
        "counts",
    ]
    assert "  groups: 2 × Group" in lines
    assert max(map(len, lines)) < 100


def test_a_notebook_shows_the_main_table_with_names_of_a_log_made_harmless() -> None:
    page = CURVE._repr_html_()
    assert page.count("<tr>") == 4 + 1 + 2  # fields, heading, records
    assert "active &lt;users&gt;" in page
    assert "500\xa0±\xa0100\xa0ms" in page


@pytest.mark.parametrize(
    ("value", "message"),
    [("run", r"log is the path 'run'.*Log\.open\('run'\)"), (3, "log must be .* not int")],
)
def test_what_is_no_log_is_refused_with_the_remedy(value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        check_log(value)


@pytest.mark.parametrize(
    "name",
    ["arrivals", "rates", "recording", "response", "saturation", "throughput", "timeline", "users"],
)
def test_an_analysis_refuses_the_path_of_a_log(name: str) -> None:
    analysis = import_module(f"thinktime.analyses.{name}.analysis")
    with pytest.raises(TypeError, match=r"log is the path 'run'.*Log\.open\('run'\)"):
        analysis.analyse("run")


@pytest.mark.parametrize("name", ["arrivals", "rates", "response", "saturation", "throughput"])
def test_an_analysis_refuses_a_level_that_is_no_confidence(name: str, tmp_path: Path) -> None:
    analysis = import_module(f"thinktime.analyses.{name}.analysis")
    with LogWriter.open(tmp_path / "log", source="test"):
        pass
    with pytest.raises(InputError, match=r"level is 95.*write 0\.95"):
        analysis.analyse(Log.open(tmp_path / "log"), level=95)


def test_logs_of_a_comparison_are_checked_one_by_one() -> None:
    with pytest.raises(TypeError, match="logs must be a sequence"):
        check_logs("run", ["run"])
    with pytest.raises(TypeError, match=r"logs\[0\] is the path"):
        check_logs(["before", "after"], ["before", "after"])
    with pytest.raises(InputError, match="needs 2 or more"):
        check_logs([], [])


@pytest.mark.parametrize("level", [95, 0.0, 1.0, -1.0, math.nan, "0.9"])
def test_a_level_must_be_a_confidence(level: float) -> None:
    with pytest.raises(InputError, match="level is"):
        check_level(level)


def test_a_level_in_per_cent_is_told_how_to_write_it() -> None:
    with pytest.raises(InputError, match=r"write 0\.95"):
        check_level(95)
