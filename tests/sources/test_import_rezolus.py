"""Recordings of Rezolus become samples, CPUs and control groups; held to what pyarrow reads of them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tool_files import column, imported, kinds, total

import thinktime
from thinktime.cli import run
from thinktime.errors import InputError
from thinktime.sources.importers import Given
from thinktime.sources.importers.rezolus.fields import labels_of
from thinktime.stats.estimate import NotApplicable

REZOLUS = Path(__file__).parents[1] / "fixtures" / "rezolus"
FILES = ["5.4.parquet", "5.11.parquet"]
SECOND = 10**9
BEGIN = 1_795_500_000 * SECOND


def columns(name, **labels):
    """Values of the columns whose metadata have these labels."""
    table = pq.read_table(REZOLUS / name)
    found = []
    for field in table.schema:
        metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        if labels.items() <= metadata.items():
            found.append(table[field.name].to_pylist())
    return found


def grown(name, **labels):
    """Growth over the file, summed over these columns."""
    return sum(values[-1] - values[0] for values in columns(name, **labels))


@pytest.mark.parametrize("name", FILES)
def test_a_recording_has_the_differences_of_its_counters(tmp_path, name):
    done, log = imported(REZOLUS / name, tmp_path, Given())
    assert (done.kind, done.form) == ("rezolus", "parquet")
    (times,) = [pq.read_table(REZOLUS / name)["timestamp"].to_pylist()]
    assert done.intervals == len(times) - 1
    assert total(log, "length_s") == pytest.approx((times[-1] - times[0]) / SECOND, abs=1e-4)
    for state in ("user", "system"):
        cpu_s = grown(name, metric="cpu_usage", state=state) / SECOND
        assert total(log, f"{state}_s") == pytest.approx(cpu_s)
        assert total(log, f"{state}_s", "cpus") == pytest.approx(cpu_s)
    assert total(log, "runqueue_wait_s") == pytest.approx(
        grown(name, metric="scheduler_runqueue_wait") / SECOND
    )
    for kind in ("read", "write"):
        assert total(log, f"disk_{kind}s") == grown(name, metric="blockio_operations", op=kind)
        assert total(log, f"disk_{kind}_bytes") == grown(name, metric="blockio_bytes", op=kind)
    assert total(log, "softirq_net_rx") == grown(name, metric="softirq", kind="net_rx")
    (memory,) = columns(name, metric="memory_available", metric_type="gauge")
    assert column(log, "memory_available_bytes") == memory[1:]
    (cpus,) = columns(name, metric="cpu_cores")
    assert log.manifest["sessions"][0]["machine"]["cpus"] == cpus[0]


@pytest.mark.parametrize("name", FILES)
def test_each_cpu_has_all_of_its_time(tmp_path, name):
    _, log = imported(REZOLUS / name, tmp_path, Given())
    (cpus,) = columns(name, metric="cpu_cores")
    states = sum(total(log, f"{state}_s") for state in ("user", "system", "idle"))
    # A CPU that was read a little later may have more than the interval.
    assert states == pytest.approx(cpus[0] * total(log, "length_s"), rel=0.02)


def test_half_of_the_context_switches_are_not_all(tmp_path):
    done, log = imported(REZOLUS / "5.4.parquet", tmp_path, Given())
    assert kinds(done) == {"unread_series"}
    assert set(column(log, "context_switches")) == {None}


def written(path, fields, columns, metadata=None):
    """Parquet of these columns with the metadata of each."""
    schema = pa.schema(
        [pa.field("timestamp", pa.uint64(), metadata={"metric_type": "timestamp"})]
        + [pa.field(name, pa.uint64(), metadata=labels) for name, labels in fields.items()],
        metadata={"sampling_interval_ms": "1000", "source": "rezolus", **(metadata or {})},
    )
    size = len(next(iter(columns.values())))
    times = [BEGIN + at * SECOND for at in range(size)]
    pq.write_table(pa.table({"timestamp": times, **columns}, schema=schema), path)
    return path


def counter(metric, **labels):
    return {"metric": metric, "metric_type": "counter", **labels}


def test_control_groups_and_both_kinds_of_context_switches(tmp_path):
    path = written(
        tmp_path / "file",
        {
            "a": counter("cgroup_cpu_usage", state="user", name="/system.slice/cron.service", id="7"),
            "b": counter("cgroup_cpu_usage", state="system", name="/system.slice/cron.service", id="7"),
            "c": counter("scheduler_context_switch", kind="voluntary", id="0"),
            "d": counter("scheduler_context_switch", kind="involuntary", id="0"),
            "e": counter("cgroup_cpu_throttled_time", name="/system.slice/cron.service", id="7"),
        },
        {"a": [0, SECOND, 3 * SECOND], "b": [0, 0, SECOND], "c": [5, 7, 9], "d": [1, 1, 4], "e": [0, 0, 5]},
        {"systeminfo": '{"hostname": "web1", "kernel": "Linux version 6.1.0 (gcc)", "arch": "x86_64"}'},
    )
    done, log = imported(path, tmp_path, Given())
    assert done.incidents == ()
    assert column(log, "context_switches") == [2, 5]
    rows = log.table("groups").select("group", "name", "kind", "user_s", "system_s", "cpu_s").collect().rows()
    name = ("/system.slice/cron.service", "cron.service", "service")
    assert rows == [(*name, 1.0, 0.0, 1.0), (*name, 2.0, 1.0, 3.0)]
    machine = log.manifest["sessions"][0]["machine"]
    assert (machine["hostname"], machine["kernel"], machine["system"]) == ("web1", "6.1.0", "Linux")


def test_resets_and_damaged_values_cost_their_interval_alone(tmp_path):
    path = written(
        tmp_path / "file",
        {"a": counter("blockio_operations", op="read"), "b": counter("blockio_operations", op="write")},
        {"a": [10, 20, 5, 6], "b": [1, None, 3, 2**64 - 1]},
    )
    done, log = imported(path, tmp_path, Given())
    assert kinds(done) == {"counter_reset"}
    assert column(log, "disk_reads") == [10, None, 1]
    assert column(log, "disk_writes") == [None, None, None]


def test_what_is_no_recording_of_one_machine_is_refused(tmp_path):
    two = {
        name: counter("blockio_operations", op="read", source="rezolus", node=name)
        for name in ("web1", "web2")
    }
    path = written(tmp_path / "two", two, {"web1": [1, 2], "web2": [1, 2]})
    with pytest.raises(InputError, match=r"is of 2 machines \(web1, web2\)"):
        imported(path, tmp_path, Given())
    path = written(tmp_path / "other", {"a": counter("vllm_requests")}, {"a": [1, 2]})
    with pytest.raises(InputError, match="no metric that is read"):
        imported(path, tmp_path, Given())
    data = (REZOLUS / "5.4.parquet").read_bytes()
    path = tmp_path / "cut"
    path.write_bytes(data[:1000] + data[2000:])
    with pytest.raises(InputError):
        imported(path, tmp_path, Given(), kind="rezolus")
    for schema in ("", "AAAA", "////", "/////" + "A" * 400, "é"):
        with pytest.raises(ValueError, match=r".*"):
            labels_of(schema)


def test_another_parquet_file_is_a_table(tmp_path):
    path = tmp_path / "file"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    with pytest.raises(InputError, match="mapping of its columns is needed"):
        imported(path, tmp_path, Given())


def test_the_questions_that_apply_are_answered(tmp_path, capsys):
    logs = []
    for name in FILES:
        (tmp_path / name).mkdir()
        logs.append(imported(REZOLUS / name, tmp_path / name, Given())[1])
    capacity = thinktime.analyse("capacity", logs[0])
    used_s = (grown(FILES[0], metric="cpu_usage")) / SECOND
    share = used_s / (8 * total(logs[0], "length_s"))
    assert capacity.user.value + capacity.system.value == pytest.approx(share, rel=0.02)
    assert thinktime.analyse("timeline", logs[0]).measured("cpu_busy")
    for question in ("users", "response", "arrivals"):
        assert isinstance(thinktime.analyse(question, logs[0]), NotApplicable), question
    paths = [str(tmp_path / name / "log") for name in FILES]
    for words in (["report", paths[0]], ["analyse", "saturation", paths[0]], ["analyse", "compare", *paths]):
        assert run(words) == 0, words
    assert capsys.readouterr().err == ""
