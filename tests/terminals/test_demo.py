"""The parts of `thinktime demo` that can be checked in less than three minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinktime.cli import demo
from thinktime.log import Log
from thinktime.sources.terminals import Interruption, Terminals


@pytest.mark.parametrize("cpus", [1, 2, 8, 64, 512])
@pytest.mark.parametrize("service_s", [0.0005, 0.05, 2.0])
def test_the_play_goes_to_half_again_the_saturation_point(cpus: int, service_s: float) -> None:
    scale = demo._scale({"service_s": service_s}, cpus)
    # Asymptotic bound of a closed system with c servers: N* = c (D + Z) / D.
    saturation = cpus * (service_s + scale.think_s) / service_s
    assert scale.saturation == pytest.approx(saturation)
    first, last, step = map(int, scale.users.split(".."))
    assert first == step
    assert last >= 1.5 * saturation, "well past saturation"
    assert last - step < 1.5 * saturation, "but no farther than the next step"
    assert (last - first) // step + 1 == scale.steps
    assert first <= saturation / 4, "from an idle machine"
    assert scale.think_s > 0.0


def test_a_demo_in_miniature_fills_the_log(tmp_path: Path) -> None:
    with Terminals() as terminals, Interruption() as interruption:
        demo._play(terminals, interruption, tmp_path / "demo", play_s=5.5, seed=1, force=False)
    log = Log.open(tmp_path / "demo")
    session = log.manifest["sessions"][0]
    costs = {cost["request"]: cost for cost in session["direct_costs"]}
    assert set(costs) == {"forks", "page_faults_minor", "context_switches"}
    assert set(costs) <= set(log.columns_with("request", table="samples"))
    assert session["demand"]["service_s"] > 0.0
    assert session["terminals"]["floor"]["n"] > 0
    assert log.interactions().collect()["population"].n_unique() >= 5
    assert log.samples().collect().height >= 5
    assert log.check() == []
