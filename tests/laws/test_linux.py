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
    "intervals_have_a_length": ("samples", pl.lit(0.0).alias("length_s")),
    "rows_stand_in_order": ("samples", pl.col("start").reverse()),
    "intervals_do_not_overlap": ("samples", pl.col("length_s") * 2),
    "counters_are_not_negative": ("samples", -pl.col("user_s")),
    "cpu_time_adds_up": ("samples", pl.col("idle_s") + 10.0),
    "devices_add_to_the_machine": ("cpus", pl.col("user_s") + 1),
    "details_belong_to_an_interval": ("users", pl.col("start") + SECOND * 0.001),
    "users_get_no_more_than_the_machine_gave": ("users", pl.col("cpu_exact_s") * 2),
    "active_users_are_users": ("samples", (pl.col("active_users") + 1000).alias("active_users")),
    "interactions_go_forward": ("interactions", pl.col("completion") - 100 * SECOND),
    "a_user_does_one_interaction_at_a_time": ("interactions", pl.col("completion") + 100 * SECOND),
    "service_is_within_response": ("interactions", pl.col("service_s") + 1000),
}
"""For each law, what is done to a table so that the law must see it."""


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
    thinktime(*play, "--interval", "0.2s", "--seed", "7", "-o", path)
    return Log.open(path)


@pytest.mark.parametrize("log", ["recorded", "played"])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_a_log_of_this_machine_obeys(law, log, request):
    law(request.getfixturevalue(log))


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
    """But for `check`, whose canaries stand with the log's own tests."""
    assert {law.__name__ for law in LAWS} - set(SPOILERS) == {"the_log_checks_itself"}


@pytest.mark.parametrize("name", SPOILERS)
def test_a_log_that_is_impossible_breaks_the_law(name, played, tmp_path):
    """Each law sees what it is there for: a canary a law, made from a real log."""
    (law,) = (law for law in LAWS if law.__name__ == name)
    table, expression = SPOILERS[name]
    path = tmp_path / "spoiled"
    with LogWriter.open(path, source="canary", machine=played.manifest["sessions"][0]["machine"]) as writer:
        for name in played.tables:
            frame = played.table(name)
            frame = (frame.with_columns(expression) if name == table else frame).collect()
            writer.write(name, frame, played.schema(name))
    with pytest.raises(AssertionError):
        law(Log.open(path))
