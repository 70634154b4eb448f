"""Which metric of Performance Co-Pilot is which column."""

from __future__ import annotations

from thinktime.sources.importers.readings import PAGE_FAULTS, Rule, rules_of

_CPU = {
    "user": "user_s",
    "nice": "nice_s",
    "sys": "system_s",
    "irq.hard": "irq_s",
    "irq.soft": "softirq_s",
    "steal": "steal_s",
    "idle": "idle_s",
    "wait.total": "iowait_s",
}
_PRESSURE = {
    "cpu.some.total": "psi_cpu_some_s",
    "memory.some.total": "psi_memory_some_s",
    "memory.full.total": "psi_memory_full_s",
    "io.some.total": "psi_io_some_s",
    "io.full.total": "psi_io_full_s",
}
_MEMORY = {
    "mem.physmem": "memory_total_bytes",
    "mem.util.free": "memory_free_bytes",
    "mem.util.available": "memory_available_bytes",
    "mem.util.bufmem": "memory_buffers_bytes",
    "mem.util.cached": "memory_cached_bytes",
    "mem.util.anonpages": "memory_anonymous_bytes",
    "mem.util.dirty": "memory_dirty_bytes",
    "mem.util.slab": "memory_slab_bytes",
    "mem.util.pageTables": "memory_page_tables_bytes",
    "mem.util.committed_AS": "memory_committed_bytes",
    "mem.util.swapTotal": "swap_total_bytes",
    "mem.util.swapFree": "swap_free_bytes",
}
_OF_GROUPS = {
    "cgroup.cpuacct.usage": "cpu_s",
    "cgroup.cpu.stat.usage": "cpu_s",
    "cgroup.cpu.stat.user": "user_s",
    "cgroup.cpu.stat.system": "system_s",
    "cgroup.cpusched.throttled_time": "throttled_s",
}
"""Of both versions of control groups: where a path is in both, the greater amount counts.

``cgroup.cpuacct.stat`` is not among them: it is said to be in milliseconds, and PCP 6.0.3 has ticks of 10 ms.
"""

RULES: dict[str, Rule] = {
    **rules_of("samples", {f"kernel.all.cpu.{name}": column for name, column in _CPU.items()}, whole=False),
    **rules_of("cpus", {f"kernel.percpu.cpu.{name}": column for name, column in _CPU.items()}, whole=False),
    **rules_of(
        "samples", {f"kernel.all.pressure.{name}": column for name, column in _PRESSURE.items()}, whole=False
    ),
    **rules_of(
        "samples",
        {
            "kernel.all.pswitch": "context_switches",
            "kernel.all.intr": "interrupts",
            "kernel.all.sysfork": "forks",
            "mem.vmstat.pgfault": PAGE_FAULTS,
            "mem.vmstat.pgmajfault": "page_faults_major",
            "mem.vmstat.nr_dirtied": "pages_dirtied",
            "mem.vmstat.nr_written": "pages_written_back",
            "mem.vmstat.pgfree": "pages_freed",
            "swap.pagesin": "swap_in_pages",
            "swap.pagesout": "swap_out_pages",
            "disk.all.read": "disk_reads",
            "disk.all.write": "disk_writes",
            "disk.all.read_bytes": "disk_read_bytes",
            "disk.all.write_bytes": "disk_write_bytes",
        },
    ),
    # Both are said to be counts; the kernel counts them in units of 1024 bytes.
    "mem.vmstat.pgpgin": Rule(table="samples", column="paged_in_bytes", scale=1024),
    "mem.vmstat.pgpgout": Rule(table="samples", column="paged_out_bytes", scale=1024),
    "disk.all.avactive": Rule(table="samples", column="disk_busy_s", whole=False),
    **rules_of("samples", _MEMORY, counter=False),
    **rules_of(
        "samples",
        {
            "kernel.all.runnable": "runnable",
            "kernel.all.blocked": "blocked",
            # As in /proc/loadavg, which counts tasks.
            "kernel.all.nprocs": "threads",
            "kernel.all.nsessions": "sessions",
        },
        counter=False,
    ),
    "kernel.all.load": Rule(
        table="samples",
        column="",
        by="instance",
        columns={"1": "load_1m", "5": "load_5m", "15": "load_15m"},
        counter=False,
        whole=False,
    ),
    **rules_of(
        "disks",
        {
            "disk.dev.read": "reads",
            "disk.dev.write": "writes",
            "disk.dev.read_bytes": "read_bytes",
            "disk.dev.write_bytes": "write_bytes",
        },
    ),
    **rules_of(
        "disks",
        {
            "disk.dev.read_rawactive": "read_wait_s",
            "disk.dev.write_rawactive": "write_wait_s",
            "disk.dev.avactive": "busy_s",
            "disk.dev.aveq": "queue_s",
        },
        whole=False,
    ),
    "disk.dev.inflight": Rule(table="disks", column="in_progress", counter=False),
    **rules_of(
        "interfaces",
        {
            "network.interface.in.packets": "packets_in",
            "network.interface.out.packets": "packets_out",
            "network.interface.in.bytes": "bytes_in",
            "network.interface.out.bytes": "bytes_out",
            "network.interface.in.errors": "errors",
            "network.interface.out.errors": "errors",
            "network.interface.in.drops": "drops",
            "network.interface.out.drops": "drops",
        },
    ),
    **{
        name: Rule(table="groups", column=column, greatest=True, whole=False)
        for name, column in _OF_GROUPS.items()
    },
    **rules_of(
        "groups", {f"cgroup.pressure.{name}": column for name, column in _PRESSURE.items()}, whole=False
    ),
    **rules_of(
        "groups", {"cgroup.cpusched.periods": "periods", "cgroup.cpusched.throttled": "throttled_periods"}
    ),
    **{
        name: Rule(table="groups", column=column, counter=False, greatest=True)
        for name, column in {
            "cgroup.memory.usage": "memory_bytes",
            "cgroup.memory.current": "memory_bytes",
            "cgroup.memory.limit": "memory_limit_bytes",
        }.items()
    },
}
"""Rule of each metric that is read, by its name, except those of processes."""

OF_PROCESSES = {
    "psinfo.utime": "user_s",
    "psinfo.stime": "system_s",
    "psinfo.minflt": "page_faults_minor",
    "psinfo.maj_flt": "page_faults_major",
    "io.read_bytes": "read_bytes",
    "io.write_bytes": "write_bytes",
    "psinfo.rss": "memory_bytes",
}
"""Column of `users` and `commands` by the metric's name after ``proc.`` or ``hotproc.``."""
LABELS = {"id.uid": "uid", "id.uid_nm": "name", "psinfo.cmd": "command"}
"""What says whose a process is, and what it runs."""
FAMILIES = ("proc", "hotproc")
"""All processes, and those that somebody chose; the first in the archive is read."""
MACHINE = {
    "hinv.ncpu": "cpus",
    "kernel.uname.release": "kernel",
    "kernel.uname.machine": "architecture",
    "kernel.uname.sysname": "system",
}
BEATS = ("kernel.all.cpu.user", "kernel.all.cpu.idle", "kernel.percpu.cpu.user", "kernel.percpu.cpu.idle")
"""Metrics of which each fetch ends an interval: the first that the archive has."""


NAMED = ("disks", "interfaces", "groups")
"""Tables whose rows have the names of instances."""


def wanted() -> dict[str, bool]:
    """Metrics that are read, and whether the names of their instances are needed."""
    plain = (*MACHINE, *(f"{family}.{name}" for family in FAMILIES for name in (*OF_PROCESSES, *LABELS)))
    return dict.fromkeys(plain, False) | {name: rule.table in NAMED for name, rule in RULES.items()}
