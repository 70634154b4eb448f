"""The parts of `thinktime demo` that can be checked in less than three minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinktime.cli import demo, run
from thinktime.log import Log
from thinktime.sources.plans import Scale
from thinktime.sources.simulated import simulate
from thinktime.sources.terminals import Interruption, Terminals


@pytest.mark.parametrize("cpus", [1, 2, 8, 64, 512])
@pytest.mark.parametrize("service_s", [0.0005, 0.05, 2.0])
def test_the_play_goes_to_half_again_the_saturation_point(cpus: int, service_s: float) -> None:
    scale = Scale.of(service_s, cpus)
    users, steps = demo._users(scale.saturation)
    # Asymptotic bound of a closed system with c servers: N* = c (D + Z) / D.
    saturation = cpus * (service_s + scale.think_s) / service_s
    assert scale.saturation == pytest.approx(saturation)
    first, last, step = map(int, users.split(".."))
    assert first == step
    assert last >= 1.5 * saturation, "well past saturation"
    assert last - step < 1.5 * saturation, "but no farther than the next step"
    assert (last - first) // step + 1 == steps
    assert first <= saturation / 4, "from an idle machine"
    assert scale.think_s > 0.0


@pytest.mark.thorough
def test_the_report_ends_with_the_upper_half_predicted_from_the_lower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    station = {
        "name": "cpu",
        "discipline": "processor_sharing",
        "servers": 2,
        "service": "exponential(mean=0.05)",
    }
    parts = []
    for users in (4, 8, 16, 24):
        given = {"users": users, "think": "exponential(mean=0.5)", "length": 60, "interval": 1.0}
        parts.append(tmp_path / str(users))
        simulate("network", given | {"stations": [station]}, seed=users).record(parts[-1], trace=True)
    log, page = parts[-1], tmp_path / "demo.html"
    demo._report(log, page)
    assert "How many users fit?" in page.read_text(encoding="utf-8")
    assert "users fit" in capsys.readouterr().out
    # A log of a demo has all its loads; here they are in four, which the command takes together.
    assert run(["size", *map(str, parts), "-o", str(tmp_path / "size.html")]) == 0
    text = (tmp_path / "size.html").read_text(encoding="utf-8")
    assert 'id="figure-size-halves"' in text
    assert "measured, upper half" in text


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
