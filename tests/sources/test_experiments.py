"""Designed experiments: designs are read strictly; runs survive kills and grow, to the same figures."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

from sources import stand_in
from thinktime import cli
from thinktime.analyses.experiment import analysis as experiment
from thinktime.errors import InputError, WorkError
from thinktime.log import design as designs
from thinktime.log.runs import Runs
from thinktime.sources import experiments

TEXT = """
system = "stand_in"
seed = 7
replications = 4

[parameters]
users = 35

[factors]
scheduler = ["modified", "fb2", "fb_infinity"]
time_slice = [0.1, 0.2]
"""


@pytest.fixture
def design(tmp_path):
    path = tmp_path / "design.toml"
    path.write_text(TEXT)
    return designs.read(path)


def run(design, folder, **options):
    runs = experiments.prepare(design, folder, resume=options.pop("resume", False))
    experiments.run(design, runs, simulate=options.pop("simulate", stand_in.simulate), **options)
    return Runs.open(folder)


def test_a_design_is_what_the_file_says(design):
    assert (design.system, design.seed, design.replications, design.blocks) == ("stand_in", 7, 4, True)
    assert len(design.cells) == 6
    assert design.cells[1] == {"scheduler": "modified", "time_slice": 0.2}
    assert design.transformation("mean_response_s") is None


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        (
            "replications = 4",
            "replicatoins = 4",
            ["'replicatoins'", "did you mean replications?", "factors"],
        ),
        ("replications = 4", "replications = 1", ["replications is 1", "2 or more"]),
        ("seed = 7", "seed = -1", ["seed is -1", "0 or more"]),
        ("seed = 7", "seed = true", ["seed is true", "whole number"]),
        ("seed = 7", "", ["'seed' is missing", "whole number"]),
        ("seed = 7", "seed = 7\nblocks = 1", ["blocks is 1", "true"]),
        ("seed = 7", 'seed = 7\nresponses = "mean"', ["responses is", "list"]),
        ("seed = 7", 'seed = 7\ntransformation = "cube"', ["'cube'", "log10(y + 0.5)"]),
        ("users = 35", "users = 35\ntime_slice = 0.1", ["'time_slice'", "both a factor"]),
        ("[0.1, 0.2]", "[0.1]", ["factors.time_slice is [0.1]", "two levels", "[parameters]"]),
        ("[0.1, 0.2]", "0.1", ["factors.time_slice is 0.1", "list"]),
        ("[0.1, 0.2]", "[0.1, 0.1]", ["factors.time_slice", "once"]),
        ("[0.1, 0.2]", '[{kind = "x"}, 0.1]', ["factors.time_slice", "short form", "exponential(mean=20)"]),
        ("[0.1, 0.2]", f"[{', '.join(map(str, range(400)))}]", ["1200 cells", "999"]),
        ("[factors]", "[factors", ["is not TOML", "line"]),
    ],
)
def test_a_bad_design_names_file_key_what_was_given_and_what_is_allowed(tmp_path, wrong, right, said):
    path = tmp_path / "design.toml"
    assert wrong in TEXT
    path.write_text(TEXT.replace(wrong, right))
    with pytest.raises(InputError) as refused:
        designs.read(path)
    for part in [str(path), *said]:
        assert part in str(refused.value)


NESTED = """
system = "network"
seed = 1

[parameters]
users = 35

[[parameters.stations]]
name = "cpu"
discipline = "fcfs"
[[parameters.stations]]
name = "disk"

[factors]
users = [20, 35]
stations.cpu.discipline = ["fcfs", "ps"]
"""


def test_a_factor_may_lie_inside_a_parameter(tmp_path):
    path = tmp_path / "design.toml"
    path.write_text(NESTED.replace("users = 35\n", ""))
    design = designs.read(path)
    assert list(design.factors) == ["users", "stations.cpu.discipline"]
    first, second = (design.parameters_of(cell) for cell in design.cells[:2])
    assert first == {"users": 20, "stations": [{"name": "cpu", "discipline": "fcfs"}, {"name": "disk"}]}
    assert second["stations"][0]["discipline"] == "ps"
    assert design.parameters["stations"][0]["discipline"] == "fcfs"


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        ("stations.cup.discipline", "no 'cup' to be varied; did you mean cpu? there are: cpu, disk"),
        ("station.cpu.discipline", "no 'station' to be varied; did you mean stations?"),
        ("stations.cpu.name.x", "no 'x' to be varied; write it as a table"),
    ],
)
def test_a_factor_that_leads_nowhere(tmp_path, factor, said):
    path = tmp_path / "design.toml"
    path.write_text(NESTED.replace("users = 35\n", "").replace("stations.cpu.discipline", factor))
    design = designs.read(path)
    with pytest.raises(InputError) as refused:
        design.parameters_of(design.cells[0])
    assert said in str(refused.value)
    assert factor in str(refused.value)


def test_a_design_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.toml: cannot be read"):
        designs.read(tmp_path / "nothing.toml")


def test_cells_have_the_workloads_of_the_design_and_all_figures(design, tmp_path):
    runs = run(design, tmp_path / "runs")
    frame = runs.responses()
    assert frame.height == 6 * 4
    assert frame.columns == ["scheduler", "time_slice", "replication", "mean_response_s", "completed"]
    assert runs.units == stand_in.UNITS
    alone = stand_in.simulate(
        "stand_in", {"users": 35, "scheduler": "fb2", "time_slice": 0.1}, seed=7, replications=4
    )
    cell = frame.filter((frame["scheduler"] == "fb2") & (frame["time_slice"] == 0.1))
    assert cell["mean_response_s"].to_list() == alone.responses["mean_response_s"].to_list()


def test_the_analysis_finds_the_effects_that_were_put_in(design, tmp_path):
    """F at one in ten thousand: both effects are many standard errors; the interaction is none."""
    result = experiment.analyse(
        run(replace(design, replications=8), tmp_path / "runs"), response="mean_response_s"
    )
    by_name = {source.name: source for source in result.sources}
    assert by_name["scheduler"].p < 1e-4
    assert by_name["time_slice"].p < 1e-4
    assert by_name["scheduler × time_slice"].p > 1e-4
    assert result.unit == "s"
    assert result.blocked
    assert result.efficiency > 5  # a spread of workloads of 0.3 s over a noise of 0.05 s: (1 + 36) / 1


def test_without_blocks_every_cell_has_a_workload_of_its_own(design, tmp_path):
    runs = run(replace(design, blocks=False), tmp_path / "runs")
    result = experiment.analyse(runs, response="mean_response_s")
    assert not result.blocked
    assert result.without_blocks == ()
    seeds = {cell.log().manifest["sessions"][0]["options"]["seed"] for cell in runs.cells}
    assert len(seeds) == 6
    again = run(replace(design, blocks=False), tmp_path / "again")
    assert_frame_equal(runs.responses(), again.responses())


def test_a_finished_experiment_is_extended_by_what_is_missing_only(design, tmp_path):
    run(design, tmp_path / "grown")
    asked = []

    def watched(*arguments, **options):
        asked.append((options["first_replication"], options["replications"]))
        return stand_in.simulate(*arguments, **options)

    more = replace(design, replications=16)
    grown = run(more, tmp_path / "grown", resume=True, simulate=watched)
    assert asked == [(4, 12)] * 6
    assert_frame_equal(grown.responses(), run(more, tmp_path / "at_once").responses())
    run(more, tmp_path / "grown", resume=True, simulate=watched)
    assert len(asked) == 6  # nothing was missing any more
    run(design, tmp_path / "grown", resume=True, simulate=watched)
    assert len(asked) == 6  # nor are replications taken away
    assert Runs.open(tmp_path / "grown").responses().height == 6 * 16


@pytest.mark.parametrize("threads", [1, 3])
def test_figures_do_not_depend_on_threads(design, tmp_path, threads):
    one = run(design, tmp_path / "one", threads=threads)
    assert_frame_equal(one.responses(), run(design, tmp_path / "other").responses())


KILLED = """
import sys
from functools import partial
from pathlib import Path
from sources import stand_in
from thinktime.log import design
from thinktime.sources import experiments
read = design.read(sys.argv[1])
runs = experiments.prepare(read, Path(sys.argv[2]), resume=Path(sys.argv[2]).exists())
experiments.run(read, runs, threads=2, simulate=partial(stand_in.simulate, delay_s=0.02))
"""


@pytest.mark.parametrize("sign", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)])
def test_an_experiment_survives_being_stopped_at_any_moment(design, tmp_path, sign):
    """Stopped again and again after other times, it gets to the figures of one that was left alone."""
    folder, tests = tmp_path / "runs", str(Path(__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": tests}
    command = [sys.executable, "-c", KILLED, design.name, str(folder)]
    stopped = 0
    for patience in (0.15, 0.05, 0.25, 0.35, 60.0):
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        waited = time.monotonic()
        while not folder.exists() and time.monotonic() - waited < 60 and process.poll() is None:
            time.sleep(0.01)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.send_signal(sign)
            stopped += 1
        said = process.communicate()[1]
        # Before Python handles signals, they end it without a word.
        if sign == signal.SIGINT and process.returncode not in (0, -sign):
            assert said  # in other words where a library was being imported
    assert process.returncode == 0, said
    assert stopped
    whole = run(design, tmp_path / "whole")
    assert_frame_equal(Runs.open(folder).responses(), whole.responses())
    cells = folder / "cells"
    assert sorted(path.name for path in cells.iterdir()) == [f"{number:03}" for number in range(6)]


def test_interrupted_says_what_is_kept(design, tmp_path):
    def interrupted(progress):
        if progress.cells_done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(WorkError, match=r"interrupted; [2-5] of 6 cells are kept; --resume continues"):
        run(
            design,
            tmp_path / "runs",
            threads=1,
            progress=interrupted,
            simulate=partial(stand_in.simulate, delay_s=0.05),
        )
    assert 2 <= sum(cell.exists for cell in Runs.open(tmp_path / "runs").cells) < 6


def test_a_cell_that_fails_is_named_and_stops_the_others(design, tmp_path):
    def failing(system, parameters, **options):
        if parameters["scheduler"] == "fb2":
            raise WorkError("time does not add up")
        return stand_in.simulate(system, parameters, **options)

    with pytest.raises(WorkError, match=r"cell scheduler = fb2, time_slice = 0\.[12]: time does not add up"):
        run(design, tmp_path / "runs", simulate=failing)


def test_runs_are_not_written_over_nor_mixed(design, tmp_path):
    folder = tmp_path / "runs"
    run(design, folder)
    with pytest.raises(InputError, match="--force replaces it, --runs chooses another folder"):
        experiments.prepare(design, folder)
    with pytest.raises(InputError, match=r"seed = 7, and .*design.toml has 8; .*--runs"):
        experiments.prepare(replace(design, seed=8), folder, resume=True)
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious").touch()
    with pytest.raises(InputError, match=r"contains no runs .* --runs"):
        experiments.prepare(design, other, force=True)
    assert (other / "precious").exists()
    assert not experiments.prepare(design, folder, force=True).cells[0].exists


def test_a_page_that_exists_is_no_reason_to_give_up_the_runs(design, tmp_path, capsys):
    """--force alone would replace both."""
    page = tmp_path / "page.html"
    page.write_text("made before")
    assert cli.run(["experiment", design.name, "--runs", str(tmp_path / "runs"), "-o", str(page)]) == 2
    assert "--resume --force replaces the page and keeps the runs" in capsys.readouterr().err
    assert page.read_text() == "made before"


def test_progress_goes_from_what_there_is_to_all(design, tmp_path):
    seen = []
    run(design, tmp_path / "runs", progress=seen.append)
    assert [each.replications_done for each in seen] == sorted(each.replications_done for each in seen)
    assert (seen[-1].cells_done, seen[-1].replications_done, seen[-1].replications) == (6, 24, 24)
    run(replace(design, replications=6), tmp_path / "runs", resume=True, progress=seen.append)
    assert seen[-1].replications_done == 36


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda runs: runs.pop("cells"), "cells is missing"),
        (lambda runs: runs.update(cells=5), "cells is 5, but must be a list of tables"),
        (lambda runs: runs["cells"][0].pop("log"), "log is missing"),
        (lambda runs: runs["cells"][0].update(levels=[1]), "levels is"),
        (lambda runs: runs.update(factors={"users": 5}), "factors must be lists of levels"),
        (lambda runs: runs.update(schema_version="x"), "schema_version is 'x'"),
        (lambda runs: runs.update(seed=None), "seed is missing"),
        (lambda runs: runs.update(parameters="x"), "parameters is 'x', but must be a table"),
    ],
)
def test_a_description_of_runs_that_was_changed_is_refused_by_key(tmp_path, change, words):
    Runs.create(
        tmp_path, system="apl360", seed=1, factors={"users": [5]}, levels=[{"users": 5}], parameters={}
    )
    runs = json.loads((tmp_path / "runs.json").read_text())
    change(runs)
    (tmp_path / "runs.json").write_text(json.dumps(runs))
    with pytest.raises(InputError, match=rf"runs.json: .*{words}"):
        Runs.open(tmp_path)


@pytest.mark.parametrize("text", ["[]", "5", "[" * 100_000, "{"])
def test_a_description_of_runs_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "runs.json").write_text(text)
    with pytest.raises(InputError, match=r"runs.json: (is no table|cannot be read)"):
        Runs.open(tmp_path)
