"""The laws, on logs of this machine: idle, and under synthetic users."""

import subprocess
import sys

import polars as pl
import pytest
from identities import LAWS

from thinktime.analyses.disks import analysis as disk_analysis
from thinktime.log import Log, LogWriter
from thinktime.stats.estimate import NotApplicable

SECOND = pl.duration(seconds=1)
SPOILERS = {
    "intervals_do_not_overlap": ("samples", pl.col("length_s") * 2),
    "cpu_time_adds_up": ("samples", pl.col("idle_s") + 10.0),
    "devices_add_to_the_machine": ("cpus", pl.col("user_s") + 1),
    "a_user_does_one_interaction_at_a_time": ("interactions", pl.col("completion") + 100 * SECOND),
    "service_is_within_response": ("interactions", pl.col("service_s") + 1000),
}
"""For each law stated in these tests, a change to a table so that the law must see it."""
CHECKED = {
    "finite": ("samples", pl.lit(float("nan")).alias("system_s")),
    "not_negative": ("samples", -pl.col("user_s")),
    "possible_amount": ("samples", pl.lit(2**64 - 1, pl.UInt64).alias("forks")),
    "free_within_total": ("samples", (pl.col("memory_total_bytes") + 1).alias("memory_free_bytes")),
    "possible_time": ("interactions", pl.lit(2**62).cast(pl.Datetime("us", "UTC")).alias("completion")),
    "positive_length": ("samples", pl.lit(0.0).alias("length_s")),
    "in_order": ("samples", pl.col("start").reverse()),
    "cpu_time_fits": ("samples", pl.col("idle_s") + 10.0),
    "cpus_add_up": ("cpus", pl.col("user_s") + 1),
    "users_within_machine": ("users", pl.col("cpu_exact_s") * 2),
    "active_users_are_users": ("samples", (pl.col("active_users") + 1000).alias("active_users")),
    "within_an_interval": ("users", pl.col("start") + SECOND * 0.001),
    "interactions_go_forward": ("interactions", pl.col("completion") - 100 * SECOND),
    "service_within_response": ("interactions", pl.col("service_s") + 1000),
    "parts_within_response": ("interactions", pl.col("run_delay_s") + 100),
}
"""The same for laws of `Log.check`; the others have theirs in the tests of the log."""


def thinktime(*arguments):
    command = [sys.executable, "-c", "from thinktime.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("laws") / "recorded"
    thinktime("record", "-o", path, "--interval", "0.2s", "--duration", "4s")
    return Log.open(path)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    path = tmp_path_factory.mktemp("laws") / "played"
    play = ["play", "mixed", "--users", "1..3", "--step", "2s", "--think", "exponential(mean=0.2s)"]
    thinktime(*play, "--interval", "0.2s", "--seed", "7", "--accept-driver-load", "-o", path)
    return Log.open(path)


@pytest.mark.parametrize("log", ["recorded", "played"])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_a_log_of_this_machine_obeys(law, log, request):
    law(request.getfixturevalue(log))


def test_real_responses_are_made_of_their_parts(played):
    """Neither class pauses: on any machine half of the response is CPU time or a wait for a CPU."""
    done = played.interactions().filter(pl.col("completion").is_not_null()).collect()
    assert (done["forks"] > 0).any()
    assert (done.filter(pl.col("class") != "compile")["forks"] == 0).all()
    assert done["run_delay_s"].null_count() == done["service_s"].null_count()
    busy = done.filter(pl.col("class").is_in(["compute", "load"]), pl.col("service_s").is_not_null())
    responses = (busy["completion"] - busy["sent"]).dt.total_microseconds().sum() / 1e6
    assert 0.5 * responses < (busy["service_s"] + busy["run_delay_s"]).sum() < 1.01 * responses


def test_disks_count_what_the_table_of_disks_holds(recorded):
    """The analysis against plain sums: all operations, and busy time over the measured time."""
    result = disk_analysis.analyse(recorded)
    disks, seconds = recorded.disks().collect(), recorded.samples().collect()["length_s"].sum()
    assert {drive.name for drive in result.drives} == set(disks["device"])
    for drive in result.drives:
        own = disks.filter(pl.col("device") == drive.name)
        assert drive.requests_total == (own["reads"] + own["writes"]).sum()
        assert drive.utilisation.exact.value == pytest.approx(own["busy_s"].sum() / seconds)
    assert sum(state.share.sampled.value for state in result.cpu.states[:-1]) == pytest.approx(1.0)
    assert isinstance(result.matrix, NotApplicable)


def test_every_law_has_a_canary():
    """Here, but for `check`, with a canary for each of its laws, and for a law of simulated systems."""
    elsewhere = {"the_log_checks_itself", "users_get_no_more_of_each_state"}
    assert {law.__name__ for law in LAWS} - set(SPOILERS) == elsewhere


def spoiled(log, path, table, expression):
    """A copy of `log` at `path` with one column of `table` changed."""
    with LogWriter.open(path, source="canary", machine=log.manifest["sessions"][0]["machine"]) as writer:
        for name in log.tables:
            frame = log.table(name)
            frame = (frame.with_columns(expression) if name == table else frame).collect()
            writer.write(name, frame, log.schema(name))
    return Log.open(path)


@pytest.mark.parametrize("name", SPOILERS)
def test_a_log_that_is_impossible_breaks_the_law(name, played, tmp_path):
    """Each law sees what it is there for: a canary a law, made from a real log."""
    (law,) = (law for law in LAWS if law.__name__ == name)
    log = spoiled(played, tmp_path / "spoiled", *SPOILERS[name])
    with pytest.raises(AssertionError):
        law(log)


@pytest.mark.parametrize("name", CHECKED)
def test_check_names_the_law_that_a_log_breaks(name, played, tmp_path):
    table, expression = CHECKED[name]
    defects = spoiled(played, tmp_path / "spoiled", table, expression).check()
    broken = [defect for defect in defects if defect.law == name]
    assert broken, defects
    assert all(defect.remedy for defect in broken)
