"""Checks of disks and of the network."""

from __future__ import annotations

from thinktime.analyses.health.readings import Readings, Sums
from thinktime.analyses.health.result import Check

PRESSURE_LIMIT = 0.1
"""Share of the time with a task stalled on a disk: as memory in the question about saturation. A single
program that reads much, a backup, may cause this, and harm nobody else."""
READ_LIMIT_S = 0.02
READS_LEAST = 100
"""Mean time of a read: twice the 10 ms of a rotating disk that is not queued for, and a hundred times that of
a solid-state one. Means over fewer reads are chance. Writes are delayed by design, and have no limit."""
FAULTS_LIMIT = 0.001
ERRORS_LEAST = 10
DROPS_LEAST_PER_S = 1.0
"""Share of faulty packets: at a loss of 0.1 % and a round trip of 10 ms, a TCP connection of 1460-byte
segments gets at most 45 Mbit/s (Mathis et al. 1997). Kernels count as dropped what nobody listens to, some
packets a minute on any network."""
STEADY_LIMIT = 0.2
STEADY_LEAST_PER_S = 1e7
STEADY_INTERVALS = 20
"""Share of the intervals within 5 % of the highest rate: random traffic rarely comes so close to its maximum
so often. Below 10 MB/s (80 Mbit/s) hardly any link is full."""


def io_pressure(log: Readings) -> Check:
    """Share of the time in which some task was stalled on a disk."""
    stalled = log.total("psi_io_some_s")
    value = None if stalled is None else stalled / log.time_s
    found = log.enough and value is not None and value >= PRESSURE_LIMIT
    busiest = max(log.disks, key=lambda name: log.disks[name]["busy_s"] or 0.0, default=None)
    return Check(
        kind="io_pressure",
        value=value,
        unit="share",
        limit=PRESSURE_LIMIT,
        found=found,
        evidence=("samples.psi_io_some_s", *(("disks.read_wait_s", "disks.write_wait_s") if busiest else ())),
        section="disks",
        rank=1,
        lost=value or 0.0,
        worst_us=log.worst("psi_io_some_s"),
        values={
            "share": value,
            "disk": busiest,
            "read_s": _mean(log.disks, busiest, "read_wait_s", "reads"),
            "write_s": _mean(log.disks, busiest, "write_wait_s", "writes"),
            "user": _mover(log),
        }
        if found
        else {},
    )


def _mean(disks: Sums, disk: str | None, amount: str, count: str) -> float | None:
    """Mean time of an operation of a disk."""
    sums = disks.get(disk or "", {})
    total, operations = sums.get(amount), sums.get(count)
    return total / operations if total is not None and operations else None


def _mover(log: Readings) -> tuple[str, float] | None:
    """User who moved the most bytes, read or made dirty, and how many.

    None where it is not known of a user at work, who may have moved more: root alone sees that of everybody.
    """
    if any(sums["moved_bytes"] is None and sums["cpu_s"] for sums in log.users.values()):
        return None
    user = max(log.users, key=lambda user: log.users[user]["moved_bytes"] or 0.0, default=None)
    moved = log.users[user]["moved_bytes"] if user is not None else None
    return (log.name(user), moved) if user is not None and moved else None


def slow_reads(log: Readings) -> Check:
    """Mean time of a read of the slowest disk."""
    times = {
        disk: mean
        for disk, sums in log.disks.items()
        if (sums["reads"] or 0.0) >= READS_LEAST
        and (mean := _mean(log.disks, disk, "read_wait_s", "reads")) is not None
    }
    disk = max(times, key=times.__getitem__, default=None)
    value = times[disk] if disk is not None else 0.0 if log.disks else None
    found = log.enough and value is not None and value >= READ_LIMIT_S
    return Check(
        kind="slow_reads",
        value=value,
        unit="s",
        limit=READ_LIMIT_S,
        instead="" if times else "too few reads",
        found=found,
        evidence=("disks.read_wait_s", "disks.reads"),
        section="disks",
        rank=1,
        lost=(log.disks[disk]["read_wait_s"] or 0.0) / log.time_s if disk is not None else 0.0,
        values={"disk": disk, "read_s": value, "reads": log.disks[disk]["reads"]}
        if found and disk is not None
        else {},
    )


def faulty_network(log: Readings) -> Check:
    """Share of the packets of the worst interface that were faulty or dropped."""
    worst: tuple[float, str, float, float] | None = None
    value = 0.0 if log.interfaces else None
    for name, sums in log.interfaces.items():
        errors, drops = sums["errors"] or 0.0, sums["drops"] or 0.0
        packets = (sums["packets_in"] or 0.0) + (sums["packets_out"] or 0.0) + errors + drops
        share = (errors + drops) / packets if packets else 0.0
        many = errors >= ERRORS_LEAST or drops >= DROPS_LEAST_PER_S * log.time_s
        if many:
            value = max(value or 0.0, share)
            if share >= FAULTS_LIMIT and (worst is None or share > worst[0]):
                worst = (share, name, errors, drops)
    return Check(
        kind="faulty_network",
        value=value,
        unit="share",
        limit=FAULTS_LIMIT,
        found=worst is not None,
        evidence=("interfaces.errors", "interfaces.drops"),
        section="rates",
        rank=2,
        lost=0.0,
        values=dict(zip(("share", "interface", "errors", "drops"), worst, strict=True)) if worst else {},
    )


def steady_network(log: Readings) -> Check:
    """Share of the intervals in which the traffic of an interface came close to its own highest rate."""
    values: dict[str, object] = {}
    value = 0.0 if log.traffic else None
    for name, traffic in log.traffic.items():
        highest = traffic.highest
        if highest < STEADY_LEAST_PER_S or log.intervals < STEADY_INTERVALS:
            continue
        share = traffic.near / log.intervals
        if share > (value or 0.0):
            value = share
            values = {"interface": name, "share": share, "rate": highest}
    found = value is not None and value >= STEADY_LIMIT
    return Check(
        kind="steady_network",
        value=value,
        unit="share",
        limit=STEADY_LIMIT,
        found=found,
        evidence=("interfaces.bytes_in", "interfaces.bytes_out"),
        section="rates",
        rank=3,
        values=values if found else {},
    )
