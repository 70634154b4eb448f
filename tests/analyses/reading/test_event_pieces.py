"""Events in pieces: what a plain loop over all events finds, and answers that do not depend on the pieces."""

from collections import defaultdict

import numpy as np
import polars as pl
import pytest
import traced_system as traced
from known_logs import EPOCH_US, frame, instants
from same_answers import agree
from scipy import stats

from thinktime.analyses.service import analysis as service
from thinktime.analyses.waits import analysis as waits
from thinktime.analyses.waits import event_pieces, event_tracing
from thinktime.analyses.waits.event_pieces import PAIRS, Events
from thinktime.log import Log, LogWarning, LogWriter, bursts, interaction_pieces, vocabulary

KINDS = (*event_pieces.KINDS, "boot")
FIELDS = ("arrival", "following", "first_slice", "first_slice_end", "completion", "command")
NAMES = dict(zip(PAIRS, ("slices", "swap_ins", "swap_outs", "library_loads", "output_waits"), strict=True))


@pytest.fixture
def read_in(monkeypatch):
    """Set the number of rows of a piece."""

    def pieces(rows):
        for module in (event_pieces, bursts, interaction_pieces):
            monkeypatch.setattr(module, "ROWS", rows)
        monkeypatch.setattr(interaction_pieces, "BLOCKS_MOST", 10_000)

    return pieces


def write(path, events, interactions=None, parts=3):
    with LogWriter.open(path, source="test", machine={}, start_us=EPOCH_US) as writer:
        rows = frame(events, vocabulary("events"))
        for part in range(parts):
            writer.write("events", rows[len(rows) * part // parts : len(rows) * (part + 1) // parts])
        if interactions is not None:
            writer.write("interactions", frame(interactions, vocabulary("interactions")))
    return Log.open(path)


def at_random(path, seed, n=400):
    """Events of all kinds in no sensible order, many at one instant, some users without an input."""
    random = np.random.default_rng(seed)
    time = np.cumsum(random.integers(0, 3, n)) / 8.0
    kind, user = random.choice(KINDS, n), random.choice(["", "a", "b", "c", "d"], n)
    kind = np.where((user == "d") & (kind == "input"), "completion", kind)
    inputs = np.flatnonzero((kind == "input") & (random.random(n) < 0.9))
    asked = {
        "user": user[inputs].tolist(),
        "class": random.choice(["A command", "edit"], len(inputs)).tolist(),
        "due": instants(time[inputs]),
        "completion": instants(time[inputs] + random.random(len(inputs))),
    }
    events = {"time": instants(time), "kind": kind.tolist(), "user": user.tolist(), "cpu": pl.Series([0] * n)}
    return write(path, events, asked), list(zip(time, kind, user, strict=True))


def followed(log, rows):
    """Interactions by user and arrival, and stretches by user and start, by a loop over all events."""
    due = log.interactions().select("user", pl.col("due").dt.epoch("us"), "class").collect().rows()
    commands = {(user, at) for user, at, kind in due if "command" in kind}
    origin = rows[0][0]
    made, stretches, current, opened = defaultdict(list), defaultdict(list), {}, {}
    for at, kind, user in rows:
        at_us, time = EPOCH_US + round(1e6 * at), at - origin
        if kind == "input":
            if user in current:
                current[user]["following"] = time
            new = dict.fromkeys(FIELDS, np.nan)
            new |= {"arrival": time, "following": np.inf, "command": bool(user) and (user, at_us) in commands}
            current[user] = new
            made[user].append(new)
        mine = current.get(user)
        if kind == "completion" and mine and np.isnan(mine["completion"]):
            mine["completion"] = time
        if kind == "library_load_start" and mine:
            mine["command"] = True
        for pair in PAIRS:
            if kind == f"{pair}_start":
                opened[user, pair] = [time, np.nan, mine, False]
                stretches[pair, user].append(opened[user, pair])
                if pair == "slice" and mine and np.isnan(mine["first_slice"]):
                    mine["first_slice"] = time
                    opened[user, pair][3] = True
            elif kind == f"{pair}_end" and (user, pair) in opened:
                one = opened.pop((user, pair))
                one[1] = time
                if one[3]:
                    one[2]["first_slice_end"] = time
    interactions = [[one[name] for name in FIELDS] for user in sorted(made) for one in made[user]]
    found = {}
    for pair in PAIRS:
        users = sorted(user for kind, user in stretches if kind == pair)
        every = [one for user in users for one in stretches[pair, user]]
        found[pair] = [(one[0], one[1], np.nan if one[2] is None else one[2]["arrival"]) for one in every]
    return interactions, found


def traces_of(log):
    """The same from the pieces, put together."""
    interactions, found = [], {pair: [] for pair in PAIRS}
    for trace in event_tracing.traces(Events(log)):
        columns = [getattr(trace, name).tolist() for name in FIELDS]
        interactions += list(zip(trace.user.tolist(), *columns, strict=True))
        arrivals = np.append(trace.arrival, np.nan)
        for pair, name in NAMES.items():
            kind = getattr(trace, name)
            within = arrivals[trace.waited_in] if pair == "output_wait" else np.zeros(len(kind))
            rows = zip(kind.user, kind.start, kind.end, within, strict=True)
            found[pair] += [tuple(map(float, row)) for row in rows]
    interactions.sort(key=lambda row: row[:2])
    return [list(row[1:]) for row in interactions], found


@pytest.mark.parametrize("rows", [1, 17, 10_000])
@pytest.mark.parametrize("seed", range(3))
def test_pieces_end_what_a_loop_over_all_events_ends(tmp_path, read_in, seed, rows):
    log, events = at_random(tmp_path / "log", seed)
    expected, stretches = followed(log, events)
    read_in(rows)
    interactions, found = traces_of(log)
    assert same(expected, interactions)
    for pair, wanted in stretches.items():
        # The interaction in which a wait for output began, by its arrival, too.
        columns = 3 if pair == "output_wait" else 2
        assert same([row[:columns] for row in wanted], [row[1 : columns + 1] for row in found[pair]]), pair


def same(rows, others):
    """True if the rows are the same in some order."""

    def by_value(row):
        return np.nan_to_num(np.array(row, dtype=float), nan=-1.0).tolist()

    return np.array_equal(
        *(np.array(sorted(table, key=by_value), dtype=float) for table in (rows, others)), equal_nan=True
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    systems = [traced.System(25, 12.0, 250.0, seed=seed, warm_up=50.0) for seed in (1, 2)]
    return traced.write(tmp_path_factory.mktemp("traced") / "log", systems)


@pytest.mark.parametrize("rows", [97, 2000])
def test_waits_do_not_depend_on_the_pieces(log, read_in, rows):
    whole = waits.analyse(log, interval_s=30.0)
    read_in(rows)
    assert Events(log).n > 3 * rows
    agree(whole, waits.analyse(log, interval_s=30.0), within=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_waits_of_events_at_random_do_not_depend_on_the_pieces(tmp_path, read_in, seed):
    made, _ = at_random(tmp_path / "log", seed)
    whole = waits.analyse(made, interval_s=5.0)
    read_in(31)
    agree(whole, waits.analyse(made, interval_s=5.0), within=1e-9)


def test_pieces_that_forget_what_is_open_have_another_answer(log, read_in, monkeypatch):
    """Canary: a slice over the end of a piece is lost, and with it the response that waits for its end."""
    whole = waits.analyse(log, interval_s=30.0)
    read_in(97)
    absorb = event_tracing._Opened.absorb

    def forgetful(self, *arguments, **options):
        self._start[:] = np.nan
        return absorb(self, *arguments, **options)

    monkeypatch.setattr(event_tracing._Opened, "absorb", forgetful)
    with pytest.raises(AssertionError):
        agree(whole, waits.analyse(log, interval_s=30.0), within=1e-9)


def test_events_in_no_order_are_held_and_have_the_same_answer(log, tmp_path, read_in):
    """Whole instants change places; the events of one instant keep their order."""
    whole = waits.analyse(log)
    rows = log.events().collect()
    moved = rows.with_columns(part=pl.col("time").rank("dense").mod(7)).sort("part", maintain_order=True)
    mixed = tmp_path / "mixed"
    with LogWriter.open(mixed, source="test", start_us=EPOCH_US) as writer:
        writer.write("events", moved.drop("part"))
    alone = Log.open(mixed)
    ordered = waits.analyse(alone)
    read_in(500)
    with pytest.warns(LogWarning, match="its events are not written in the order of time"):
        agree(ordered, waits.analyse(alone), within=1e-9)
    assert whole.cpus == ordered.cpus


def scheduled(path, seed, n=2000, parts=3):
    """Wake-ups, dispatches and ends of slices of nine tasks in no sensible order."""
    random = np.random.default_rng(seed)
    kind = random.choice([*bursts.KINDS, "migrate"], n, p=[0.25, 0.3, 0.4, 0.05])
    known = random.random(n) < 0.97
    columns = {
        "time": instants(np.cumsum(random.integers(0, 3, n)) / 1024.0),
        "kind": kind.tolist(),
        "user": random.choice(["uid:1", "uid:2"], n).tolist(),
        "cpu": pl.Series([0] * n),
        "amount": pl.Series(np.where(known, random.random(n), np.nan)).fill_nan(None),
        "task": pl.Series([int(x) if x else None for x in random.integers(0, 10, n)]),
        "command": random.choice(["cc", "vi"], n).tolist(),
        "reason": random.choice(["preempted", "io", "timer"], n).tolist(),
    }
    return write(path, columns, parts=parts)


def by_loop(log):
    """Bursts by a loop over all events: due, first service, completion, service, command, user."""
    found, opened = [], {}
    rows = log.events().with_columns(pl.col("time").dt.epoch("us")).collect()
    for event in rows.filter(pl.col("task").is_not_null()).iter_rows(named=True):
        if event["kind"] not in bursts.KINDS:
            continue
        one = opened.setdefault(event["task"], [None, None, None, 0.0, None, None, True, event["task"]])
        one[4], one[5] = event["command"], event["user"]
        if event["kind"] == "wake_up":
            one[0] = event["time"] if one[0] is None else one[0]
            continue
        one[6] = one[6] and event["amount"] is not None
        if event["kind"] == "dispatch":
            one[1] = event["time"] if one[1] is None else one[1]
            continue
        one[3] += event["amount"] or 0.0
        if event["reason"] != bursts.PREEMPTED:
            one[2] = event["time"]
            found.append(opened.pop(event["task"]))
    kept = [one for one in found if one[0] is not None and one[6]]
    return sorted(kept, key=lambda one: (one[0], one[7]))


@pytest.mark.parametrize("rows", [pytest.param(3, marks=pytest.mark.thorough), 50, 500, 10_000])
def test_bursts_are_those_of_a_loop_over_all_events(tmp_path, read_in, rows):
    made = scheduled(tmp_path / "log", 4)
    expected = by_loop(made)
    read_in(rows)
    table = bursts.read(made)
    assert len(table) == len(expected) > 200
    origin = expected[0][0]
    for number, name in enumerate(("due", "first_service", "completion")):
        wanted = [np.nan if one[number] is None else (one[number] - origin) / 1e6 for one in expected]
        assert table.times[name].tolist() == pytest.approx(wanted, rel=1e-12, nan_ok=True)
    assert table.service == pytest.approx([one[3] for one in expected], rel=1e-12)
    assert table.classes.tolist() == [one[4] for one in expected]
    assert table.users.tolist() == [one[5] for one in expected]


def test_service_of_bursts_does_not_depend_on_the_pieces(tmp_path, read_in):
    made = scheduled(tmp_path / "log", 4)
    whole = service.analyse(made)
    read_in(97)
    agree(whole, service.analyse(made), within=1e-9)


def test_a_sample_of_bursts_is_uniform_and_says_so(tmp_path, read_in, monkeypatch):
    """H0: each burst is drawn with the same probability. Chi-square over 20 stretches of the bursts, summed
    over 40 seeds; false alarm 1e-5. Canary: the first bursts instead of a fifth of the samples."""
    made = scheduled(tmp_path / "log", 5, n=3000)
    due = bursts.read(made).times["due"]
    monkeypatch.setattr(interaction_pieces, "SAMPLED_FROM", 250)
    monkeypatch.setattr(interaction_pieces, "SAMPLE", 100)
    read_in(301)
    samples = [bursts.sampled(made, seed) for seed in range(40)]
    drawn = [sample.table.times["due"] + (sample.table.origin_us - EPOCH_US) / 1e6 for sample in samples]
    assert all((len(one.table), one.n, one.is_sample) == (100, len(due), True) for one in samples)
    again = bursts.sampled(made, 3).table
    assert np.array_equal(again.times["completion"], samples[3].table.times["completion"])
    read_in(77)
    assert np.array_equal(bursts.sampled(made, 3).table.service, again.service)
    every = due + (bursts.read(made).origin_us - EPOCH_US) / 1e6
    edges = np.unique(every[np.linspace(0, len(due), 21).astype(int)[1:-1]])
    expected = np.bincount(np.searchsorted(edges, every, side="right")) * 40 * 100 / len(due)

    def p(times):
        counts = np.bincount(np.searchsorted(edges, times, side="right"), minlength=len(expected))
        return stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(expected) - 1)

    assert p(np.concatenate(drawn)) > 1e-5
    assert p(np.concatenate([every[:100] if seed < 8 else one for seed, one in enumerate(drawn)])) < 1e-5
    (caveat,) = (item for item in service.analyse(made, seed=3).caveats if item.kind == "sampled")
    assert caveat.values == {"taken": 100, "interactions": len(due), "seed": 3}
