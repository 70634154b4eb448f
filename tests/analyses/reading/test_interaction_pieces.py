"""Interactions in pieces are those of the log, in order, and no answer depends on the pieces."""

import contextlib
import warnings
from functools import cache

import numpy as np
import polars as pl
import pytest
from known_logs import EPOCH_US, starts
from same_answers import agree
from scipy import stats

import called
from thinktime.analyses.arrivals import analysis as arrivals
from thinktime.analyses.cpu_per_interaction import analysis as cpu
from thinktime.analyses.disks import analysis as disks
from thinktime.analyses.response import analysis as response
from thinktime.analyses.service import analysis as service
from thinktime.analyses.service import fit
from thinktime.analyses.service.section import section
from thinktime.analyses.throughput import analysis as throughput
from thinktime.analyses.waits import states
from thinktime.log import (
    Log,
    LogWarning,
    LogWriter,
    alongside,
    interaction_pieces,
    interactions,
    observations,
)
from thinktime.log.playing import Passed, Playing, Within, _Latest

N, SHORT, INTERVALS = 3000, 600, 800
QUESTIONS = {
    "response": response.analyse,
    "states": states.analyse,
    "arrivals": arrivals.analyse,
    "throughput": throughput.analyse,
    "cpu": lambda log: cpu.analyse([log], ["log"]),
    "disks": disks.analyse,
}
READS_INTERACTIONS = ("response", "states", "arrivals", "throughput", "cpu")


@pytest.fixture
def read_in(monkeypatch):
    """Set the number of rows of a piece, and how many blocks may be held."""

    def pieces(rows, blocks=interaction_pieces.BLOCKS_MOST):
        monkeypatch.setattr(observations.chunks, "__defaults__", (rows,))
        for module in (alongside, interaction_pieces):
            monkeypatch.setattr(module, "ROWS", rows)
        monkeypatch.setattr(interaction_pieces, "BLOCKS_MOST", blocks)

    return pieces


def some(random, values, share):
    """Values, of which only a share is known."""
    known = random.random(len(values)) < share
    return pl.Series([value if one else None for value, one in zip(values, known, strict=True)])


def played(random, n=N):
    """Interactions of three classes whose times are partly unknown, in the order in which they ended."""
    due = np.cumsum(np.rint(1.0 + random.exponential(2.4e5, n))).astype(np.int64)
    parts = [np.round(random.exponential(mean, n), 4) for mean in (0.03, 0.02, 0.05, 0.1)]
    completion = due + np.rint(1e6 * sum(parts)).astype(np.int64)
    frame = pl.DataFrame(
        {
            "due": pl.Series(due),
            "sent": pl.Series(due + 200),
            "completion": some(random, completion.tolist(), 0.97),
            "service_s": some(random, parts[0].tolist(), 0.95),
            "user_s": parts[0] * random.random(n),
            "system_s": random.exponential(0.01, n),
            "run_delay_s": some(random, parts[1].tolist(), 0.9),
            "io_delay_s": parts[2],
            "waited": random.random(n) < 0.9,
            "population": some(random, (5 + np.arange(n) // 170 % 7).tolist(), 0.98).cast(pl.UInt64),
            "page_faults_minor": random.integers(0, 90, n).astype(np.uint64),
            "page_faults_major": random.integers(0, 3, n).astype(np.uint64),
            "user": "u" + pl.Series(random.integers(1, 14, n)).cast(pl.String),
            "class": pl.Series(random.choice(["edit", "run", ""], n)),
        }
    )
    instants = (
        (pl.col(name) + EPOCH_US).cast(pl.Datetime("us", "UTC")) for name in ("due", "sent", "completion")
    )
    return frame.sort("completion", nulls_last=True).with_columns(*instants)


def sampled(random):
    """Intervals, and rows of three disks beside them."""
    samples = {
        "start": starts(np.ones(INTERVALS)),
        "length_s": np.ones(INTERVALS),
        "user_s": random.random(INTERVALS) * 0.5,
        "system_s": random.random(INTERVALS) * 0.3,
        "idle_s": random.random(INTERVALS) * 0.5,
        "page_faults_minor": random.integers(0, 300, INTERVALS).astype(np.uint64),
    }
    rows = np.sort(random.choice(INTERVALS, 2000))
    disks_of = pl.DataFrame(
        {
            "start": samples["start"][rows],
            "device": random.choice(["sda", "sdb", "nvme0n1"], 2000),
            "reads": random.integers(0, 90, 2000).astype(np.uint64),
            "writes": random.integers(0, 90, 2000).astype(np.uint64),
            "read_wait_s": random.random(2000),
            "busy_s": random.random(2000) * 1.05,
            "queue_s": random.random(2000) * 2.0,
            "in_progress": random.integers(0, 18, 2000).astype(np.uint64),
        }
    ).unique(["start", "device"], maintain_order=True)
    return pl.DataFrame(samples), disks_of


def write(path, order=None, n=N):
    """Log of interactions, intervals and disks; interactions in some other order if it is given."""
    random = np.random.default_rng(5)
    inputs, (samples, of_disks) = played(random, n), sampled(random)
    with LogWriter.open(path, source="test", start_us=EPOCH_US) as writer:
        for first in range(0, n, n // 4):
            rows = inputs if order is None else inputs[order]
            writer.write("interactions", rows[first : first + n // 4])
        writer.write("samples", samples)
        writer.write("disks", of_disks)
    return Log.open(path)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return write(tmp_path_factory.mktemp("played") / "log")


@pytest.fixture(scope="module")
def whole(log):
    """Function that gives the answer of a question, read in one piece."""
    return cache(lambda name: QUESTIONS[name](log))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """The same interactions, written in no order."""
    path = tmp_path_factory.mktemp("mixed") / "log"
    return write(path, np.random.default_rng(2).permutation(N))


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A log that a piece for each row does not take long to read."""
    return write(tmp_path_factory.mktemp("short") / "log", n=SHORT)


@pytest.mark.parametrize("rows", [97, 1000])
@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_does_not_depend_on_the_pieces(log, whole, read_in, name, rows):
    expected = whole(name)
    # Those without an end stand at the end of their part: that is beyond a few short blocks.
    read_in(rows, blocks=N)
    assert len(list(observations.chunks(log, ()))) == -(-INTERVALS // rows)
    agree(expected, QUESTIONS[name](log), within=1e-9)


@pytest.mark.parametrize("name", READS_INTERACTIONS)
def test_a_log_in_no_order_has_the_same_answers(whole, mixed, read_in, name):
    expected = whole(name)
    read_in(97)
    with pytest.warns(LogWarning, match="are not written in the order of time"):
        agree(expected, QUESTIONS[name](mixed), within=1e-9)


def test_the_program_says_so_in_a_sentence(mixed, read_in):
    read_in(97)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = called.thinktime("analyse", "arrivals", mixed.path)
    assert done.returncode == 0
    assert done.stderr.startswith(f"thinktime: {mixed.path}: its interactions are not written")
    assert ".py" not in done.stderr


@pytest.mark.parametrize("blocks", [0, SHORT])
@pytest.mark.parametrize("rows", [1, 7, 100, SHORT + 1])
def test_pieces_are_the_interactions_in_order(short, read_in, rows, blocks):
    whole = interactions.read(short, ["waited"])
    read_in(rows, blocks)
    warned = pytest.warns(LogWarning) if rows < SHORT and not blocks else contextlib.nullcontext()
    with warned:
        stream = interaction_pieces.read(short, ["waited"])
    pieces = list(stream.pieces())
    assert all(len(piece) == rows for piece in pieces[:-1])
    assert (stream.n, stream.last_due) == (len(whole), whole.times["due"][-1])
    for name, values in whole.times.items():
        assert np.array_equal(np.concatenate([piece.times[name] for piece in pieces]), values, equal_nan=True)
    for name, values in whole.columns.items():
        found = np.concatenate([piece.columns[name] for piece in pieces])
        assert np.array_equal(found, values, equal_nan=True)
    assert [stream.classes[at] for piece in pieces for at in piece.class_of] == whole.classes.tolist()
    assert [stream.users[at] for piece in pieces for at in piece.user_of] == whole.users.tolist()
    assert np.array_equal(np.concatenate(list(stream.ended())), whole.ended)


@pytest.mark.parametrize("rows", [1, 7, 500])
def test_what_lies_before_instants_is_what_a_search_of_all_finds(rows):
    random = np.random.default_rng(rows)
    times, values = np.sort(random.integers(0, 300, 500)) / 3.0, random.random(500)

    def pieces():
        return ((times[at : at + rows], values[at : at + rows]) for at in range(0, 500, rows))

    passed, latest, within = Passed(lambda: (first for first, _ in pieces())), _Latest(pieces), Within(pieces)
    # The third goes back in time.
    for start in (-5.0, 20.0, 3.0, 90.0, 400.0):
        instants = random.permutation(start + np.arange(30) / 3.0)
        place = np.searchsorted(times, instants, side="right") - 1
        held = np.where(place >= 0, values[np.maximum(place, 0)], np.nan)
        assert passed.before(instants).tolist() == np.searchsorted(times, instants).tolist()
        assert np.array_equal(latest.at(instants), held, equal_nan=True)
        low, high = np.searchsorted(times, [start, start + 10.0])
        before, (found, beside) = within.of(start, start + 10.0)
        assert (before, found.tolist(), beside.tolist()) == (
            low,
            times[low:high].tolist(),
            values[low:high].tolist(),
        )


def test_a_sample_is_uniform_and_says_so(log, monkeypatch):
    """H0: each interaction is drawn with the same probability. Chi-square over 30 stretches of time, summed
    over 20 seeds; false alarm 1e-5. Canary: the first interactions instead of a fifth of the samples."""
    assert len(interaction_pieces.sampled(log, 1).table) == interaction_pieces.read(log).n
    monkeypatch.setattr(interaction_pieces, "SAMPLED_FROM", 1000)
    monkeypatch.setattr(interaction_pieces, "SAMPLE", 600)
    monkeypatch.setattr(interaction_pieces, "ROWS", 170)
    monkeypatch.setattr(interaction_pieces, "BLOCKS_MOST", N)
    due = interactions.read(log).times["due"]
    drawn = [interaction_pieces.sampled(log, seed).table.times["due"] for seed in range(20)]
    assert all(len(times) == 600 and (np.diff(times) >= 0).all() for times in drawn)
    assert all(np.isin(times, due).all() for times in drawn)
    again = interaction_pieces.sampled(log, 3)
    assert np.array_equal(again.table.times["due"], drawn[3])
    assert (again.n, again.unfinished) == (len(due), int(np.isnan(interactions.read(log).response).sum()))
    edges = due[np.linspace(0, len(due), 31).astype(int)[1:-1]]
    expected = np.bincount(np.searchsorted(edges, due, side="right")) * 20 * 600 / len(due)

    def p(times):
        counts = np.bincount(np.searchsorted(edges, times, side="right"), minlength=30)
        return stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), 29)

    assert p(np.concatenate(drawn)) > 1e-5
    assert p(np.concatenate([due[:600] if seed < 4 else times for seed, times in enumerate(drawn)])) < 1e-5
    result, fits = service.analyse(log, seed=3), fit.analyse(log, seed=3, replications=19)
    for caveats in (result.caveats, fits.caveats):
        (caveat,) = (caveat for caveat in caveats if caveat.kind == "sampled")
        assert caveat.values == {"taken": 600, "interactions": len(due), "seed": 3}
    assert f"600 of {len(due)} interactions, a uniform sample (seed 3)" in " ".join(section(result).caveats)


def test_playing_is_that_of_all_interactions(log, read_in):
    """Completions and users of intervals, by plain loops."""
    whole, seen = interactions.read(log), observations.read(log, [])
    read_in(97, blocks=N)
    playing = Playing(interaction_pieces.read(log))
    counts = np.concatenate([playing.completed_in(piece) for piece in observations.chunks(log, [])])
    users = np.concatenate([playing.population_in(piece) for piece in observations.chunks(log, [])])
    start = (seen.start_us - whole.origin_us) / 1e6
    population, due = whole.columns["population"], whole.times["due"]
    for at in range(0, INTERVALS, 37):
        inside = (whole.ended >= start[at]) & (whole.ended < start[at] + 1.0)
        if start[at] + 1.0 > 0.0 and start[at] < due[-1]:
            assert counts[at] == inside.sum()
            known = population[(due <= start[at] + 0.5) & ~np.isnan(population)]
            assert users[at] == known[-1] if len(known) else np.isnan(users[at])
