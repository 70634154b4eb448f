"""Logs of machines that are well, and of machines of which one thing is known to be wrong."""

import numpy as np
import polars as pl
from known_logs import frame, starts

from thinktime.log import Column, Log, LogWriter, vocabulary

CPUS = 2
MEMORY = 16e9
INTERVALS = 300
GROUPS = tuple(
    Column(name=name, type=kind, unit=unit, kind=use, description=name)
    for name, kind, unit, use in (
        ("start", "time", "us", "time"),
        ("group", "text", "", "label"),
        ("throttled_s", "f64", "s", "counter"),
        ("throttled_periods", "u64", "period", "counter"),
        ("periods", "u64", "period", "counter"),
        ("memory_oom_kills", "u64", "process", "counter"),
    )
)
"""Columns of control groups, for logs whose vocabulary does not have the table."""

KINDS = ("idle", "office", "files", "batch")
"""Kinds of load on machines that are well."""
BUSY = {"idle": (0.005, 0.03), "office": (0.1, 0.6), "files": (0.1, 0.4), "batch": (0.97, 1.0)}
"""Lowest and highest busy share of the CPUs; those of a batch are full, without a queue."""


def healthy(kind, seed, intervals=INTERVALS):
    """Tables of a machine that is well: as random as loads are, with waits as of a queue of that load."""
    random = np.random.default_rng(seed)
    n, length = intervals, np.ones(intervals)
    busy = random.uniform(*BUSY[kind], n)
    # M/M/2: waiting over running is rho^2 / (1 - rho^2); a batch has as many tasks as there are CPUs.
    wait = 0.02 if kind == "batch" else busy**2 / (1 - busy**2)
    used = busy * CPUS
    files = kind == "files"
    # Memory wanders, within what is left of it.
    free = 0.55 + 0.2 * np.sin(random.uniform(0, 6) + np.cumsum(random.normal(0, 0.05, n)))
    reads = random.poisson(200 if files else 2, n)
    samples = {
        "start": starts(length),
        "length_s": length,
        "user_s": used * 0.7,
        "nice_s": np.zeros(n),
        "system_s": used * 0.3,
        "irq_s": np.zeros(n),
        "softirq_s": np.zeros(n),
        "steal_s": random.uniform(0, 0.01, n),
        "idle_s": CPUS - used,
        "iowait_s": np.zeros(n),
        "psi_cpu_some_s": np.minimum(busy * wait, 0.9),
        "psi_memory_some_s": random.exponential(1e-4, n),
        "psi_io_some_s": random.uniform(0, 0.12 if files else 0.02, n),
        "page_faults_minor": random.poisson(1000 * used),
        "swap_in_pages": random.poisson(0.1, n),
        "swap_out_pages": random.poisson(0.1, n),
        "pages_scanned": random.poisson(5000 if files else 5, n),
        "memory_total_bytes": np.full(n, MEMORY),
        "memory_available_bytes": free * MEMORY,
    }
    samples["pages_reclaimed"] = np.floor(samples["pages_scanned"] * random.uniform(0.8, 1.0, n))
    shares = random.dirichlet(np.full(4, 0.7), n).T
    users = {
        f"uid:{1000 + number}": {"cpu_exact_s": used * part, "run_delay_s": used * part * wait}
        for number, part in enumerate(shares)
    }
    # Daemons of an idle machine wake, wait some microseconds, and run as long.
    users["uid:0"] = {"cpu_exact_s": np.full(n, 0.002), "run_delay_s": random.uniform(0, 0.008, n)}
    disk = {"reads": reads, "read_wait_s": reads * random.uniform(2e-4, 8e-3, n), "busy_s": np.full(n, 0.1)}
    net = {
        "packets_in": random.poisson(500, n),
        "packets_out": random.poisson(300, n),
        "bytes_in": random.lognormal(16 if files else 10, 1.0, n),
        "bytes_out": random.lognormal(10, 1.0, n),
        "errors": np.zeros(n),
        # LLDP and the like, to which nobody listens.
        "drops": random.poisson(0.05, n),
    }
    return {"samples": samples, "users": users, "disks": {"sda": disk}, "interfaces": {"eth0": net}}


def group_of_none():
    """Columns of a control group without a quota that anybody felt, of which nothing was killed."""
    return {
        name: np.full(INTERVALS, value)
        for name, value in (
            ("throttled_s", 0.0),
            ("throttled_periods", 0.0),
            ("periods", 10.0),
            ("memory_oom_kills", 0.0),
        )
    }


KEYS = {"users": "user", "disks": "device", "interfaces": "interface", "groups": "group"}


def write(path, tables, machine=None, recorder=None):
    """Log of these tables; those of users and devices have columns for each name."""
    with LogWriter.open(path, source="test", machine=machine or {"cpus": CPUS}, start_us=0) as writer:
        writer.write("samples", frame(tables["samples"], vocabulary("samples")))
        begun = tables["samples"]["start"]
        for table, key in KEYS.items():
            own = GROUPS if table == "groups" else None
            frames = [
                frame({"start": begun, key: [name] * len(begun), **columns}, own or vocabulary(table))
                for name, columns in tables.get(table, {}).items()
            ]
            if frames:
                writer.write(table, pl.concat(frames, how="diagonal").sort("start", maintain_order=True), own)
        if recorder is not None:
            writer.set("recorder", recorder)
    return Log.open(path)
