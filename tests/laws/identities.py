"""What must hold for every log, whatever its source.

Each law takes a `Log` and raises AssertionError naming the interval that breaks it. Laws whose tables
the log lacks say nothing. The kernel's books are not closed at one instant: where a law compares two
of its counters, the tolerance says what may be in one and not yet in the other.
"""

import polars as pl

__all__ = ["LAWS"]

TICK_S = 0.01
"""The kernel gives CPU states in units of 10 ms (USER_HZ)."""

CPU_STATES = ["user_s", "nice_s", "system_s", "irq_s", "softirq_s", "steal_s", "idle_s", "iowait_s"]


def intervals_have_a_length(log):
    assert log.samples().filter(~(pl.col("length_s") > 0)).collect().is_empty()


def rows_stand_in_order(log):
    stepped = any(incident["kind"] == "clock_step" for incident in log.manifest["incidents"])
    starts = log.samples().select("start").collect()["start"]
    assert stepped or starts.is_sorted()


def intervals_do_not_overlap(log):
    """The end of an interval is not after the start of the next (to 1 ms: two clocks were read)."""
    if any(incident["kind"] == "clock_step" for incident in log.manifest["incidents"]):
        return
    gaps = log.samples().select(
        (pl.col("start").shift(-1) - pl.col("start")).dt.total_microseconds() / 1e6 - pl.col("length_s")
    )
    assert (gaps.collect().to_series().drop_nulls() > -1e-3).all()


def counters_are_not_negative(log):
    for table in log.tables:
        names = [column.name for column in log.schema(table) if column.kind == "counter"]
        lowest = log.table(table).select(pl.col(names).min()).collect().row(0)
        negative = {name: low for name, low in zip(names, lowest, strict=True) if low is not None and low < 0}
        assert not negative, f"{table}: {negative}"


def cpu_time_adds_up(log):
    """States add to CPUs x length, to a tick a state and CPU and 2 % of sampling."""
    cpus = log.manifest["sessions"][-1]["machine"].get("cpus")
    states = [
        column.name
        for column in log.schema("samples")
        if column.name in CPU_STATES or column.role in ("user_time", "system_time", "idle_time")
    ]
    if not cpus or not states:
        return
    frame = log.samples().select(pl.sum_horizontal(states).alias("sum"), "length_s").collect()
    slack = len(states) * cpus * TICK_S
    off = (frame["sum"] - cpus * frame["length_s"]).abs()
    # An interval as long as the whole log averages the ticks out.
    assert (off <= slack + 0.1 * cpus * frame["length_s"]).all(), frame
    total, length = frame["sum"].sum(), cpus * frame["length_s"].sum()
    assert abs(total - length) <= slack + 0.02 * length, f"{total} s in the states, {length} s of capacity"


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


def details_belong_to_an_interval(log):
    starts = log.samples().select("start")
    for table in ("users", "cpus", "disks", "interfaces"):
        if table in log.tables:
            assert log.table(table).join(starts, on="start", how="anti").collect().is_empty(), table


def users_get_no_more_than_the_machine_gave(log):
    """Exact CPU time of all users is at most that of the machine, to 2 % and 50 ms in the whole log."""
    if "users" not in log.tables:
        return
    if "cpu_exact_s" not in {column.name for column in log.schema("samples")}:
        users_get_no_more_of_each_state(log)
        return
    samples = log.samples().select(pl.col("cpu_exact_s", "recorder_cpu_s").sum()).collect()
    if samples["cpu_exact_s"][0] == 0:
        return
    of_users = log.users().select(pl.col("cpu_exact_s").sum()).collect().item()
    assert of_users <= 1.02 * samples["cpu_exact_s"][0] + 0.05


def users_get_no_more_of_each_state(log):
    """The same of user and of system time in every interval, to a microsecond: nothing is sampled there."""
    for role in ("user_time", "system_time"):
        (of_machine,) = log.columns_with(role, table="samples")
        (of_user,) = log.columns_with(role, table="users")
        of_users = log.users().group_by("start").agg(pl.col(of_user).sum().alias("users"))
        both = log.samples().join(of_users, on="start", how="left")
        assert both.filter(pl.col("users") > pl.col(of_machine) + 1e-6).collect().is_empty(), role


def active_users_are_users(log):
    if "users" not in log.tables:
        return
    of_users = log.users().group_by("start").agg(pl.len().alias("users"))
    both = log.samples().join(of_users, on="start", how="left").filter(pl.col("active_users").is_not_null())
    assert both.filter(pl.col("active_users") > pl.col("users").fill_null(0)).collect().is_empty()


def interactions_go_forward(log):
    if "interactions" not in log.tables:
        return
    steps = ["due", "sent", "first_service", "first_output", "completion"]
    frame = log.interactions()
    for at, earlier in enumerate(steps):
        for later in steps[at + 1 :]:
            assert frame.filter(pl.col(later) < pl.col(earlier)).collect().is_empty(), (earlier, later)


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
    assert log.check() == []


LAWS = [
    intervals_have_a_length,
    rows_stand_in_order,
    intervals_do_not_overlap,
    counters_are_not_negative,
    cpu_time_adds_up,
    devices_add_to_the_machine,
    details_belong_to_an_interval,
    users_get_no_more_than_the_machine_gave,
    active_users_are_users,
    interactions_go_forward,
    a_user_does_one_interaction_at_a_time,
    service_is_within_response,
    the_log_checks_itself,
]
