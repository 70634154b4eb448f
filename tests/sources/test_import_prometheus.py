"""Scrapes and range queries: by the text itself, by /proc, and by the parser of the Prometheus project."""

import importlib
import json
import math
import os
import random
import re

import pytest
from damage import effort
from hypothesis import given
from hypothesis import strategies as st
from tool_files import TOOLS, column, imported, kinds, proc, total

import thinktime
from thinktime.errors import InputError
from thinktime.sources.importers import import_file
from thinktime.sources.importers.prometheus import rows
from thinktime.sources.importers.prometheus.exposition import DamagedLineError, labels_of, sample, split

PROM = "node-process.prom"
START_S = 1_790_000_000


def readings(name, series):
    """Values of a series in the order of the scrapes."""
    text = (TOOLS / name).read_text()
    return [float(value) for value in re.findall(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE)]


def scrapes(folder, *texts, step_s=10, name="scrapes.prom"):
    """File with a line `# time` before each text."""
    path = folder / name
    path.write_text("".join(f"# time {START_S + step_s * at}\n{text}\n" for at, text in enumerate(texts)))
    return path


@pytest.mark.parametrize(
    ("name", "series", "scale"),
    [
        ("context_switches", "node_context_switches_total", 1),
        ("forks", "node_forks_total", 1),
        ("interrupts", "node_intr_total", 1),
        ("page_faults_major", "node_vmstat_pgmajfault", 1),
        ("paged_out_bytes", "node_vmstat_pgpgout", 1024),
        ("disk_writes", 'node_disk_writes_completed_total{device="vda"}', 1),
        ("disk_write_bytes", 'node_disk_written_bytes_total{device="vda"}', 1),
        ("disk_busy_s", 'node_disk_io_time_seconds_total{device="vda"}', 1),
        ("psi_cpu_some_s", "node_pressure_cpu_waiting_seconds_total", 1),
    ],
)
@pytest.mark.parametrize("file", [PROM, "node-unmarked.prom"])
def test_amounts_add_up_to_the_last_reading_less_the_first(file, name, series, scale, tmp_path):
    _, log = imported(file, tmp_path)
    values = readings(file, series)
    assert len(values) == {PROM: 5, "node-unmarked.prom": 3}[file]
    assert total(log, name) == pytest.approx((values[-1] - values[0]) * scale, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "pattern", "scale"),
    [
        ("context_switches", r"^ctxt (\d+)", 1),
        ("forks", r"^processes (\d+)", 1),
        ("nice_s", r"^cpu  \d+ (\d+)", 0.01),
        ("system_s", r"^cpu  \d+ \d+ (\d+)", 0.01),
        ("paged_out_bytes", r"^pgpgout (\d+)", 1024),
        ("disk_writes", r"vda (?:\d+ ){4}(\d+)", 1),
        ("disk_write_bytes", r"vda (?:\d+ ){6}(\d+)", 512),
    ],
)
def test_amounts_are_within_those_of_the_kernel(name, pattern, scale, tmp_path):
    """/proc was read before the first scrape and after the last, a second later."""
    _, log = imported(PROM, tmp_path)
    grown = proc(PROM, pattern) * scale
    assert 0.5 * grown <= total(log, name) <= grown + 1e-9
    assert grown > 0


def test_cpus_faults_gauges_and_the_machine(tmp_path):
    done, log = imported(PROM, tmp_path)
    for cpu in "01":
        values = readings(PROM, f'node_cpu_seconds_total{{cpu="{cpu}",mode="user"}}')
        found = log.cpus().collect().filter(cpu=int(cpu))["user_s"].sum()
        assert found == pytest.approx(values[-1] - values[0])
    assert total(log, "user_s") == pytest.approx(total(log, "user_s", "cpus"))
    faults = readings(PROM, "node_vmstat_pgfault")
    assert total(log, "page_faults_minor") + total(log, "page_faults_major") == faults[-1] - faults[0]
    assert column(log, "memory_free_bytes") == readings(PROM, "node_memory_MemFree_bytes")[1:]
    assert column(log, "runnable") == readings(PROM, "node_procs_running")[1:]
    assert column(log, "load_1m") == readings(PROM, "node_load1")[1:]
    machine = log.manifest["sessions"][0]["machine"]
    uname = re.search(r'nodename="([^"]*)",release="([^"]*)"', (TOOLS / PROM).read_text())
    assert (machine["hostname"], machine["kernel"]) == uname.groups()
    assert machine["cpus"] == 2
    assert machine["memory_bytes"] == readings(PROM, "node_memory_MemTotal_bytes")[0]
    marks = [float(time) for time in re.findall(r"^# time (\S+)$", (TOOLS / PROM).read_text(), re.MULTILINE)]
    assert done.start_us == pytest.approx(marks[0] * 1e6, abs=1)
    assert sum(column(log, "length_s")) == pytest.approx(marks[-1] - marks[0])


def test_groups_of_processes_are_commands(tmp_path):
    _, log = imported(PROM, tmp_path)
    values = readings(PROM, 'namedprocess_namegroup_cpu_seconds_total{groupname="make.sh",mode="user"}')
    assert len(values) == 5
    found = log.table("commands").collect().filter(command="make.sh")
    assert found["user_s"].sum() == pytest.approx(values[-1] - values[0])
    assert found["user"].null_count() == len(found)
    resident = readings(PROM, 'namedprocess_namegroup_memory_bytes{groupname="make.sh",memtype="resident"}')
    assert set(found["memory_bytes"]) <= {round(value) for value in resident}


COUNTERS = "node_context_switches_total {a}\nnode_forks_total {b}\nnode_boot_time_seconds {boot}\n"


def node(a, b=5, boot=1000):
    return COUNTERS.format(a=a, b=b, boot=boot)


def test_a_counter_that_fell_is_null_and_a_reboot_drops_the_interval(tmp_path):
    path = scrapes(
        tmp_path, node(100), node(150), node(20), node(60), node(70, boot=2000), node(90, boot=2000)
    )
    done, log = imported(path, tmp_path)
    assert column(log, "context_switches") == [50, None, 40, 20]
    assert column(log, "forks") == [0, 0, 0, 0]
    assert {"counter_reset", "reboot"} <= kinds(done)


def test_a_scrape_that_failed_makes_a_longer_interval(tmp_path):
    _, log = imported(scrapes(tmp_path, node(100), "", "curl: (7) failed\n", node(400)), tmp_path)
    assert column(log, "length_s") == [30.0]
    assert column(log, "context_switches") == [300]


def test_a_series_that_was_away_has_no_amount_until_it_was_seen_twice(tmp_path):
    disk = 'node_disk_reads_completed_total{{device="{}"}} {}\n'
    texts = [disk.format("sda", 10), disk.format("sda", 12) + disk.format("sdb", 1000)]
    texts += [
        disk.format("sda", 15) + disk.format("sdb", 1001),
        disk.format("sdb", 1004),
        disk.format("sda", 40),
    ]
    _, log = imported(scrapes(tmp_path, *texts), tmp_path)
    # Without one of the disks the total would be too small: it is null when one comes or goes.
    assert column(log, "disk_reads") == [None, 4, None, None]
    assert column(log, "reads", "disks") == [2, 3, 1, 3]


def test_interfaces_of_containers_come_and_go(tmp_path):
    packets = 'node_network_receive_packets_total{{device="{}"}} {}\n'
    texts = [packets.format("eth0", at) + packets.format(f"veth{at}", 1000) for at in (1, 3, 6)]
    _, log = imported(scrapes(tmp_path, *texts), tmp_path)
    assert column(log, "net_packets_in") == [2, 3]


def test_values_that_are_no_amounts_are_null(tmp_path):
    texts = [node("1e3"), node("NaN"), node("+Inf"), node("1.5e3"), node("1.6e3")]
    done, log = imported(scrapes(tmp_path, *texts), tmp_path)
    assert column(log, "context_switches") == [None, None, None, 100]
    assert "unread_value" in kinds(done)


def test_a_series_twice_in_a_scrape_keeps_the_first(tmp_path):
    done, log = imported(scrapes(tmp_path, node(1), node(4) + node(900)), tmp_path)
    assert column(log, "context_switches") == [3]
    assert any(kind == "duplicate_series" and "line 10" in detail for kind, detail, _ in done.incidents)


def test_openmetrics_with_times_exemplars_and_an_end(tmp_path):
    text = (
        "# TYPE node_forks counter\n# UNIT node_forks forks\n"
        'node_forks_total {value} {time} # {{trace_id="a # b"}} 1.0 {time}\n'
        "node_forks_created 1.0\n# EOF\n"
    )
    path = tmp_path / "om"
    path.write_text("".join(text.format(value=10 * at, time=START_S + at + 0.25) for at in range(3)))
    _, log = imported(path, tmp_path)
    assert column(log, "forks") == [10, 10]
    assert str(column(log, "start")[0].microsecond) == "250000"


def test_a_folder_of_scrapes_in_the_order_of_names(tmp_path):
    folder = tmp_path / "scrapes"
    folder.mkdir()
    for at in (2, 0, 1):
        path = folder / f"scrape-{at}.txt"
        path.write_text("# TYPE node_forks_total counter\n" + node(100 * at))
        os.utime(path, (START_S, START_S + 60 * at))
    (folder / ".hidden").write_text("nothing")
    done, log = imported(folder, tmp_path)
    assert column(log, "context_switches") == [100, 100]
    assert column(log, "length_s") == [60.0, 60.0]
    assert "time_from_file" in kinds(done)


def test_a_scrape_without_a_time_says_what_to_do(tmp_path):
    path = tmp_path / "scrapes"
    path.write_text(
        "# TYPE node_forks_total counter\n" + node(1) + "# TYPE node_forks_total counter\n" + node(2)
    )
    with pytest.raises(InputError, match=r"line 1: the scrape that begins here has no time; .*# time"):
        import_file(path, tmp_path / "log")


def test_a_scrape_that_lost_its_time_does_not_cost_the_others(tmp_path):
    text = "".join(f"node_forks_total {10 * at}\nnode_time_seconds {START_S + at}\n" for at in range(5))
    path = tmp_path / "scrapes"
    path.write_text(text.replace(f"node_time_seconds {START_S + 2}", "node_time_seconds NaN"))
    done, log = imported(path, tmp_path, kind="prometheus")
    assert column(log, "forks") == [10, 20, 10]
    assert any(kind == "damaged_record" and "line 5" in detail for kind, detail, _ in done.incidents)


def test_metrics_of_nobody_we_know_are_named(tmp_path):
    path = scrapes(tmp_path, "# TYPE http_requests_total counter\nhttp_requests_total 1\n")
    with pytest.raises(InputError, match="no metric of node_exporter, cAdvisor, process-exporter or vLLM"):
        import_file(path, tmp_path / "log")


CONTAINER = (
    'container_cpu_usage_seconds_total{{cpu="total",WEB}} {cpu} {ms}\n'
    'container_fs_reads_bytes_total{{device="/dev/sda",WEB}} {io}\n'
    'container_fs_reads_bytes_total{{device="/dev/sdb",WEB}} {io}\n'
    "container_memory_usage_bytes{{WEB}} 4096\n"
    "container_spec_memory_limit_bytes{{WEB}} {limit}\n"
    'container_cpu_usage_seconds_total{{cpu="total",id="/system.slice/cron.service"}} 5\n'
).replace("WEB", 'id="/kubepods/pod1/abc",container="app",pod="web"')


def test_containers_are_control_groups(tmp_path):
    texts = [
        CONTAINER.format(cpu=1.5 * at, ms=1000 * START_S, io=100 * at, limit=8192 * (at > 1))
        for at in range(3)
    ]
    _, log = imported(scrapes(tmp_path, *texts), tmp_path)
    rows = log.table("groups").collect().to_dicts()
    # A group that did nothing has no row.
    assert [row["group"] for row in rows] == ["/kubepods/pod1/abc"] * 2
    assert [(row["name"], row["kind"]) for row in rows] == [("web/app", "container")] * 2
    assert [row["cpu_s"] for row in rows] == [1.5, 1.5]
    assert [row["read_bytes"] for row in rows] == [200, 200]
    assert [row["memory_limit_bytes"] for row in rows] == [None, 8192]


VLLM = (
    'vllm:num_requests_running{{engine="0",model_name="m"}} {running}\n'
    'vllm:num_requests_waiting{{engine="0",model_name="m"}} 2.0\n'
    'vllm:e2e_request_latency_seconds_sum{{engine="0",model_name="m"}} {seconds}\n'
    'vllm:e2e_request_latency_seconds_count{{engine="0",model_name="m"}} {count}\n'
    'vllm:e2e_request_latency_seconds_bucket{{engine="0",le="1.0",model_name="m"}} 0\n'
    'vllm:generation_tokens_total{{engine="0",model_name="m"}} {tokens}\n'
    'vllm:kv_cache_usage_perc{{engine="0",model_name="m"}} 0.25\n'
    'vllm:kv_cache_usage_perc{{engine="1",model_name="m"}} 0.5\n'
)


def test_vllm_has_columns_of_its_own(tmp_path):
    texts = [
        VLLM.format(running=3 + at % 2, seconds=2.5 * at, count=5 * at, tokens=700 * at) for at in range(40)
    ]
    _, log = imported(scrapes(tmp_path, *texts), tmp_path)
    assert set(column(log, "vllm_requests_completed")) == {5}
    assert column(log, "vllm_response_s") == pytest.approx([2.5] * 39)
    assert set(column(log, "vllm_generation_tokens")) == {700}
    assert set(column(log, "vllm_kv_cache_share")) == {0.5}
    result = thinktime.analyse("throughput", log, by="vllm_requests_running")
    assert {group.load_low for group in result.groups} == {3.0, 4.0}
    # A log without vLLM has none of them.
    _, other = imported(PROM, tmp_path / "other")
    assert not [item.name for item in other.schema("samples") if item.name.startswith("vllm")]


def test_the_overhead_regression_finds_the_costs_that_were_put_in(tmp_path):
    """System time is 1 ms a second, 400 us a fork and 5 us a switch, over 120 scrapes."""
    draw = random.Random(1971)
    forks = switches = 0
    system = user = 100.0
    texts = []
    for at in range(120):
        texts.append(
            f"node_forks_total {forks}\nnode_context_switches_total {switches}\n"
            f'node_cpu_seconds_total{{cpu="0",mode="system"}} {system!r}\n'
            f'node_cpu_seconds_total{{cpu="0",mode="user"}} {user!r}\n'
            f'node_cpu_seconds_total{{cpu="0",mode="idle"}} {200 + 10 * at - system - user!r}\n'
        )
        more, much = draw.randrange(2000), draw.randrange(100_000)
        forks, switches = forks + more, switches + much
        system, user = system + 0.01 + 400e-6 * more + 5e-6 * much, user + draw.uniform(0, 3)
    _, log = imported(scrapes(tmp_path, *texts), tmp_path)
    costs = {cost.request: cost.seconds.value for cost in thinktime.analyse("overhead", log).costs}
    assert costs["forks"] == pytest.approx(400e-6, rel=0.01)
    assert costs["context_switches"] == pytest.approx(5e-6, rel=0.01)
    assert costs["base"] == pytest.approx(0.001, rel=0.05)


def query(folder, series, **more):
    path = folder / "range.json"
    result = [{"metric": metric, "values": values} for metric, values in series]
    path.write_text(
        json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}} | more)
    )
    return path


def test_a_range_query_gives_what_the_scrapes_give(tmp_path):
    """The fixture's scrapes, series by series as Prometheus answers them."""
    series = {}
    times = []
    for line in (TOOLS / PROM).read_text().splitlines():
        if line.startswith("# time "):
            times.append(float(line.split()[2]))
        elif line and not line.startswith("#"):
            name, labels, value = re.match(r"([^{ ]+)(?:\{(.*)\})? (\S+)$", line).groups()
            metric = {"__name__": name, "instance": "a:9100"} | dict(
                re.findall(r'(\w+)="([^"]*)"', labels or "")
            )
            series.setdefault(json.dumps(metric), []).append([times[-1], value])
    path = query(tmp_path, [(json.loads(metric), values) for metric, values in series.items()])
    done, log = imported(path, tmp_path)
    assert done.form == "json"
    _, scraped = imported(PROM, tmp_path / "scraped")
    for table in ("samples", "cpus", "disks", "commands"):
        keys = [
            name
            for name in ("start", "cpu", "device", "command")
            if name in {c.name for c in log.schema(table)}
        ]
        one, other = (item.table(table).collect().sort(keys) for item in (log, scraped))
        assert one.equals(other), table
    assert log.manifest["sessions"][0]["machine"] == scraped.manifest["sessions"][0]["machine"]


def test_a_range_query_of_prometheus_itself(tmp_path):
    """Its points, and /proc before and after them."""
    done, log = imported("range.json", tmp_path)
    answer = json.loads((TOOLS / "range.json").read_text())["data"]["result"]
    points = {item["metric"]["__name__"]: item["values"] for item in answer}
    for name, of in {
        "context_switches": "node_context_switches_total",
        "forks": "node_forks_total",
        "interrupts": "node_intr_total",
    }.items():
        values = [float(value) for _, value in points[of]]
        assert total(log, name) == values[-1] - values[0] > 0
    assert 0 < total(log, "context_switches") <= proc("range.json", r"^ctxt (\d+)")
    assert 0 < total(log, "forks") <= proc("range.json", r"^processes (\d+)")
    assert total(log, "system_s") <= proc("range.json", r"^cpu  \d+ \d+ (\d+)") / 100
    assert done.intervals == len(points["node_forks_total"]) - 1
    assert done.start_us == points["node_forks_total"][0][0] * 1_000_000
    assert log.manifest["sessions"][0]["machine"]["cpus"] == 2


def test_gaps_of_a_range_query(tmp_path):
    at = [START_S + 10 * step for step in range(5)]
    switches = (
        {"__name__": "node_context_switches_total"},
        [[at[k], str(v)] for k, v in enumerate((1, 5, 9, 2, 7))],
    )
    forks = ({"__name__": "node_forks_total"}, [[at[0], "10"], [at[1], "11"], [at[3], "15"], [at[4], "NaN"]])
    done, log = imported(query(tmp_path, [switches, forks, ({}, [[at[0], "1"]])]), tmp_path)
    assert column(log, "context_switches") == [4, 4, None, 5]
    assert column(log, "forks") == [1, None, None, None]
    assert {"counter_reset", "unread_series"} <= kinds(done)


def test_answers_that_are_no_range(tmp_path):
    two = [({"__name__": "node_forks_total", "instance": name}, [[START_S, "1"]]) for name in ("a:1", "b:1")]
    with pytest.raises(InputError, match=r'b:1 and of a:1; a log is of one machine: .*instance="a:1"'):
        import_file(query(tmp_path, two), tmp_path / "log")
    path = tmp_path / "range.json"
    path.write_text('{"status":"success","data":{"resultType":"vector","result":[]}}')
    with pytest.raises(InputError, match="query_range"):
        import_file(path, tmp_path / "log")
    path.write_text('{"status":"error","error":"bad \\u001b[31m","data":{"resultType":"x"}}')
    with pytest.raises(InputError, match="error of a query"):
        import_file(path, tmp_path / "log")
    assert not (tmp_path / "log").exists()


def test_a_range_query_that_is_cut_keeps_its_series(tmp_path):
    at = [START_S + 10 * step for step in range(3)]
    series = [({"__name__": f"node_{name}_total"}, [[t, "5"] for t in at]) for name in ("forks", "intr")]
    path = query(tmp_path, series)
    kept = path.read_text()[:-40]
    path.write_text(kept)
    done, log = imported(path, tmp_path)
    assert column(log, "forks") == [0, 0]
    # An answer of Prometheus is one line, of which the column is the place.
    (detail,) = [detail for kind, detail, _ in done.incidents if kind == "truncated"]
    assert detail.startswith(f"line 1, column {len(kept) + 1}: ")


def test_too_many_series_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "SERIES_MAX", 3)
    text = "".join(f'node_cpu_seconds_total{{cpu="{cpu}",mode="user"}} 1\n' for cpu in range(9))
    done, log = imported(scrapes(tmp_path, text, text), tmp_path)
    assert sorted(set(column(log, "cpu", "cpus"))) == [0, 1, 2]
    assert "unread_series" in kinds(done)


def parser_of_prometheus():
    """The parser of the project itself; skips the test without it, unless everything is required."""
    if os.environ.get("THINKTIME_REQUIRE_ALL") == "1":
        return importlib.import_module("prometheus_client.parser")
    return pytest.importorskip("prometheus_client.parser", reason="pip install prometheus-client")


LABELS = st.dictionaries(
    st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True).filter(
        lambda name: not name.startswith("__")
    ),
    st.text(
        st.characters(exclude_categories=("Cs",), exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
    ),
    max_size=4,
)


@given(labels=LABELS, value=st.floats(), time=st.none() | st.integers(10**12, 10**13))
@effort(150)
def test_lines_are_read_as_the_parser_of_prometheus_reads_them(labels, value, time):
    parser = parser_of_prometheus()

    def quoted(text):
        return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")

    shown = repr(value).replace("inf", "Inf").replace("nan", "NaN")
    inside = ",".join(f'{name}="{quoted(text)}"' for name, text in labels.items())
    line = f"node_forks_total{{{inside}}} {shown}" + ("" if time is None else f" {time}")
    (family,) = parser.text_string_to_metric_families(f"# TYPE node_forks_total counter\n{line}\n")
    (theirs,) = family.samples
    series, rest = split(line)
    ours = sample(rest)
    assert labels_of(series) == theirs.labels
    assert ours.value == theirs.value or (math.isnan(ours.value) and math.isnan(theirs.value))
    assert ours.time_s == (None if time is None else float(theirs.timestamp))


@pytest.mark.parametrize(
    "line",
    [
        "a{b} 1",
        'a{b="c} 1',
        "a",
        "a 1 2 3",
        "a 1_0",
        "a 0x10",
        "a 1 NaN",
        'a{b="c"',
        "a " + "9" * 1000,
        'a{"b"="c"} 1',
    ],
)
def test_lines_that_are_damaged(line):
    with pytest.raises(DamagedLineError):
        sample(split(line)[1])
