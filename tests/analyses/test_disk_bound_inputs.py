"""Inputs of the model of a bottleneck at the swap disk, from a log whose figures were made by hand."""

import metered_disks as metered
import numpy as np
import pytest
from known_logs import frame, starts

from thinktime.log import Log, LogWriter
from thinktime.predictions.disk_bound import of_log
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable

PARAMETERS = {
    "memory": 650,
    "processes": 12,
    "size": 157,
    "text": 0,
    "pc": 12,
    "compute": "table",
    "cpu_speed": 2.0,
    "interactions": 200,
    "workload": "prototypes",
    "drives": 2,
    "swap_drive": 0,
    "file_drive": 1,
    "memory_management": "swapping",
}
RESPONSES = {
    "elapsed_s": 400.0,
    "think_mean_s": 0.5,
    "loaded_mean": 4.2,
    "file_transfers": 2720.0,
    "block_time_s": 0.0394,
    "swap_time_s": 0.0641,
}


@pytest.fixture
def unix(tmp_path):
    """Log of the metered machine, with what the simulated system says of itself."""

    def write(sessions=1, made=None, last=None, **parameters):
        path = tmp_path / f"log{len(list(tmp_path.iterdir()))}"
        for number in range(sessions):
            own = {**PARAMETERS, **parameters, **((last or {}) if number == sessions - 1 else {})}
            rows = {**(made or metered.rows())}
            rows["start"] = starts(rows["length_s"], 1000.0 * number)
            replicate(path, number, rows, own)
        return Log.open(path)

    return write


def replicate(path, number, rows, parameters):
    """Write one replication, whose responses are larger by a hundredth than those of the one before."""
    machine = {"system": "unix6", "drives": metered.DRIVES, "parameters": parameters, "units": {"pc": "ms"}}
    first_us = int(rows["start"][0].timestamp() * 1e6)
    mode = "resume" if number else "create"
    with LogWriter.open(path, mode, source="unix6", machine=machine, start_us=first_us) as writer:
        schema = tuple(map(metered.column, rows))
        writer.write("samples", frame(rows, schema), schema)
        said = [{"name": name, "value": value * (1.0 + 0.01 * number)} for name, value in RESPONSES.items()]
        writer.set("replication", {"number": number, "warm_up_s": 0.0, "responses": said})
        writer.end_us = first_us + round(float(np.sum(rows["length_s"])) * 1e6)


def test_drives_of_their_own_give_the_two_times(unix):
    """Drive 1 serves 68 requests in 5.25 s of each interval, drive 0 10 swaps in 3.5 s."""
    result = of_log(unix())
    assert result.place == "files"
    assert not result.missing
    found = result.inputs
    assert found["block_time_s"].value == pytest.approx(5.25 / 68)
    assert found["swap_time_s"].value == pytest.approx(3.5 / 10)
    # The two drives are idle at once in 180 of 600 ticks.
    assert found["utilisation"].value == pytest.approx(1 - 180 / 600)
    assert found["queue_length"].value == pytest.approx(840 / 600)
    assert (found["elapsed_s"].value, found["blocks"].value) == (400.0, 2720.0)
    assert found["elapsed_s"].low is None
    configured = [found[name] for name in ("memory", "size", "processes", "interactions")]
    assert configured == [650, 157, 12, 2400]
    assert found["burst_s"] == pytest.approx(0.006)
    assert found["think_s"].value == 0.5
    assert found["interactive"]
    assert found["single_controller"]
    assert found["one_swap_at_a_time"]


@pytest.mark.parametrize("shared", [{"swap_drive": 1}, {"drives": 1}])
def test_of_a_shared_drive_the_simulation_keeps_the_times_apart(unix, shared):
    found = of_log(unix(sessions=4, **shared)).inputs
    assert found["block_time_s"].value == pytest.approx(RESPONSES["block_time_s"] * 1.015)
    assert found["swap_time_s"].value == pytest.approx(RESPONSES["swap_time_s"] * 1.015)
    assert found["swap_time_s"].low < found["swap_time_s"].value < found["swap_time_s"].high
    assert found["swap_time_s"].n == 4


def test_replications_give_intervals(unix):
    found = of_log(unix(sessions=4)).inputs
    assert found["elapsed_s"].value == pytest.approx(400.0 * 1.015)
    assert found["elapsed_s"].low < 400.0 * 1.015 < found["elapsed_s"].high


def test_what_a_log_does_not_say_is_told(unix):
    quiet = metered.rows(swap_ins=0, swap_outs=0, swapped_clicks=0)
    assert of_log(unix(made=quiet)).missing["swap_time_s"].reason == "nothing was swapped"
    paged = of_log(unix(memory_management="paging")).missing["swap_time_s"]
    assert isinstance(paged, NotApplicable)
    assert "pages" in paged.reason
    assert "size" not in of_log(unix(text=100)).inputs
    assert "burst_s" not in of_log(unix(compute={"kind": "exponential", "mean": 1.0})).inputs
    missing = of_log(unix(), device="hda")
    assert missing.remedy == "choose one of swap, files"
    mixed = of_log(unix(sessions=2, last={"memory": 700}))
    assert "different configurations" in mixed.reason


def test_a_real_machine_says_pages_and_not_swaps(log_of):
    """The busiest disk gives the time of a request; no kernel records the time to swap a whole process."""
    lengths = np.full(40, 10.0)
    wave = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    samples = {"start": starts(lengths), "length_s": lengths, "swap_in_pages": np.full(40, 20.0)}
    disks = {
        "start": starts(lengths),
        "device": ["sda"] * 40,
        "reads": 300.0 + 30.0 * wave,
        "writes": np.full(40, 100.0),
        "busy_s": 8.0 + 0.5 * wave,
        "queue_s": 24.0 + wave,
    }
    result = of_log(log_of(samples=samples, disks=disks))
    assert result.place == "sda"
    found = result.inputs
    assert found["block_time_s"].value == pytest.approx(8.0 / 400)
    assert found["utilisation"].value == pytest.approx(0.8)
    assert found["queue_length"].value == pytest.approx(2.4)
    for known in (found["block_time_s"], found["utilisation"], found["queue_length"]):
        assert isinstance(known, Estimate)
        assert known.low < known.value < known.high
    assert "counts pages swapped" in result.missing["swap_time_s"].reason
    assert isinstance(result.missing["loaded"], NotApplicable)
    assert Caveat("mixed_requests") in result.caveats
