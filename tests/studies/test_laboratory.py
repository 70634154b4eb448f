"""The laboratory makes each run once, shortens runs by the scale, and deletes its logs."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from thinktime.errors import InputError, WorkError
from thinktime.stats.estimate import NotApplicable
from thinktime.studies.laboratory import Laboratory, Settings, applicable, remembered

SMALL = {"users": 5, "warm_up": 60.0, "length": 600.0}


def laboratory(scale: float = 1.0) -> Laboratory:
    return Laboratory(Settings(replications=3, scale=scale), {"apl360": ("warm_up", "length")})


def test_a_run_is_made_once_and_its_first_replications_are_those_of_fewer() -> None:
    lab = laboratory()
    assert lab.simulate("apl360", SMALL) is lab.simulate("apl360", dict(reversed(SMALL.items())))
    every = lab.values("apl360", SMALL, "mean_response_s")
    two = laboratory().values("apl360", SMALL, "mean_response_s", 2)
    assert len(every) == 3
    assert np.array_equal(every[:2], two)
    assert np.array_equal(lab.values("apl360", SMALL, "mean_response_s", 2), two)


def test_the_scale_shortens_runs_and_changes_nothing_else() -> None:
    short, full = laboratory(scale=0.1), laboratory()
    assert short.shortened("apl360", SMALL) == {"users": 5, "warm_up": 6.0, "length": 60.0}
    assert full.shortened("apl360", SMALL) == SMALL
    default = full.defaults("apl360")["length"]
    assert short.shortened("apl360", {})["length"] == pytest.approx(0.1 * default)
    assert (full.scaled(1000), short.scaled(1000), short.scaled(5), short.scaled(1)) == (1000, 100, 2, 1)
    assert (full.count(2), full.count(8)) == (2, 3)


def test_logs_are_recorded_once_and_deleted_with_the_laboratory() -> None:
    lab = laboratory()
    first, second = lab.record("apl360", [(SMALL, 0), (SMALL, 1)])
    assert lab.record("apl360", [(SMALL, 1)]) == [second]
    assert first.response("mean_response_s") == lab.values("apl360", SMALL, "mean_response_s")[0]
    folder = first.log.path
    assert folder.exists()
    del lab, first, second
    gc.collect()
    assert not folder.exists()


def test_a_pooled_log_has_a_session_for_each_replication_after_its_warm_up() -> None:
    lab = laboratory()
    runs = [(SMALL, number) for number in range(2)]
    pooled = lab.pooled("apl360", runs)
    assert len(pooled.manifest["sessions"]) == 2
    whole = sum(run.log.samples().collect().height for run in lab.record("apl360", runs))
    assert 0 < pooled.samples().collect().height <= whole


def test_work_is_remembered_by_its_arguments() -> None:
    calls = []

    @remembered
    def double(lab: Laboratory, number: int) -> int:
        calls.append(number)
        return 2 * number

    lab = laboratory()
    assert [double(lab, 2), double(lab, 2), double(lab, 3)] == [4, 4, 6]
    assert double(laboratory(), 2) == 4
    assert calls == [2, 3, 2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"replications": 1}, "replications is 1; intervals need at least 2"),
        ({"scale": 0.0}, "scale is 0; give a fraction above 0"),
        ({"scale": 2.0}, "scale is 2"),
    ],
)
def test_settings_without_intervals_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Settings(**settings)  # type: ignore[arg-type]


def test_an_analysis_that_does_not_apply_is_an_error() -> None:
    with pytest.raises(WorkError, match="too short"):
        applicable(NotApplicable(reason="too short"))
    assert applicable(3) == 3
