"""Simulations from Python and the command line: the same bits however run, and logs that hold them."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from called import thinktime
from thinktime.errors import InputError
from thinktime.log import Log
from thinktime.log.runs import Runs, over_replications
from thinktime.sources.simulated import Limits, Source, find, record, resume, simulate, systems
from thinktime.stats.estimate import Estimate, NotApplicable

MAIN = [sys.executable, "-c", "from thinktime.cli import main; main()"]
REPAIRMAN = {
    "users": 12,
    "think": "exponential(mean=20)",
    "stations": [{"name": "cpu", "discipline": "fcfs", "service": "exponential(mean=0.5)"}],
    "length": 400,
}
CLOCKWORK = REPAIRMAN | {
    "think": 20,
    "stations": [{"name": "cpu", "discipline": "fcfs", "service": 0.5}],
}
EVERY = [
    ("network", REPAIRMAN),
    ("apl360", {"users": 20, "length": 120}),
    ("cp67", {"period": "II-2", "observations": 20}),
    ("multics", {"users": 12, "length": 900}),
    ("ctss", {"users": 12, "normal_users": 9, "length": 900}),
    ("unix6", {"memory": 650, "interactions": 20}),
    ("timesharing", {"population": 6, "background": 0.1, "length": 900}),
]


QUEUES = {"thinking", "foreground", "background", "output_bound", "command", "system", "disk"}
LEVELS = {"interactions", *(f"level {level}" for level in range(9))}
CONTROLLER = {"disk controller", *(f"drive {drive} of disk controller" for drive in range(2))}
LAWS = {
    "network": {
        "Little's law": {"cpu", "think", "the network"},
        "flow balance": {"cpu", "think", "the network"},
        "utilisation law": {"cpu", "think"},
        "conservation of customers": {"the network", "users"},
    },
    "apl360": {
        "Little's law": QUEUES,
        "flow balance": QUEUES | {"users in all queues"},
        "utilisation law": {"processor", "disk"},
        "time adds up": {"processor"},
        "conservation of memory": {"main memory"},
        "every region held has a holder": {"main memory"},
        "every holder has one region": {"main memory"},
        "regions held and free add up": {"main memory"},
    },
    "cp67": {
        "Little's law": {"interactions", "drum", "disks"},
        "flow balance": {"interactions", "drum", "disks", "calls of FREE"},
        "utilisation law": {"drum", "disks"},
        "time adds up": {"processor"},
        "time adds up by kind of request": {"CP"},
        "conservation of page frames": {"main storage"},
    },
    "multics": {
        "Little's law": {"users", "drum", "disks"},
        "flow balance": {"users", "drum", "disks"},
        "utilisation law": {"drum", "disks"},
        "time adds up": {"processors"},
        "processes are charged with useful time and faults": {"processors"},
        "conservation of places": {"core", "the table of active segments"},
    },
    "ctss": {
        "Little's law": LEVELS,
        "flow balance": LEVELS,
        "utilisation law": {"processor"},
        "time adds up": {"processor"},
        "run time adds up by user": {"processor"},
        "swap time adds up by user": {"processor"},
        "conservation of core": {"one piece a program", "pieces apart", "all within core"},
    },
    "timesharing": {
        "Little's law": {"CPUs", "think", "delays", "interactions"},
        "flow balance": {"CPUs", "think", "delays", "interactions"},
        "utilisation law": {"CPUs", "think", "delays"},
        "conservation of interactions": {"CPUs", "delays"},
        "conservation of users": {"terminals"},
    },
    "unix6": {
        "Little's law": CONTROLLER | {"interactions"},
        "flow balance": CONTROLLER | {"interactions"},
        "utilisation law": CONTROLLER,
        "time adds up": {"processor"},
        "requests of all drives": {"disk controller"},
        "conservation of memory": {
            "frames",
            "pages by their use",
            "main memory",
            "swap area",
            "images in main memory",
        },
        "memory held adds up": {"main memory", "swap area"},
        "buffers free and taken": {"the buffer cache"},
        "buffers that are free": {"the buffer cache"},
        "buffers that are found by their block": {"the buffer cache"},
        "blocks in a buffer each": {"the buffer cache"},
    },
}
"""Laws that every run of a system is checked by, and for what."""


def cpu_s(pid):
    """CPU time of a process in user state."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


def test_every_system_is_tried_here():
    assert {system.name for system in systems()} == {name for name, _ in EVERY}


@pytest.mark.parametrize(("system", "parameters"), EVERY, ids=[name for name, _ in EVERY])
class TestEverySystem:
    def test_one_thread_and_many_give_the_same_bits(self, system, parameters):
        one, many = (simulate(system, parameters, seed=3, replications=9, threads=n) for n in (1, 5))
        assert_frame_equal(one.responses, many.responses, check_exact=True)

    def test_a_study_in_two_parts_is_the_study_in_one(self, system, parameters):
        whole = simulate(system, parameters, seed=3, replications=5)
        parts = [
            simulate(system, parameters, seed=3, replications=count, first_replication=first)
            for first, count in ((0, 2), (2, 3))
        ]
        assert_frame_equal(whole.responses, pl.concat(part.responses for part in parts), check_exact=True)

    def test_another_seed_gives_other_figures(self, system, parameters):
        one, other = (simulate(system, parameters, seed=seed).responses for seed in (1, 2))
        assert not one.equals(other)

    def test_the_log_holds_what_the_simulation_gave(self, system, parameters, tmp_path):
        simulated = simulate(system, parameters, seed=3, replications=3)
        simulated.record(tmp_path / "run", trace=True)
        log = Log.open(tmp_path / "run")
        assert log.check() == []
        assert_frame_equal(Runs.open(tmp_path / "run").responses(), simulated.responses, check_exact=True)
        assert [session["options"]["replication"] for session in log.manifest["sessions"]] == [0, 1, 2]
        assert log.manifest["sessions"][0]["machine"]["parameters"] == simulated.parameters
        length = log.samples().select(pl.col("length_s").sum()).collect().item()
        # A run ends at its length, or when all its work is done.
        lengths = [session["replication"]["length_s"] for session in log.manifest["sessions"]]
        # DUSETIMR reads a given number of times while CP-67 is up; the others are always up.
        seen = 300 * 3 * parameters["observations"] if system == "cp67" else sum(lengths)
        assert length == pytest.approx(seen, rel=1e-4)
        assert max(lengths) <= simulated.parameters["length"]
        assert not log.interactions().collect().is_empty()
        if system not in ("network", "timesharing"):  # which have no machine whose doings could be traced
            assert not log.events().collect().is_empty()

    def test_recording_changes_nothing(self, system, parameters, tmp_path):
        simulated = simulate(system, parameters, seed=3, replications=2)
        simulated.record(tmp_path / "traced", trace=True)
        simulated.record(tmp_path / "sampled")
        both = [Runs.open(tmp_path / name) for name in ("traced", "sampled")]
        assert_frame_equal(both[0].responses(), both[1].responses(), check_exact=True)
        assert "interactions" not in Log.open(tmp_path / "sampled").tables

    def test_a_replication_recorded_by_itself_is_the_one_of_many(self, system, parameters, tmp_path):
        simulated = simulate(system, parameters, seed=3, replications=2)
        simulated.record(tmp_path / "many")
        responses = record(system, parameters, tmp_path / "one", seed=3, replication=1)
        assert responses == simulated.responses.drop("replication").row(1, named=True)
        # In the log of many, one replication begins where the other ended.
        last, alone = (
            Log.open(tmp_path / name).samples().drop("start").collect() for name in ("many", "one")
        )
        assert_frame_equal(last.tail(len(alone)), alone, check_exact=True)

    def test_every_parameter_has_a_source(self, system, parameters):
        del parameters
        for parameter in find(system).parameters:
            assert parameter.description, parameter.name
            assert parameter.reference or parameter.source is Source.CHOSEN, parameter.name
            assert parameter.allowed, parameter.name

    def test_every_law_is_checked_for_every_place(self, system, parameters, tmp_path):
        # What is compared was recorded by the checks themselves: one that is left out is missing here.
        simulated = simulate(system, parameters, seed=1)
        assert {law: set(places) for law, places in simulated.laws.items()} == LAWS[system]
        simulated.record(tmp_path / "run")
        recorded = Log.open(tmp_path / "run").manifest["sessions"][0]["replication"]["laws_checked"]
        assert {law: set(places) for law, places in recorded.items()} == LAWS[system]


def test_the_same_users_come_whatever_the_scheduler(tmp_path):
    """Common random numbers: what a user thinks and asks for does not depend on how it is served."""
    asked = {}
    for scheduler in ("modified", "fb_infinity"):
        simulated = simulate("apl360", {"scheduler": scheduler, "length": 200}, seed=5)
        simulated.record(tmp_path / scheduler, trace=True)
        first = Log.open(tmp_path / scheduler).interactions().sort("due").group_by("user").first()
        asked[scheduler] = first.select("user", "class", "think_s", "due").collect().sort("user")
    assert len(asked["modified"]) > 30
    assert_frame_equal(asked["modified"], asked["fb_infinity"])


class TestEstimates:
    def test_copies_are_refused(self):
        with pytest.raises(InputError, match="nothing in this configuration is random"):
            simulate("network", CLOCKWORK, seed=1, replications=3)
        assert len(simulate("network", CLOCKWORK, seed=1).responses) == 1

    def test_an_unknown_response_is_named(self):
        with pytest.raises(InputError, match="has no response 'respnse'; it has: "):
            simulate("network", REPAIRMAN, seed=1).estimate("respnse")

    def test_what_no_replication_has_and_what_has_no_spread(self):
        frame = pl.DataFrame(
            {"wait": [None, None], "lost": [0.0, 0.0]}, schema_overrides={"wait": pl.Float64}
        )
        assert isinstance(over_replications(frame, "wait", "s"), NotApplicable)
        found = over_replications(frame, "lost", "")
        assert isinstance(found, Estimate)
        assert (found.value, found.low, found.n) == (0.0, None, 2)


class TestBadInput:
    @pytest.mark.parametrize(
        ("system", "parameters", "message"),
        [
            ("apl36", {}, 'did you mean "apl360"'),
            ("apl360", {"usres": 3}, 'did you mean "users"'),
            ("apl360", {"scheduler": "fb_infinty"}, "fb_infinity"),
            ("apl360", {"regions": 0}, "regions: 0 was given; give a whole number from 1"),
            ("apl360", {"time_slice": -0.1}, "time_slice: -0.1 was given"),
            ("apl360", {"time_slice": 700}, "time_slice: 700 was given"),
            ("apl360", {"warm_up": 700}, "warm_up: 700 was given; give a number of seconds from 0"),
            ("apl360", {"warm_up": "mser"}, "mser5"),
            ("apl360", {"length": 0}, "length: 0 was given"),
            ("network", {"users": 3, "stations": []}, "stations"),
            ("network", REPAIRMAN | {"think": "exponential(mean=-1)"}, "think"),
            ("network", REPAIRMAN | {"think": "hyperexponential(weights=[1,2],means=[1])"}, "think"),
        ],
    )
    def test_the_message_names_parameter_value_and_remedy(self, system, parameters, message):
        with pytest.raises(InputError) as refused:
            simulate(system, parameters, seed=1)
        assert message in str(refused.value)

    def test_replications_and_seed(self):
        with pytest.raises(InputError, match="replications is 0"):
            simulate("apl360", seed=1, replications=0)
        with pytest.raises(InputError, match="seed is -1"):
            simulate("apl360", seed=-1)


class TestResume:
    def test_a_resumed_simulation_is_the_one_that_was_never_interrupted(self, tmp_path):
        simulate("network", REPAIRMAN, seed=4, replications=2).record(tmp_path / "run")
        further = resume(tmp_path / "run", replications=3)
        further.record(tmp_path / "run", mode="resume")
        whole = simulate("network", REPAIRMAN, seed=4, replications=5).responses
        assert further.responses["replication"].to_list() == [2, 3, 4]
        assert_frame_equal(Runs.open(tmp_path / "run").responses(), whole, check_exact=True)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"seed": 5}, "holds network with seed 4"),
            ({"system": "apl360"}, "not of apl360"),
            ({"parameters": {"users": 13}}, "was made with another users"),
        ],
    )
    def test_what_differs_from_the_log_is_refused(self, tmp_path, given, message):
        simulate("network", REPAIRMAN, seed=4).record(tmp_path / "run")
        with pytest.raises(InputError, match=message):
            resume(tmp_path / "run", **given)
        # The same in another form is no difference.
        think = {"think": {"kind": "exponential", "mean": 20}}
        assert resume(tmp_path / "run", think, seed=4).seed == 4

    def test_an_unknown_mode_is_refused(self, tmp_path):
        with pytest.raises(InputError, match="append"):
            simulate("network", REPAIRMAN, seed=4).record(tmp_path / "run", mode="append")


class TestCommand:
    def test_figures_are_those_of_python(self):
        done = thinktime("simulate", "apl360", "-p", "length=100", "--replications", 3, "--format", "json")
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        simulated = simulate("apl360", {"length": 100}, seed=1, replications=3)
        rows = {row[0]: row[1] for row in json.loads(done.stdout)["tables"][0]["rows"]}
        assert rows["mean_reaction_s"]["value"] == simulated.estimate("mean_reaction_s").value

    def test_a_log_is_extended_and_not_written_over(self, tmp_path):
        run = tmp_path / "run"
        common = ("simulate", "apl360", "-p", "length=100", "--replications", 2, "-o", run)
        assert thinktime(*common).returncode == 0
        again = thinktime(*common)
        assert again.returncode == 2
        assert "--resume extends it, --force replaces it" in again.stderr
        assert thinktime(*common, "--resume").returncode == 0
        assert_frame_equal(
            Runs.open(run).responses(), simulate("apl360", {"length": 100}, seed=1, replications=4).responses
        )
        other = thinktime(*common[:3], "length=200", *common[4:], "--resume")
        assert other.returncode == 2
        assert "was made with another length" in other.stderr
        assert thinktime(*common, "--force").returncode == 0
        assert len(Runs.open(run).responses()) == 2

    def test_what_is_added_is_cut_like_what_was_there(self, tmp_path):
        run = tmp_path / "run"
        common = ("simulate", "apl360", "-p", "length=400", "-p", "warm_up=mser5", "-o", run)
        assert thinktime(*common, "--replications", 2).returncode == 0
        assert thinktime(*common, "--replications", 1, "--resume").returncode == 0
        facts = [session["replication"] for session in Log.open(run).manifest["sessions"]]
        assert len({fact["warm_up_s"] for fact in facts}) == 1

    def test_a_file_of_parameters(self, tmp_path):
        config = tmp_path / "queue.toml"
        config.write_text('users = 3\nthink = "exponential(mean=2)"\n[[stations]]\nname = "cpu"\n')
        done = thinktime("simulate", "network", "--config", config, "-p", "length=50")
        assert done.returncode == 2
        assert "stations" in done.stderr
        config.write_text("users = = 3\n")
        done = thinktime("simulate", "network", "--config", config)
        assert done.returncode == 2
        assert "line 1" in done.stderr
        config.write_text("users = 20\n\ncore = 40\n")
        done = thinktime("simulate", "multics", "--config", config)
        assert done.returncode == 2
        assert f"{config}, line 3: multics: core: 40 was given; 64 Kwords of it" in done.stderr
        # What was given beside the file is not the file's fault.
        assert str(config) not in thinktime("simulate", "multics", "--config", config, "-p", "core=50").stderr

    def test_systems_are_listed_with_their_parameters(self):
        assert "apl360" in thinktime("systems").stdout
        listed = thinktime("systems", "apl360", "--format", "csv").stdout
        rows = csv.DictReader(listed.splitlines())
        sources = {row["row"]: row["unit"] or row["value"] for row in rows if row["quantity"] == "source"}
        assert (sources["users"], sources["reply_time"]) == ("page", "calibrated")
        assert thinktime("systems", "apl").returncode == 2

    def test_an_interrupt_ends_it(self):
        command = [*MAIN, "simulate", "apl360", "-p", "length=1e7", "--replications", "40"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            # After all imports, however slow the machine is today.
            while cpu_s(process.pid) < 2.0:
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        assert process.returncode not in (0, None)
        assert b"Traceback" not in error


def test_a_warm_up_that_is_to_be_found_is_not_recorded_at_once(tmp_path):
    with pytest.raises(InputError, match="mser5"):
        record("network", REPAIRMAN | {"warm_up": "mser5"}, tmp_path / "run", seed=1)
    assert not (tmp_path / "run").exists()


ENDLESS = [
    ("apl360", {"time_slice": 1e-9, "dispatch_overhead": 0}, "time_slice", "--max-events"),
    ("cp67", {"interval": 1e-9}, "interval", "--max-events"),
    ("ctss", {"quantum": 1e-9, "drum_revolution": 0, "line_overhead": 0}, "quantum", "--max-events"),
    ("multics", {"interval": 1e-9}, "interval", "--max-events"),
    ("network", {"arrivals": 1e-9, "stations": REPAIRMAN["stations"]}, "arrivals", "--max-events"),
    ("timesharing", {"time_slice": 1e-9}, "time_slice", "--max-events"),
    ("unix6", {"update_interval": 1e-9}, "update_interval", "--max-events"),
]


@pytest.mark.parametrize(("system", "parameters", "driver", "option"), ENDLESS)
def test_a_simulation_above_a_limit_is_refused_with_the_parameter_that_drives_it(
    system, parameters, driver, option
):
    with pytest.raises(InputError, match=rf"^{system}: {driver}: .*above the limit of 1.0e10.*{option}"):
        simulate(system, parameters, seed=1)


def test_limits_can_be_lowered_and_raised():
    refused = {"users": 4, "length": 3600}
    with pytest.raises(InputError, match=r"about \d+ events are due .*limit of 1000"):
        simulate("apl360", refused, seed=1, limits=Limits(max_events=1000))
    simulate("apl360", refused, seed=1, limits=Limits(max_events=10**6))
    with pytest.raises(InputError, match=r"max_events is 0; give a whole number of at least 1"):
        simulate("apl360", refused, seed=1, limits=Limits(max_events=0))
    with pytest.raises(InputError, match=r"bytes of memory are needed.*--max-memory"):
        simulate("apl360", refused, seed=1, limits=Limits(max_memory=1000))


def test_an_open_network_above_its_capacity_says_so():
    overloaded = {"arrivals": 1e-6, "stations": REPAIRMAN["stations"], "length": 600}
    with pytest.raises(InputError, match=r"open and overloaded: \d+ customers are in it after"):
        simulate("network", overloaded, seed=1, limits=Limits(max_events=10**11, max_memory=10**7))


def test_a_figure_over_no_observation_is_null():
    run = simulate("unix6", {"compute": "exponential(mean=1000)", "length": 600}, seed=1)
    assert run.responses["file_transfers_per_interaction"].to_list() == [None]
    assert isinstance(run.estimate("file_transfers_per_interaction"), NotApplicable)


def test_parameters_that_no_system_reads_are_refused(tmp_path):
    def said(*arguments, text=None):
        config = tmp_path / "given.toml"
        if text is not None:
            config.write_text(text)
            arguments = (*arguments, "--config", str(config))
        done = thinktime("simulate", "apl360", *arguments)
        assert done.returncode == 2, done.stderr
        return done.stderr

    assert "users: 1979-05-27 is a date" in said(text="users = 1979-05-27")
    deep = "[" * 3000 + "]" * 3000
    assert "given.toml: its lists and tables are nested too deeply" in said(text=f"users = {deep}")
    assert "-p users: its lists and tables are nested too deeply" in said("-p", "users=" + "[" * 100_000)
    assert "nested deeper than 128 levels" in said("-p", f"users={'[' * 200}{']' * 200}")
    assert len(said("-p", "users=" + "9" * 300)) < 200
    assert len(said("-p", "users=" + json.dumps(list(range(1000))))) < 400


def test_lists_of_tables_are_read_as_the_command_shows_them():
    """`thinktime systems network` shows the stations in TOML; JSON says the same."""
    toml_text = 'stations=[{name = "cpu", discipline = "fcfs", service = 0.5}]'
    json_text = 'stations=[{"name": "cpu", "discipline": "fcfs", "service": 0.5}]'
    assert toml_text.removeprefix("stations=") in " ".join(thinktime("systems", "network").stdout.split())
    common = ("-p", "arrivals=exponential(mean=1)", "-p", "length=50", "--format", "json")
    first, second = (thinktime("simulate", "network", "-p", text, *common) for text in (toml_text, json_text))
    assert (first.returncode, first.stderr) == (0, "")
    assert json.loads(first.stdout)["tables"] == json.loads(second.stdout)["tables"]
    wrong = thinktime("simulate", "network", "-p", "stations=[{name = cpu}]", *common)
    assert wrong.returncode == 2
    assert "-p stations: [{name = cpu}] is neither TOML nor JSON" in wrong.stderr
