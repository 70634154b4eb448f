"""Laws of the logs that tests make: those of `Log.check`, and closer ones.

Each law takes a `Log` and raises AssertionError naming the interval that breaks it. Laws whose tables
the log lacks say nothing. `Log.check` must never find fault with a sound log of any machine; the laws that
are stated here again have the tolerances of an undisturbed one, or compare more.
"""

import polars as pl

__all__ = ["LAWS"]

TICK_S = 0.01
"""The kernel gives CPU states in units of 10 ms (USER_HZ)."""

CPU_STATES = ["user_s", "nice_s", "system_s", "irq_s", "softirq_s", "steal_s", "idle_s", "iowait_s"]


def intervals_do_not_overlap(log):
    """The end of an interval is not after the start of the next (to 1 ms: two clocks were read)."""
    if any(incident["kind"] == "clock_step" for incident in log.manifest["incidents"]):
        return
    gaps = log.samples().select(
        (pl.col("start").shift(-1) - pl.col("start")).dt.total_microseconds() / 1e6 - pl.col("length_s")
    )
    assert (gaps.collect().to_series().drop_nulls() > -1e-3).all()


def cpu_time_adds_up(log):
    """States add to CPUs x length, to a tick a state and CPU and 2 % of sampling.

    On an idle CPU they may add to more by what the hypervisor took: Linux counts idle time by the clock, and
    adds the time that was taken meanwhile.
    """
    cpus = log.manifest["sessions"][-1]["machine"].get("cpus")
    states = [
        column.name
        for column in log.schema("samples")
        if column.name in CPU_STATES or column.role in ("user_time", "system_time", "idle_time")
    ]
    if not cpus or not states:
        return
    stolen = pl.col("steal_s") if "steal_s" in states else pl.lit(0.0)
    frame = log.samples().select(pl.sum_horizontal(states).alias("sum"), "length_s", stolen.alias("stolen"))
    slack = len(states) * cpus * TICK_S

    def adds_up(sums, share):
        excess, allowed = sums["sum"] - cpus * sums["length_s"], slack + share * cpus * sums["length_s"]
        return bool((excess.is_between(-allowed, allowed + sums["stolen"])).all())

    # An interval as long as the whole log averages the ticks out.
    assert adds_up(frame.collect(), 0.1), frame.collect()
    total = frame.sum().collect()
    assert adds_up(total, 0.02), f"{total.row(0, named=True)}, {cpus} CPUs"


def devices_add_to_the_machine(log):
    """Per-CPU times add to the machine's, per-interface packets to loopback and the others."""
    if "cpus" in log.tables and log.has("cpus"):
        of_cpus = log.cpus().group_by("start").agg(pl.col("user_s", "system_s").sum())
        both = log.samples().join(of_cpus, on="start", suffix="_cpus").collect()
        for state in ("user_s", "system_s"):
            cpus = log.cpus().select(pl.col("cpu").n_unique()).collect().item()
            off = (both[state] - both[f"{state}_cpus"]).abs()
            assert (off <= cpus * TICK_S + 1e-9).all(), f"{state}: {off.max()} s"
    if "interfaces" in log.tables and log.has("interfaces"):
        packets = log.interfaces().filter(pl.col("interface") != "lo").select(pl.col("packets_in").sum())
        assert (
            packets.collect().item() == log.samples().select(pl.col("net_packets_in").sum()).collect().item()
        )


def users_get_no_more_of_each_state(log):
    """User and system time in every interval, to a microsecond, where nothing is sampled."""
    if "users" not in log.tables or "cpu_exact_s" in {column.name for column in log.schema("samples")}:
        return
    for role in ("user_time", "system_time"):
        (of_machine,) = log.columns_with(role, table="samples")
        (of_user,) = log.columns_with(role, table="users")
        of_users = log.users().group_by("start").agg(pl.col(of_user).sum().alias("users"))
        both = log.samples().join(of_users, on="start", how="left")
        assert both.filter(pl.col("users") > pl.col(of_machine) + 1e-6).collect().is_empty(), role


def a_user_does_one_interaction_at_a_time(log):
    """One is sent when the one before it is complete; where users type ahead, they are worked on in order."""
    if "interactions" not in log.tables:
        return
    ahead = (log.manifest["sessions"][-1].get("machine") or {}).get("types_ahead", False)
    begun = "first_service" if ahead else "sent"
    ordered = log.interactions().sort("user", "due")
    overlap = ordered.filter(
        (pl.col("user") == pl.col("user").shift(1)) & (pl.col(begun) < pl.col("completion").shift(1))
    )
    assert overlap.collect().is_empty()


def service_is_within_response(log):
    """CPU time received is at most the response time on every CPU, to 1 ms of measuring itself."""
    if "interactions" not in log.tables:
        return
    cpus = log.manifest["sessions"][-1]["machine"].get("cpus", 1)
    response_s = (pl.col("completion") - pl.col("sent")).dt.total_microseconds() / 1e6
    assert log.interactions().filter(pl.col("service_s") > cpus * response_s + 1e-3).collect().is_empty()


def the_log_checks_itself(log):
    """Every law of `docs/reference/log-format.md` holds."""
    assert log.check() == []


LAWS = [
    intervals_do_not_overlap,
    cpu_time_adds_up,
    devices_add_to_the_machine,
    users_get_no_more_of_each_state,
    a_user_does_one_interaction_at_a_time,
    service_is_within_response,
    the_log_checks_itself,
]
