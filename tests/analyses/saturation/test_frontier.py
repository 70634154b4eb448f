"""Frontiers of blocks, regions, slopes and growth against machines whose frontier is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_saturation import bounded

from thinktime.analyses.saturation import analysis as saturation
from thinktime.analyses.saturation import frontier_blocks, resources
from thinktime.analyses.saturation.frontier_blocks import Blocks
from thinktime.analyses.saturation.frontier_growth import growth
from thinktime.analyses.saturation.frontier_pair import Dimension, Projection, pair, stretches
from thinktime.analyses.saturation.resources import LIMITS, Resources, Thresholds
from thinktime.log import observations
from thinktime.stats import critical_values, frontier
from thinktime.stats.frontier import maximal
from thinktime.stats.regression.bootstrap import block_length
from thinktime.stats.samples import proportion, wilson
from thinktime.stats.series.shares import proportion_in_blocks

X, Y = Dimension(name="x", label="x", unit="s/s"), Dimension(name="y", label="y", unit="page/s")


def blocks_of(values, limits=None, names=LIMITS):
    """Blocks of rows, as `frontier_blocks.read` makes them of a log."""
    n = len(values)
    rows = block_length(n)
    count = max(2, 2 * (n // (2 * rows)))
    block = np.arange(n) * count // n
    limits = np.full(n, LIMITS.index("none"), np.int8) if limits is None else limits
    on = np.concatenate([at[maximal(values[at])] for at in np.split(np.arange(n), _borders(block))])
    nothing = np.full(len(on), np.nan)
    used_up = np.zeros((count, len(names)))
    np.add.at(used_up, (block, limits), 1.0)
    cloud = np.arange(0, n, max(1, n // 1000))
    state = Resources(
        idle=nothing,
        low_priority=nothing,
        disk_busy=nothing,
        memory_stall=nothing,
        memory_free=nothing,
        swapping=nothing,
        ceilings=np.zeros((len(on), 0)),
    )
    return Blocks(
        rows=rows,
        count=count,
        n=n,
        values=values[on],
        block=block[on],
        start_us=np.zeros(len(on), np.int64),
        state=state,
        limit=limits[on],
        limits=names,
        used_up=used_up,
        cloud=values[cloud],
        cloud_block=block[cloud],
        interval_s=300.0,
        measured={},
    )


def _borders(block):
    return np.flatnonzero(np.diff(block)) + 1


def triangle(random, n):
    """Evenly spread below y = 100 (1 - x): an unsaturated machine with a sharp limit."""
    u = random.random((n, 2))
    u[u.sum(axis=1) > 1] = 1 - u[u.sum(axis=1) > 1]
    return u * [1.0, 100.0]


def saturated(random, n, noise=0.02):
    """x + y / 100 <= 1 whatever is asked for, in readings that are 2 % off, and loads that last."""
    asked = np.zeros((n, 2))
    steps = random.normal(size=(n, 2))
    for at in range(1, n):
        asked[at] = 0.8 * asked[at - 1] + 0.6 * steps[at]
    load = np.exp(asked) * [1.0, 100.0]
    load *= np.minimum(1.0, 1.0 / (load[:, 0] + load[:, 1] / 100.0))[:, None]
    return load * (1.0 + noise * random.normal(size=(n, 2)))


@pytest.mark.parametrize("rows", [1, 37, 600])
def test_a_log_read_in_pieces_gives_the_blocks_of_the_whole(log_of, rows):
    made = bounded()
    made["page_faults_minor"][5:40] = np.nan
    log = log_of(made)
    work = observations.quantities(log, ["user_time", "page_faults_minor", "disk_reads"])
    meter = resources.Meter(log, resources.ceilings(log, {"disk_reads": 300.0}))
    whole = frontier_blocks.read(log, work, meter, Thresholds())
    pieces = frontier_blocks.read(log, work, meter, Thresholds(), piece_rows=rows)
    assert pieces.n == whole.n == 565
    assert pieces.count == whole.count == 34
    for name in ("values", "block", "start_us", "limit", "used_up", "cloud", "cloud_block"):
        np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name))
    np.testing.assert_array_equal(pieces.state.ceilings, whole.state.ceilings)
    assert whole.used_up.sum() == 565
    rates = observations.read(log, [column for item in work for column in item.columns])
    table = np.column_stack([rates.rate(item.columns) for item in work])
    table = table[~np.isnan(table).any(axis=1)]
    everything = {tuple(row) for row in table[maximal(table)].tolist()}
    assert {tuple(row) for row in whole.values[maximal(whole.values)].tolist()} == everything


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 19), min_size=1, max_size=20))
def test_the_curve_of_some_blocks_is_that_of_all_their_rows(seed, chosen):
    values = np.random.default_rng(seed).integers(0, 30, (400, 2)).astype(float)
    blocks = blocks_of(values)
    chosen = np.array(chosen) % blocks.count
    rows = np.isin(np.arange(400) * blocks.count // 400, chosen)
    projection = Projection(blocks, (0, 1))
    np.testing.assert_array_equal(projection.curve(chosen), frontier.concave_hull(values[rows]))
    own = projection.values[projection.inside(chosen)]
    np.testing.assert_array_equal(
        np.unique(own[maximal(own)], axis=0), np.unique(values[rows][maximal(values[rows])], axis=0)
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=7), st.floats(0.5, 4.0))
def test_stretches_cost_least_of_all_ways_to_cut(labels, penalty):
    labels = np.array(labels, dtype=np.int8)

    def cost(path):
        return np.count_nonzero(path != labels) + penalty * np.count_nonzero(np.diff(path))

    found = stretches(labels, penalty)
    assert [first for _, first, _ in found] == [0, *(last + 1 for _, _, last in found[:-1])]
    assert found[-1][2] == len(labels) - 1
    path = np.concatenate([np.full(last - first + 1, label) for label, first, last in found])
    ways = np.stack(np.meshgrid(*[range(3)] * len(labels)), axis=-1).reshape(-1, len(labels))
    assert cost(path) == pytest.approx(min(cost(way) for way in ways))


def drum_and_cpu(random, n):
    """Bard 1971, Figure 7: 80 pages/s below 0.4, the CPU above 0.55, and nothing used up between."""
    x = random.uniform(0.0, 0.95, n)
    most = np.interp(x, [0.0, 0.4, 0.55, 1.0], [80.0, 80.0, 60.0, 0.0])
    y = most * random.beta(8.0, 0.5, n)
    free = np.where(x > 0.55, (most - y) / 80.0, 0.2)
    return x, y, free


def test_regions_are_those_of_the_machine_and_their_borders_are_covered(log_of):
    x, y, free = drum_and_cpu(np.random.default_rng(7), 1500)
    length = np.full(1500, 300.0)
    made = bounded(1500)
    made |= dict.fromkeys(("page_faults_minor", "disk_busy_s", "disk_writes"), 0.0 * length)
    made |= {"length_s": length, "user_s": x * length, "disk_reads": y * length}
    made |= {"idle_s": free * length, "system_s": np.maximum(1.0 - x - free, 0.0) * length}
    drum = {"resource": "drum", "column": "disk_reads", "per_s": 80.0, "description": "its revolutions"}
    result = saturation.analyse(log_of(made, machine={"ceilings": [drum]}), replications=60)
    found = result.pairs[0]
    assert [item.name for item in result.dimensions] == ["user_time", "disk_operations"]
    assert [region.limit for region in found.regions] == ["drum", "none", "cpu"]
    drum_ends, cpu_begins = (region.border for region in found.regions[:2])
    # The drum counts as used up to 90 % of 80 pages/s, which the line from 80 to 60 reaches at 0.46.
    assert drum_ends.low <= 0.46 <= drum_ends.high + 0.02
    assert cpu_begins.value == pytest.approx(0.55, abs=0.03)
    assert cpu_begins.low <= 0.56
    assert cpu_begins.high >= 0.54
    assert [trade.limit for trade in found.trade_offs][-1] == "cpu"
    # Above 0.55 a page costs 0.45 s / 60 of user time.
    assert found.trade_offs[-1].rate.value == pytest.approx(0.45 / 60.0, rel=0.15)
    assert result.limits["drum"] > 0
    assert {point.limit for point in result.points} == {"drum", "none", "cpu"}
    assert all(0.0 <= part <= 1.01 for point in result.points for part in point.ceilings)


def slope_hits(make, runs=30, shrink=1.0):
    hits = 0
    for seed in range(runs):
        blocks = blocks_of(make(np.random.default_rng(seed), 1000))
        rate = pair(blocks, (0, 1), (X, Y), replications=60, seed=1, level=0.95).overall.rate
        low, high = (rate.value + shrink * (end - rate.value) for end in (rate.low, rate.high))
        hits += low <= 0.01 <= high
    return hits


@pytest.mark.parametrize("make", [triangle, saturated])
def test_intervals_of_the_trade_off_cover_it(make):
    """Nominal 95 %. If they cover in 90 % of logs or more, fewer than 23 of 30 are one in 130."""
    assert slope_hits(make) >= 23


def test_intervals_a_fifth_as_wide_do_not():
    assert slope_hits(saturated, shrink=0.2) < 23


def test_the_band_covers_the_frontier_where_it_is_sharp():
    """A point of the band, of 12 logs and 15 places: 90 % or more (nominal 95)."""
    inside = []
    for seed in range(12):
        blocks = blocks_of(triangle(np.random.default_rng(seed), 1000))
        found = pair(blocks, (0, 1), (X, Y), replications=80, seed=1, level=0.95)
        inside += [low <= 100.0 * (1.0 - x) <= high for x, low, high in found.band[5:20]]
        assert all(height <= 100.0 for _, height in found.curve)
    assert np.mean(inside) >= 0.9


def test_a_log_of_one_stationary_sample_is_said_to_fill_in():
    """False alarms 5 %: more than 8 of 60 such logs are one in 300."""
    alarms = sum(
        not growth(blocks_of(triangle(np.random.default_rng(seed), 400)), 1, 0.95).settled
        for seed in range(60)
    )
    assert alarms <= 8


def test_a_frontier_that_moves_by_a_fifth_is_seen():
    for seed in range(15):
        values = triangle(np.random.default_rng(seed), 400)
        values[200:] *= 1.2
        found = growth(blocks_of(values), 1, 0.95)
        assert found.settled is False
        assert found.volume == pytest.approx(0.44, abs=0.2)
        assert found.p < 0.05 < found.outside.value


def test_intervals_that_are_all_alike_have_a_frontier_of_one_point():
    found = pair(blocks_of(np.full((50, 2), 3.0)), (0, 1), (X, Y), replications=50, seed=1, level=0.95)
    assert found.points == ((3.0, 3.0),)
    assert found.overall is None
    assert found.trade_offs == ()
    assert found.hollow == 0.0
    assert found.band[0][1:] == (3.0, 3.0)


def test_a_part_in_blocks_allows_for_what_is_alike():
    """Rows of a block that are all hits or none are worth one trial; independent ones are worth all."""
    random = np.random.default_rng(3)
    blocks = random.random(200) < 0.3
    alike, alone = proportion_in_blocks(blocks * 50.0, np.full(200, 50.0)), proportion(int(blocks.sum()), 200)
    assert alike.value == alone.value
    # Student's t is wider than the normal value by 4 % with 30 cosines, by 25 % with 6.
    assert 1.0 <= (alike.high - alike.low) / (alone.high - alone.low) <= 1.25
    independent = proportion_in_blocks(random.binomial(50, 0.3, 200), np.full(200, 50))
    whole = proportion(round(independent.value * 10_000), 10_000)
    assert 1.0 <= (independent.high - independent.low) / (whole.high - whole.low) <= 1.25
    none = proportion_in_blocks(np.zeros(20), np.full(20, 10.0))
    assert (none.value, none.low, none.n) == (0.0, 0.0, 200)
    assert none.high == wilson(0.0, 20.0, critical_values.student_t(0.95, 19.0))[1]
    with pytest.raises(ValueError, match="less than 1"):
        proportion_in_blocks([0.0], [0.0])
