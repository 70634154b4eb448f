"""Experiments on a real cluster of Dask: the same bits, whatever dies; other versions are refused."""

import gc
import hashlib
import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial

import pytest

from tasks import dask_processes, works
from thinktime.errors import InputError, InterruptedWorkError, WorkError
from thinktime.log import design as designs
from thinktime.log.runs import Runs
from thinktime.sources import experiments, remote, simulated
from thinktime.sources.scripts import builtin
from thinktime.studies import load
from thinktime.studies.laboratory import Settings
from thinktime.studies.study import run as run_study
from thinktime.tasks import cluster as clusters
from thinktime.tasks import identity as identities
from thinktime.tasks.cluster import Cluster

# Dask drops sockets whose other end was killed or is restarted, and leaves it to Python to close them.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(autouse=True)
def _dropped_sockets():
    """Sockets that Dask has dropped are closed here, and not in the middle of another test."""
    yield
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "unclosed <socket", ResourceWarning)
        gc.collect()


TEXT = """
system = "apl360"
seed = 7
replications = 4
trace = true
blocks = false

[parameters]
length = 600
warm_up = "mser5"

[factors]
users = [5, 10, 15]
regions = [3, 4]
"""
SCRIPTED = """
system = "ctss"
seed = 7
replications = 2

[parameters]
length = 2000
script = "mine.toml"

[factors]
users = [20, 24]
"""


def design_of(folder, text):
    path = folder / "design.toml"
    path.write_text(text)
    return designs.read(path)


def digests(folder):
    """Digest of every file of the runs; `lock` says which process wrote last."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def run(design, folder, *, resume=False, **options):
    runs = experiments.prepare(design, folder, resume=resume)
    experiments.run(design, runs, **options)
    return digests(folder)


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    started = dask_processes.Cluster(tmp_path_factory.mktemp("dask"))
    for _ in range(2):
        started.start_worker()
    yield started
    started.close()


@pytest.fixture
def pool(dask):
    with Cluster(dask.address) as opened:
        yield opened


def test_the_program_gives_the_same_bits_as_here(dask, tmp_path):
    """Traced, and with a warm-up that is found in the replications themselves."""
    design = design_of(
        tmp_path, TEXT.replace("[parameters]", 'responses = ["mean_reaction_s"]\n\n[parameters]')
    )
    command = [sys.executable, "-m", "thinktime", "experiment", "design.toml", "--runs", "there"]
    done = subprocess.run(
        [*command, "--on", dask.address], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    # A worker that hears nothing for long, on a busy machine, leaves and comes back.
    told = [line for line in done.stderr.splitlines() if "has no workers; waiting for one" not in line]
    assert (done.returncode, told) == (0, [])
    assert "reaction" in done.stdout
    here = run(design, tmp_path / "here")
    assert digests(tmp_path / "there") == here
    assert len(here) > 6 * 4


def test_replications_are_added_to_the_same_bits(pool, tmp_path):
    design = design_of(tmp_path, TEXT.replace('warm_up = "mser5"', "warm_up = 60"))
    run(replace(design, replications=2), tmp_path / "grown", pool=pool)
    grown = run(design, tmp_path / "grown", pool=pool, resume=True)
    assert grown == run(design, tmp_path / "at_once")


def test_a_script_of_our_own_is_sent(pool, tmp_path, monkeypatch):
    """Workers, which run in another folder, do not have its file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(builtin()["6mad1"].replace("think = 30", "think = 29"))
    design = design_of(tmp_path, SCRIPTED)
    there = run(design, tmp_path / "there", pool=pool)
    assert there == run(design, tmp_path / "here")


@pytest.mark.parametrize("warm_up", [60, "mser5"])
def test_figures_of_replications_have_the_same_bits(pool, warm_up):
    parameters = {"users": 8, "length": 3000, "warm_up": warm_up}
    there = remote.simulate("apl360", parameters, seed=3, replications=3, pool=pool)
    here = simulated.simulate("apl360", parameters, seed=3, replications=3)
    assert there.to_dict() == here.to_dict()
    assert there.values(list(there.units)) == pytest.approx(here.values(list(here.units)), rel=0, nan_ok=True)
    for index in range(3):
        assert there.batch_means(index).tolist() == here.batch_means(index).tolist()


@pytest.mark.thorough
def test_a_study_has_the_same_cells(pool):
    """Of simulations as figures, and of logs that workers recorded."""
    study = load("sekino-1969")
    settings = Settings(replications=2, scale=0.01)
    there = run_study(study, replace(settings, pool=pool), table="ctss_run_cpm01")
    here = run_study(study, settings, table="ctss_run_cpm01")
    assert there.cells == here.cells
    assert len(there.cells) > 10


def test_interrupted_all_that_was_done_is_kept_and_goes_on(pool, tmp_path):
    design = design_of(tmp_path, TEXT)

    slow = partial(works.slow, delay_s=0.02)

    def interrupted(progress):
        if progress.cells_done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedWorkError, match=r"[2-6] of 6 cells are kept; --resume continues"):
        run(design, tmp_path / "runs", pool=pool, simulate=slow, progress=interrupted)
    kept = [cell.path for cell in Runs.open(tmp_path / "runs").cells if cell.exists]
    assert len(kept) >= 2
    before = {path: digests(path) for path in kept}
    whole = run(design, tmp_path / "runs", pool=pool, resume=True)
    assert {path: digests(path) for path in kept} == before
    assert whole == run(design, tmp_path / "here")


def test_a_cell_that_fails_is_named(pool, tmp_path):
    design = design_of(tmp_path, TEXT.replace("users = [5, 10, 15]", "users = [5, 100000000]"))
    with pytest.raises(InputError, match=r"cell users = 100000000, regions = [34]: apl360"):
        run(design, tmp_path / "runs", pool=pool)


def test_a_worker_that_is_killed_at_work_loses_nothing(dask, pool, tmp_path):
    design = design_of(tmp_path, TEXT)
    marker = tmp_path / "killed"
    pool.open()
    alive = sum(worker.poll() is None for worker in dask.workers)
    there = run(design, tmp_path / "there", pool=pool, simulate=partial(works.dying, marker=str(marker)))
    assert marker.exists()
    assert sum(worker.poll() is None for worker in dask.workers) == alive - 1
    assert there == run(design, tmp_path / "here")


def test_another_version_is_refused_by_name(dask, tmp_path):
    stub = tmp_path / "thinktime"
    stub.mkdir()
    (stub / "__init__.py").write_text('__version__ = "0.0.9"\n')
    other = dask.start_worker(path=str(tmp_path))
    try:
        # It registers when it has started: before that, all workers have the same.
        with pytest.raises(InputError) as refused:
            open_until_refused(dask.address, other)
    finally:
        dask.end(other)
    said = str(refused.value)
    assert "here is thinktime 0.1.0" in said
    assert said.count(" has 0.0.9") == 1
    assert "install the same one on all machines" in said


def open_until_refused(address, worker):
    while worker.poll() is None:
        with Cluster(address) as pool:
            pool.open()


def test_a_worker_that_joins_later_with_other_sources_does_nothing():
    other = replace(identities.identity(), sources="0" * 32)
    with pytest.raises(InputError, match=r"has thinktime 0\.1\.0 from other sources, and here is 0\.1\.0"):
        clusters._done(other, works.square, 3)
    assert clusters._done(identities.identity(), works.square, 3) == 9


def test_a_scheduler_that_is_restarted_is_waited_for(dask, tmp_path):
    """With it all workers end, as Dask has it; those of the new one go on with what is missing."""
    design = design_of(tmp_path, TEXT)
    said, restarted = [], []

    def progress(state):
        if state.cells_done >= 2 and not restarted:
            restarted.append(state.cells_done)
            dask.end(dask.scheduler)
            dask.start_scheduler()
            dask.start_worker()

    with Cluster(dask.address, said=said.append) as pool:
        slow = partial(works.slow, delay_s=0.1)
        there = run(design, tmp_path / "there", pool=pool, simulate=slow, progress=progress)
    assert 2 <= restarted[0] < 6
    assert "the connection to the scheduler is lost" in said[0]
    assert there == run(design, tmp_path / "here")


def test_workers_of_this_machine_end_with_the_pool(tmp_path):
    design = design_of(tmp_path, TEXT)
    with Cluster(workers=1) as pool:
        there = run(design, tmp_path / "there", pool=pool)
        assert pool.address.startswith("tls://127.0.0.1:")
    assert there == run(design, tmp_path / "here")


def test_no_scheduler_at_the_address(monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_S", 0.2)
    for address, said in [("tcp://127.0.0.1:9", "no Dask scheduler answers"), ("http:/x", "no address of")]:
        with pytest.raises(InputError, match=f"{address}: .*{said}"), Cluster(address) as pool:
            pool.open()


def test_a_log_that_was_not_ordered_is_not_taken(tmp_path):
    parameters = {"users": 3, "length": 600}
    order = remote.Order(system="apl360", parameters=parameters, seed=7, first=0, replications=2)
    files = remote.logged(order)
    remote.received(files, tmp_path / "right", order)
    for number, wrong in enumerate(
        [replace(order, seed=8), replace(order, replications=3), replace(order, system="ctss")]
    ):
        with pytest.raises(WorkError, match="other replications than those ordered"):
            remote.received(files, tmp_path / str(number), wrong)
    damaged = {**files, "manifest.json": files["manifest.json"][:-20]}
    with pytest.raises(WorkError, match="cannot be read"):
        remote.received(damaged, tmp_path / "damaged", order)
