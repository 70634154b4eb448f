"""Disks and who waits for them, on machines whose figures follow by arithmetic."""

import dataclasses

import metered_disks as metered
import numpy as np
import polars as pl
import pytest
from known_logs import starts

from thinktime.analyses.disks.analysis import analyse
from thinktime.analyses.disks.formulas import Piece, Reading
from thinktime.analyses.disks.intervals import Intervals
from thinktime.analyses.disks.result import Maker
from thinktime.analyses.disks.section import section
from thinktime.errors import InputError
from thinktime.log import Log, LogError
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series.looks import Looks


@pytest.fixture
def unix(tmp_path):
    """Analyse a log of one session of the metered machine."""

    def analysed(made=None, drives=metered.DRIVES, **options):
        log = metered.write(
            tmp_path / f"log{len(list(tmp_path.iterdir()))}", [(made or metered.rows(), None)], drives
        )
        return analyse(log, **options)

    return analysed


def holds(estimate, value):
    """An estimate with this value within its interval."""
    assert estimate.value == pytest.approx(value)
    assert estimate.low <= estimate.value <= estimate.high
    assert estimate.method
    return True


def kinds(result):
    """Kinds of the caveats of a result."""
    return {caveat.kind for caveat in result.caveats}


def test_counters_are_those_put_in(unix):
    result = unix()
    assert result.intervals == 40
    assert result.time_s == pytest.approx(400.0)
    assert [(item.name, item.total) for item in result.cache] == [
        ("block_reads", 1600.0),
        ("read_aheads", 320.0),
        ("cache_hits", 4800.0),
        ("block_writes", 800.0),
    ]
    assert holds(result.cache[0].rate, 4.0)
    assert result.cache[0].rate.unit == "block/s"
    assert holds(result.hit_ratio, 120 / 160)
    assert [item.rate.value for item in result.terminal] == pytest.approx([0.2, 40.0])
    assert [item.total for item in result.swapping.amounts] == [200.0, 200.0, 62_800.0]
    assert holds(result.swapping.size, 157.0)
    assert result.swapping.size.unit == "click"
    assert holds(result.swapping.between, 1.0)
    assert result.caveats == ()


def test_the_queue_is_the_mean_over_the_ticks(unix):
    (queue,) = unix().queues
    assert queue.place == "controller"
    assert holds(queue.mean.sampled, 840 / 600)
    assert queue.mean.exact is None
    assert queue.readings == 24_000
    assert [part.value for part in queue.distribution[:6]] == pytest.approx(
        [count / 600 for count in metered.QUEUE]
    )
    assert sum(part.value for part in queue.distribution) == pytest.approx(1.0)
    assert queue.distribution[0].n == 24_000
    assert "clock ticks" in queue.distribution[0].method


def test_drives_stand_beside_what_their_maker_says(unix):
    swap, files = unix().drives
    assert (swap.name, files.name) == ("swap", "files")
    assert holds(files.requests, 6.8)
    assert files.requests_total == 2720.0
    assert files.amount_total == 40 * 34_816
    assert holds(files.bytes_per_request, 512.0)
    assert holds(files.seeks, 3.4)
    assert holds(files.access, 2.6 / 68)
    assert files.access.n == 2720
    assert holds(files.transfer, 0.0012)
    assert files.maker == Maker(access_s=0.0675, transfer_s=pytest.approx(512 * 2.35e-6))
    assert holds(swap.service, 0.35)
    assert swap.maker.transfer_s == pytest.approx(10_048 * 2.35e-6)
    assert files.reads is files.response is None


def test_sampled_and_exact_utilisation_stand_beside_each_other(unix):
    """Drive 0 was busy for 3.4 s of 10, and 210 of 600 ticks found it so: sampling says 1 point too much."""
    swap, files = unix(metered.rows(drive0_busy_s=3.4)).drives
    assert holds(swap.utilisation.sampled, 0.35)
    assert holds(swap.utilisation.exact, 0.34)
    assert holds(swap.utilisation.difference, 0.01)
    assert files.utilisation.difference.value == pytest.approx(0.0)
    assert not files.utilisation.differs


def test_the_matrix_adds_up_to_its_margins_and_to_the_cpu(unix):
    result = unix()
    found = result.matrix
    assert (found.cpu, found.drives) == (("user", "system", "idle"), ("none", "swap", "files", "both"))
    assert found.ticks == 24_000
    for name, cells in zip(found.cpu, found.shares, strict=True):
        assert [cell.value for cell in cells] == pytest.approx([n / 600 for n in metered.TICKS[name]])
    assert [total.value for total in found.cpu_totals] == pytest.approx([0.3, 0.15, 0.55])
    assert sum(total.value for total in found.drive_totals) == pytest.approx(1.0)
    assert holds(result.cpu.waiting, 240 / 600)
    assert not result.cpu.is_hint
    states = {state.name: state.share for state in result.cpu.states}
    assert list(states) == ["user", "system", "idle", "busy"]
    assert states["busy"].sampled.value == pytest.approx(0.45)
    assert states["busy"].exact.value == pytest.approx(0.45)
    assert result.controller.sampled.value == pytest.approx(420 / 600)
    assert result.controller.exact is None


def test_the_busy_times_of_drives_that_take_turns_are_the_controllers(unix):
    made = metered.rows()
    for cpu in metered.TICKS:
        made[f"ticks_{cpu}_none"] = made[f"ticks_{cpu}_none"] + made[f"ticks_{cpu}_both"]
        made[f"ticks_{cpu}_both"] = np.zeros(40)
    made["drive1_busy_s"] = np.full(40, 1.75)
    controller = unix(made).controller
    assert holds(controller.exact, 0.35 + 0.175)
    assert controller.sampled.value == pytest.approx((105 + 210) / 600)
    assert controller.difference.value == pytest.approx(0.0, abs=1e-12)


def test_a_drive_that_is_not_there_is_left_out(unix):
    made = metered.rows(without=("drive1",))
    for name in ("requests", "bytes", "seeks", "access_s", "transfer_s", "busy_s"):
        made[f"drive1_{name}"] = np.zeros(40)
    for cpu, (none, first, second, both) in metered.TICKS.items():
        counts = zip(metered.STATES, (none + second, first + both, 0, 0), strict=True)
        made |= {f"ticks_{cpu}_{state}": np.full(40, float(count)) for state, count in counts}
    result = unix(made, drives=metered.DRIVES[:1])
    assert [drive.name for drive in result.drives] == ["swap"]
    assert result.matrix.drives == ("none", "swap")
    assert result.controller == result.drives[0].utilisation
    assert len(unix(made, drives=[]).drives) == 2


def test_queues_beyond_the_last_length_make_the_mean_a_lower_bound(unix):
    made = metered.rows(ticks_queue_0=198.0, ticks_queue_15=12.0, ticks_queue_4=30.0)
    result = unix(made)
    assert result.queues[0].mean.sampled.value == pytest.approx((840 + 180) / 600)
    assert Caveat("lower_bound", longest=15, place="controller") in result.caveats


@pytest.mark.parametrize(
    ("without", "absent"),
    [
        (("ticks",), {"queues", "matrix", "controller"}),
        (("ticks_queue",), {"queues"}),
        (("ticks_queue_3",), {"queues"}),
        (("cache", "block", "read_a"), {"cache", "hit_ratio"}),
        (("cache",), {"hit_ratio"}),
        (("swap",), {"swapping"}),
        (("terminal",), {"terminal"}),
        (("user", "system", "idle", "ticks"), {"cpu", "queues", "matrix", "controller"}),
        (("drive",), {"drives"}),
    ],
)
def test_what_the_log_lacks_does_not_apply_and_says_so(unix, without, absent):
    result = unix(metered.rows(without=without))
    figures = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    missing = {name: value for name, value in figures.items() if isinstance(value, NotApplicable)}
    assert set(missing) == absent
    assert all(value.reason and value.remedy for value in missing.values())


def test_a_log_without_disks_does_not_apply(unix, tmp_path):
    assert isinstance(
        unix(metered.rows(without=("drive", "ticks", "block", "cache", "read_a"))), NotApplicable
    )


def test_damaged_values_are_left_out_and_told(unix):
    """Intervals are alike, so that those left out change no mean."""
    made = metered.rows()
    made["cache_hits"][3] = -7.0
    made["block_reads"][4] = np.nan
    made["ticks_idle_none"][5] += 50.0
    made["ticks_queue_1"][6] += 50.0
    made["drive0_busy_s"][7] = 1e9
    made["user_s"][8] = np.inf
    result = unix(made)
    assert result.hit_ratio.value == pytest.approx(0.75)
    assert result.cache[0].rate.value == pytest.approx(4.0)
    assert result.queues[0].readings == 39 * 600
    assert result.matrix.ticks == 39 * 600
    assert result.drives[0].utilisation.exact.value == pytest.approx(0.35)
    assert result.caveats == (
        Caveat("negative_counts", counts=1),
        Caveat("contradictory_ticks", intervals=2, total=40),
        Caveat("overfull", intervals=1, total=40, device="swap"),
    )
    state = next(state for state in result.cpu.states if state.name == "user")
    assert state.share.exact.value == pytest.approx(0.3)


def test_drives_that_are_no_tables_are_refused_with_the_place(unix):
    wrong = [{"name": 3, "mean_access_s": "fast", "transfer_s_per_byte": -1.0}, "drive"]
    with pytest.raises(LogError, match=r"manifest\.json: session 1: machine\.drives is"):
        unix(drives=wrong)


def test_a_drive_without_figures_has_no_maker(unix):
    first, second = unix(drives=[{}, {}]).drives
    assert (first.name, second.name) == ("drive0", "drive1")
    assert first.maker is second.maker is None


def replications(path, reads=(30.0, 40.0, 50.0), **more):
    sessions = []
    for number, count in enumerate(reads):
        made = metered.rows(8, block_reads=count)
        made["start"] = starts(made["length_s"], 1000.0 * number)
        responses = [
            {"name": "queue_length", "value": 1.3 + number / 10, "unit": "request"},
        ]
        sessions.append((made, {"number": number, "warm_up_s": 0.0, "responses": responses, **more}))
    return metered.write(path, sessions)


def test_replications_are_pooled_with_intervals_over_them(tmp_path):
    """Rates 3, 4, 5 a second: Student's t with 2 degrees of freedom is 4.303, their deviation 1."""
    result = analyse(replications(tmp_path / "log"))
    assert result.sessions == (0, 1, 2)
    rate = result.cache[0].rate
    assert rate.value == pytest.approx(4.0)
    assert rate.high - rate.value == pytest.approx(4.3027 / np.sqrt(3), rel=1e-4)
    assert "3 replications" in rate.method
    queue = result.queues[0].mean
    assert queue.exact.value == pytest.approx(1.4)
    assert queue.difference.value == pytest.approx(0.0, abs=1e-12)
    assert queue.difference.high == pytest.approx(4.3027 * 0.1 / np.sqrt(3), rel=1e-3)
    assert result.controller.exact is None


def test_one_session_can_be_chosen(tmp_path):
    log = replications(tmp_path / "log")
    result = analyse(log, session=2)
    assert result.sessions == (2,)
    assert result.cache[0].rate.value == pytest.approx(5.0)
    exact = result.queues[0].mean.exact
    assert (exact.value, exact.low, exact.high) == (pytest.approx(1.5), None, None)
    with pytest.raises(InputError, match="no session 3; its sessions are 0 to 2"):
        analyse(log, session=3)


def test_warm_up_is_left_out_and_a_stretch_is_what_lies_within(tmp_path):
    log = replications(tmp_path / "log", warm_up_s=20.0)
    whole = analyse(log)
    assert whole.intervals == 18
    part = analyse(log, start_s=35.0, end_s=70.0)
    assert part.intervals == 9
    assert part.time_s == pytest.approx(90.0)
    # The simulation's own integrals are of the whole run: they are of other intervals.
    assert part.queues[0].mean.exact is None
    assert isinstance(analyse(log, start_s=1e6), NotApplicable)
    for start, end in ((5.0, 5.0), (-1.0, None), (np.nan, None)):
        with pytest.raises(InputError, match="the end must come after the start"):
            analyse(log, start_s=start, end_s=end)


def test_periods_add_up_to_the_whole(unix):
    made = metered.rows(block_reads=np.arange(40.0))
    result = unix(made, every_s=100.0)
    assert [period.start_s for period in result.periods] == pytest.approx([0.0, 100.0, 200.0, 300.0])
    assert [period.reads for period in result.periods] == pytest.approx([0.45, 1.45, 2.45, 3.45])
    assert result.periods[0].queues == (pytest.approx(1.4),)
    assert result.periods[0].utilisations == (pytest.approx(0.35), pytest.approx(0.525))
    assert result.periods[0].waiting == pytest.approx(0.4)
    assert len(unix(made).periods) == 20
    with pytest.raises(InputError, match="must be longer than 0 s"):
        unix(made, every_s=0.0)


def linux(log_of, **changed):
    """Two disks over 40 intervals of 2 s; the second does something in every fourth only."""
    length = np.full(40, 2.0)
    begin = starts(length)
    ones = np.ones(40)
    samples = {
        "start": begin,
        "length_s": length,
        "user_s": ones,
        "system_s": 0.5 * ones,
        "idle_s": 2.0 * ones,
        "iowait_s": 0.5 * ones,
        "cpu_exact_s": 1.6 * ones,
        "disk_reads": 20 * ones,
        "disk_writes": 5 * ones,
        "swap_in_pages": 4 * ones,
    }
    columns = {"reads": 16, "writes": 4, "read_bytes": 65_536, "write_bytes": 16_384, "read_wait_s": 0.3}
    columns |= {"write_wait_s": 0.1, "busy_s": 0.5, "queue_s": 0.4, "in_progress": 1}
    full = pl.DataFrame({"start": begin, "device": ["sda"] * 40}).with_columns(
        pl.lit(float(value)).alias(name) for name, value in columns.items()
    )
    rare = full.gather_every(4).with_columns(pl.lit("sdb").alias("device"), pl.lit(2.0).alias("in_progress"))
    disks = pl.concat([full, rare]).sort("start", maintain_order=True)
    return log_of(
        {**samples, **changed}, disks={name: disks[name] for name in disks.columns}, machine={"cpus": 2}
    )


@pytest.mark.parametrize(("busy_s", "differs"), [(0.16, False), (1.5, True)])
def test_bursts_that_few_readings_met_are_no_sampling_error(log_of, busy_s, differs):
    """24 requests at once in 8 % of the time: 12 readings of none are no surprise; beside 75 % they are."""
    length = np.full(12, 2.0)
    ones = np.ones(12)
    samples = {"start": starts(length), "length_s": length, "idle_s": 4.0 * ones, "disk_writes": 50 * ones}
    disks = {"start": samples["start"], "device": ["vda"] * 12, "writes": 50 * ones, "busy_s": busy_s * ones}
    disks |= {"queue_s": 24.0 * busy_s * (1.0 + 0.1 * np.sin(np.arange(12))), "in_progress": 0 * ones}
    result = analyse(log_of(samples, disks=disks))
    (queue,) = result.queues
    assert queue.mean.difference.value == pytest.approx(-queue.mean.exact.value)
    # An interval of a mean of zeros would tell that the requests were seen to be absent.
    assert (queue.mean.difference.low, queue.mean.differs) == (None, differs)
    assert ("sampling_error" in kinds(result)) == differs


def test_a_linux_log_gives_what_its_kernel_tells(log_of):
    result = analyse(linux(log_of))
    sda, sdb = result.drives
    assert (sda.name, sdb.name) == ("sda", "sdb")
    assert (sda.reads.value, sda.writes.value, sda.requests.value) == pytest.approx((8.0, 2.0, 10.0))
    assert sda.bytes_per_request.value == pytest.approx(4096.0)
    assert sda.service.value == pytest.approx(0.025)
    assert sda.response.value == pytest.approx(0.02)
    assert sda.utilisation.exact.value == pytest.approx(0.25)
    # An interval without a row of the disk is one in which it did nothing.
    assert sdb.requests.value == pytest.approx(2.5)
    assert sdb.utilisation.exact.value == pytest.approx(0.0625)
    queues = {queue.place: queue for queue in result.queues}
    assert queues["sda"].mean.exact.value == pytest.approx(0.2)
    assert queues["sda"].mean.sampled.value == pytest.approx(1.0)
    assert queues["sda"].mean.differs
    assert [part.value for part in queues["sdb"].distribution] == pytest.approx([0.75, 0.0, 0.25])
    states = {state.name: state.share for state in result.cpu.states}
    assert states["user"].sampled.value == pytest.approx(0.25)
    assert states["idle"].sampled.value == pytest.approx(0.625)
    assert states["busy"].difference.value == pytest.approx(1.5 / 4 - 1.6 / 4)
    assert result.cpu.is_hint
    assert result.cpu.waiting.value == pytest.approx(0.125)
    assert [item.name for item in result.cache] == ["disk_reads", "disk_writes"]
    assert result.swapping.amounts[0].rate.value == pytest.approx(2.0)
    for absent in (result.matrix, result.hit_ratio, result.controller, result.terminal):
        assert isinstance(absent, NotApplicable)
    assert {"iowait", "parallel_requests"} <= kinds(result)


def test_long_queues_of_a_device_are_counted_together_and_its_mean_stays_exact(log_of):
    """Every fourth interval ends with 40 requests in progress: the mean is 10, though none is told apart."""
    length = np.full(40, 1.0)
    begin = starts(length)
    waiting = np.where(np.arange(40) % 4 == 0, 40.0, 0.0)
    disks = {"start": begin, "device": ["sda"] * 40, "in_progress": waiting, "busy_s": 0.5 * length}
    result = analyse(log_of({"start": begin, "length_s": length}, disks=disks))
    (queue,) = result.queues
    assert queue.mean.sampled.value == pytest.approx(10.0)
    assert len(queue.distribution) == 16
    assert queue.open_ended
    assert queue.distribution[15].value == pytest.approx(0.25)
    assert "lower_bound" not in kinds(result)


def test_only_totals_of_disks_make_one_line(log_of):
    length = np.full(20, 1.0)
    made = {
        "start": starts(length),
        "length_s": length,
        "disk_busy_s": 0.3 * length,
        "disk_reads": 6 * length,
    }
    result = analyse(log_of(made))
    (drive,) = result.drives
    assert (drive.name, drive.reads.value) == ("all disks", pytest.approx(6.0))
    assert drive.requests is None
    assert drive.utilisation.exact.value == pytest.approx(0.3)
    assert "all_disks" in kinds(result)


def estimates(value):
    if isinstance(value, Estimate):
        return [value]
    if isinstance(value, tuple):
        return [item for part in value for item in estimates(part)]
    if dataclasses.is_dataclass(value):
        return [item for field in dataclasses.fields(value) for item in estimates(getattr(value, field.name))]
    return []


def test_every_estimate_has_its_interval_n_and_method(unix):
    result = unix()
    parts = ("cache", "hit_ratio", "queues", "drives", "controller", "cpu", "matrix", "terminal", "swapping")
    assert all(estimates(getattr(result, part)) for part in parts)
    for item in estimates(result):
        assert item.n > 0
        assert item.method
        assert item.low <= item.value <= item.high
        assert item.unit or -1.0 <= item.low <= item.high <= 1.0


INTERVALS, TICKS = 64, 600
REPETITIONS = 300


def sampled_drive(random, mean_s, in_step=False):
    """Ticks and seconds, by interval, of a drive that is busy and idle for exponential times."""
    end = INTERVALS * TICKS / metered.HERTZ
    times = random.exponential(mean_s, int(1.5 * end / mean_s) + 100)
    edges = np.cumsum(times)
    ticks = np.arange(INTERVALS * TICKS) / metered.HERTZ + random.uniform(0, 1 / metered.HERTZ)
    # The state changes at each edge: odd stretches are busy.
    busy = np.searchsorted(edges, ticks) % 2 == 1
    bounds = np.linspace(0.0, end, INTERVALS + 1)
    stretches = np.where(np.arange(len(times)) % 2 == 1, times, 0.0)
    reached = np.interp(bounds, np.concatenate([[0.0], edges]), np.concatenate([[0.0], np.cumsum(stretches)]))
    exact = np.diff(reached)
    found = busy.reshape(INTERVALS, TICKS).sum(axis=1).astype(float)
    if in_step:
        # What begins at a tick and is over before the next one is never found by a tick.
        exact = np.minimum(exact + 0.2, 10.0)
    return found, exact


def intervals():
    """Intervals of one session, without a column of their own."""
    lengths = np.full(INTERVALS, 10.0)
    numbers = np.zeros(INTERVALS, dtype=np.int64)
    piece = Piece(
        start_us=numbers,
        length_s=lengths,
        segments=numbers,
        columns={},
        dropped=0,
        session=numbers,
        since_s=np.cumsum(lengths),
        negative=0,
    )
    looks = Looks(lambda: iter([piece]))
    return Intervals(
        looks=looks,
        alone=looks,
        facts={},
        count=INTERVALS,
        time_s=float(lengths.sum()),
        sessions=(0,),
        is_replicated=False,
        is_whole=True,
        level=0.95,
        negative=0,
        dropped=0,
    )


def reading(amounts, per):
    """A reading of the only piece."""
    return Reading(lambda _: amounts, lambda _: per)


def test_intervals_of_sampled_figures_hold_the_truth_as_often_as_they_say():
    """H0: an interval at 95 % holds the utilisation of 1/2 in 95 % of runs, and sampled and exact figures are
    said to differ in 1 %. Busy stretches of 0.5 s make ticks follow their own past. False alarms: fewer than
    267 of 300 intervals hold it, chance 2e-5; more than 12 of 300 said to differ, chance 1e-5. Canary:
    an interval that takes the ticks as independent fails the same test."""
    random = np.random.default_rng(6)
    holding = naive = differing = 0
    for _ in range(REPETITIONS):
        found, exact = sampled_drive(random, 0.5)
        ticks = np.full(INTERVALS, float(TICKS))
        lengths = np.full(INTERVALS, 10.0)
        both = intervals().compared(reading(found, ticks), reading(exact, lengths))()
        holding += both.sampled.low <= 0.5 <= both.sampled.high
        differing += both.differs
        part = found.sum() / ticks.sum()
        naive += abs(part - 0.5) <= 1.96 * np.sqrt(part * (1 - part) / ticks.sum())
    assert holding >= 267
    assert differing <= 12
    assert naive < 267


def test_what_runs_in_step_with_the_clock_is_noticed():
    """The same drive with a fiftieth of the time in services that no tick can find, in each of 20 runs."""
    random = np.random.default_rng(7)
    for _ in range(20):
        found, exact = sampled_drive(random, 0.05, in_step=True)
        ticks, lengths = np.full(INTERVALS, float(TICKS)), np.full(INTERVALS, 10.0)
        both = intervals().compared(reading(found, ticks), reading(exact, lengths))()
        assert both.differs
        assert both.difference.value == pytest.approx(-0.02, abs=0.01)


def test_the_caveat_names_what_differs(unix):
    made = metered.rows()
    result = unix(made)
    assert "sampling_error" not in kinds(result)
    made["drive0_busy_s"] = 2.0 + 0.1 * np.sin(np.arange(40.0))
    (caveat,) = (caveat for caveat in unix(made).caveats if caveat.kind == "sampling_error")
    assert ("drive", "swap", pytest.approx(0.15, abs=0.005)) in caveat.values["differences"]
    told = " ".join(section(unix(made)).caveats)
    assert "utilisation of swap (+0.15)" in told
    assert "in step with the sampling" in told


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    path = tmp_path_factory.mktemp("unix6") / "log"
    # Statistics from the start, as the log's samples are.
    given = {"memory": 650, "processes": 5, "interactions": 30, "warm_up_on_output": False}
    runs = simulate("unix6", given, seed=3, replications=4)
    runs.record(path)
    return runs, analyse(Log.open(path))


def test_meters_of_a_simulated_machine_agree_with_its_own_integrals(simulated):
    """60 looks a second at a queue that changes about as often miss up to 2 %: pauses end, and bursts of
    requests begin, just after a look. What was counted is all.

    The seed is fixed, so that this cannot fail by chance."""
    runs, result = simulated
    weights = runs.responses["elapsed_s"].to_numpy()

    def response(name):
        return float(np.average(runs.responses[name].to_numpy(), weights=weights))

    (queue,) = result.queues
    assert queue.mean.exact.value == pytest.approx(response("queue_length"), rel=0.01)
    assert queue.mean.sampled.value == pytest.approx(response("queue_length"), rel=0.02)
    assert result.controller.sampled.value == pytest.approx(response("controller_utilisation"), abs=0.02)
    assert result.controller.exact.value == pytest.approx(response("controller_utilisation"), abs=0.001)
    for drive in result.drives:
        assert drive.utilisation.difference.value == pytest.approx(0.0, abs=0.02)
    swaps = sum(item.total for item in result.swapping.amounts if item.name in ("swap_ins", "swap_outs"))
    assert swaps == runs.responses["swaps"].sum()
    assert sum(total.value for total in result.matrix.drive_totals) == pytest.approx(1.0)
    assert sum(part.value for part in queue.distribution) == pytest.approx(1.0)
    assert result.cpu.waiting.value == pytest.approx(
        sum(cell.value for cell in result.matrix.shares[2][1:]), abs=1e-12
    )


def test_the_meters_of_another_machine_do_not_agree(simulated):
    """The canary: with one process less the queue is shorter by far more than 1 %."""
    _, result = simulated
    other = simulate("unix6", {"memory": 650, "processes": 4, "interactions": 30}, seed=3, replications=4)
    shorter = float(other.responses["queue_length"].mean())
    assert result.queues[0].mean.sampled.value != pytest.approx(shorter, rel=0.01)
