"""Logs that were damaged or made up: every command ends with a status and a message, never with a traceback.

Files are changed together with their checksums, as somebody would who wants to mislead, so that the readers
behind the checksums are reached too.
"""

import json
import random
import re
import shutil
import warnings
import zlib

import polars as pl
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest

import thinktime
from thinktime.analyses import QUESTIONS
from thinktime.analyses.overhead import analysis as overhead
from thinktime.analyses.rates import section as rates
from thinktime.analyses.throughput import section as throughput
from thinktime.cli import run
from thinktime.log import Column, Log, LogError, LogWriter, vocabulary
from thinktime.log.sums import by_group
from thinktime.sources.linux import RecordOptions, record
from thinktime.sources.simulated import simulate

ONE_LOG = [question.name for question in QUESTIONS if question.accepts in ("one log", "logs")]
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 2))]
"""Of changes at random: the first stands for the others."""
SWAPPED = [None, [], {}, "x", -1, 1e308, 2**63 - 1, True, [[]], [{}], [None], 1.5]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "log"
    record(path, RecordOptions(interval_s=0.1, duration_s=1.2))
    return path


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    path = tmp_path_factory.mktemp("simulated") / "log"
    simulate("apl360", {"users": 4, "length": 200.0, "warm_up": 20.0}, seed=1).record(path, trace=True)
    return path


# What is done to the table of samples does not depend on the others that a log has.
ONE_SOURCE = pytest.mark.parametrize(
    "log", ["recorded", pytest.param("simulated", marks=pytest.mark.thorough)], indirect=True
)


@pytest.fixture(params=["recorded", "simulated"])
def log(request, tmp_path):
    path = tmp_path / "log"
    shutil.copytree(request.getfixturevalue(request.param), path)
    return path


def read_manifest(log):
    return json.loads((log / "manifest.json").read_text())


def write_manifest(log, manifest):
    """The manifest with the checksum that its text must have."""
    manifest.pop("crc32", None)
    text = b'{\n  "crc32": "00000000",\n' + json.dumps(manifest, indent=2).encode()[2:] + b"\n"
    (log / "manifest.json").write_bytes(text.replace(b"00000000", b"%08x" % zlib.crc32(text), 1))


def part(log, table):
    return log / table / "part-000001.parquet"


def write_part(log, table, rows):
    """A part in place of the first one, listed as a writer would list it."""
    pyarrow.parquet.write_table(rows, part(log, table), compression="zstd")
    list_part(log, table, rows.num_rows)


def list_part(log, table, count=None):
    """The ledger with the bytes, the checksum and the number of rows of the first part of `table`."""
    manifest = read_manifest(log)
    ledger = log / f"ledger-{manifest['ledger']['number']:06}.jsonl"
    entries = [json.loads(line) for line in ledger.read_text().splitlines()]
    for entry in entries:
        if (entry["table"], entry["part"]) == (table, 1):
            data = part(log, table).read_bytes()
            entry |= {"bytes": len(data), "crc32": f"{zlib.crc32(data):08x}"}
            entry["rows"] = entry["rows"] if count is None else count
    text = "".join(json.dumps(entry) + "\n" for entry in entries).encode()
    ledger.write_bytes(text)
    manifest["ledger"] |= {"bytes": len(text), "crc32": f"{zlib.crc32(text):08x}"}
    write_manifest(log, manifest)


def replaced(rows, name, values):
    index = rows.schema.get_field_index(name)
    values = pa.array(values) if isinstance(values, list) else values
    field = pa.field(name, values.type, metadata=rows.schema.field(index).metadata)
    return rows.set_column(index, field, values)


@pytest.fixture
def commands(capsys):
    """Statuses of check, report and the named analyses of a log, and what they printed."""

    def both(log, analyses=()):
        statuses, printed = [], []
        lines = [["check"], ["report", "--format", "text"], *(["analyse", name] for name in analyses)]
        for words in lines:
            # An exception other than the exit of a command fails the test here.
            statuses.append(run([*words, str(log)]))
            output = capsys.readouterr()
            assert "Traceback" not in output.out + output.err
            printed.append(output.out + output.err)
        assert set(statuses) <= {0, 1, 2}, statuses
        return statuses, printed

    return both


def test_a_sound_log_has_no_warning(log, commands):
    statuses, printed = commands(log, ONE_LOG)
    assert not any(statuses)
    assert not any("not the one that was written" in text for text in printed)


def places(value, at=()):
    yield at
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in entries:
        yield from places(item, (*at, key))


@pytest.mark.parametrize("seed", SEEDS)
def test_facts_of_any_type_are_refused_by_file_and_key_or_not_used(log, commands, seed):
    choice = random.Random(seed)
    manifest = read_manifest(log)
    *way, last = choice.choice([at for at in places(manifest) if len(at) > 2 and at[0] == "sessions"])
    place = manifest
    for step in way:
        place = place[step]
    place[last] = choice.choice(SWAPPED)
    write_manifest(log, manifest)
    commands(log, choice.sample(ONE_LOG, 2))


@pytest.mark.parametrize(
    ("key", "value", "question"),
    [
        ("terminals", [[]], "users"),
        ("terminals", {"outcome": {"sessions": [1]}}, "users"),
        ("recorder", {"users": {"attributed_s": "x", "exact_s": 1}}, "users"),
        ("machine", {"cpus": "2"}, "capacity"),
        ("machine", {"cpus": -2}, "timeline"),
        ("machine", {"cpus": 1e308}, "recording"),
        ("machine", {"meters": [1]}, "capacity"),
        ("machine", {"ceilings": ["x"]}, "saturation"),
    ],
)
def test_a_fact_of_another_type_is_named_with_its_session(tmp_path, recorded, commands, key, value, question):
    shutil.copytree(recorded, tmp_path / "log")
    manifest = read_manifest(recorded)
    manifest["sessions"][0][key] = value
    write_manifest(tmp_path / "log", manifest)
    statuses, printed = commands(tmp_path / "log", [question])
    assert statuses[1] == 0
    assert statuses[2] == 2
    assert re.search(rf"manifest.json: session 1: {key}\S* (is|but)", printed[2]), printed[2]
    assert "this question could not be answered" in " ".join(printed[1].lower().split())
    # Sections that do not need the fact stay: no fact is needed for both of these.
    assert not {throughput.TITLE, rates.TITLE}.isdisjoint(printed[1].splitlines())


@pytest.mark.parametrize("value", [[{}], [1.5], [[None]], [{"request": "forks", "seconds": "x"}], "none"])
def test_measured_costs_of_another_type_are_named(tmp_path, recorded, value):
    shutil.copytree(recorded, tmp_path / "log")
    manifest = read_manifest(recorded)
    manifest["sessions"][0]["direct_costs"] = value
    write_manifest(tmp_path / "log", manifest)
    with pytest.raises(LogError, match=r"manifest.json: session 1: direct_costs\S* (is|but)"):
        overhead.direct_costs(Log.open(tmp_path / "log"))


@ONE_SOURCE
@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.float32(), pa.bool_(), pa.string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_a_column_of_another_type_is_refused_by_file_and_column(log, commands, kind):
    rows = pyarrow.parquet.read_table(part(log, "samples"))
    values = pa.array([1] * rows.num_rows, pa.int8())
    values = values.cast(pa.string()).cast(kind) if pa.types.is_dictionary(kind) else values.cast(kind)
    write_part(log, "samples", replaced(rows, "length_s", values))
    with pytest.raises(LogError, match=r"samples/part-000001.parquet: column length_s: type .*Float64"):
        Log.open(log).samples()
    statuses, printed = commands(log, ["overhead", "timeline"])
    assert statuses == [1, 0, 2, 2]
    assert all("length_s" in text for text in printed)


def test_a_column_twice_is_refused_by_file_and_column(log, commands):
    rows = pyarrow.parquet.read_table(part(log, "samples"))
    write_part(log, "samples", rows.append_column(rows.schema.field("length_s"), rows["length_s"]))
    with pytest.raises(LogError, match=r"part-000001.parquet: column length_s: the column stands twice"):
        Log.open(log).samples()
    statuses, _ = commands(log, ["rates"])
    assert statuses[2] == 2


@ONE_SOURCE
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -5.0, 1e308])
def test_impossible_amounts_end_in_a_message_or_a_report(log, commands, value):
    rows = pyarrow.parquet.read_table(part(log, "samples"))
    for name in ("length_s", "user_s", "system_s", "cpu_exact_s"):
        if rows.schema.get_field_index(name) >= 0:
            rows = replaced(rows, name, [value] * rows.num_rows)
    write_part(log, "samples", rows)
    commands(log, ["overhead"])


@pytest.mark.parametrize("change", ["completion first", "service below zero", "all due at the end of time"])
def test_impossible_interactions_end_in_a_message_or_a_report(tmp_path, simulated, commands, change):
    log = tmp_path / "log"
    shutil.copytree(simulated, log)
    rows = pyarrow.parquet.read_table(part(log, "interactions"))
    time = rows.schema.field("due").type

    def instants(value):
        return pa.array([value] * rows.num_rows, pa.int64()).cast(time)

    if change == "completion first":
        rows = replaced(rows, "completion", instants(1))
    elif change == "service below zero":
        rows = replaced(rows, "service_s", [-1e9] * rows.num_rows)
    else:
        rows = replaced(rows, "due", instants(2**63 - 1))
    write_part(log, "interactions", rows)
    commands(log, ["response", "arrivals", "service", "waits"])


@ONE_SOURCE
@pytest.mark.parametrize("change", ["gone", "copied", "bit", "exchanged", "manifest"])
def test_a_report_says_first_that_the_log_is_another(log, commands, capsys, change):
    samples = part(log, "samples")
    if change == "gone":
        samples.unlink()
    elif change == "copied":
        shutil.copy(samples, samples.with_name("part-000009.parquet"))
    elif change == "bit":
        data = bytearray(samples.read_bytes())
        data[60] ^= 1
        samples.write_bytes(data)
    elif change == "exchanged":
        other = next(file for file in sorted(log.glob("*/part-*.parquet")) if file != samples)
        first, second = samples.read_bytes(), other.read_bytes()
        samples.write_bytes(second)
        other.write_bytes(first)
    else:
        text = (log / "manifest.json").read_text()
        (log / "manifest.json").write_text(text.replace('"source"', '"fact": 1, "source"', 1))
    statuses, printed = commands(log, ["rates"])
    assert statuses[0] == 1
    findings = printed[1].split("Findings\n")[1].split("\n\n")[0]
    assert "! The log is not the one that was written" in findings.split("\n*")[0]
    assert "not the one that was written" in printed[2]
    run(["report", str(log), "--format", "json"])
    page = json.loads(capsys.readouterr().out)
    assert page["highlights"][0]["name"] == "changed"
    assert page["findings"][0]["tone"] == "warning"
    assert str(log) in page["findings"][0]["text"]
    if run(["analyse", "rates", str(log), "--format", "json"]) == 0:
        assert "not the one that was written" in json.loads(capsys.readouterr().out)["caveats"][0]


def test_a_result_in_python_warns_of_a_log_that_was_changed(log):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thinktime.analyse("rates", log)
    samples = part(log, "samples")
    shutil.copy(samples, samples.with_name("part-000009.parquet"))
    with pytest.warns(thinktime.LogWarning, match="not the one that was written") as caught:
        thinktime.analyse("rates", log)
    assert str(log) in str(caught[0].message)
    # The place that is shown is the call here.
    assert caught[0].filename == __file__


@pytest.fixture(scope="module")
def swapping(tmp_path_factory):
    path = tmp_path_factory.mktemp("swapping") / "log"
    simulate("unix6", {"interactions": 20, "length": 60}, seed=1, replications=2).record(path)
    return path


def change_sessions(log, change):
    """Apply `change` to every session of a log, as a writer would have written it."""
    manifest = read_manifest(log)
    ended = [json.loads(line) for line in (log / "sessions-000001.jsonl").read_text().splitlines()]
    for session in ended + manifest["sessions"]:
        change(session)
    text = "".join(json.dumps(session) + "\n" for session in ended).encode()
    (log / "sessions-000001.jsonl").write_bytes(text)
    manifest["ended_sessions"] |= {"bytes": len(text), "crc32": f"{zlib.crc32(text):08x}"}
    write_manifest(log, manifest)


def predicted(log, capsys):
    """Exit status, answer and messages of a prediction from a log."""
    status = run(["predict", "disk-bound", "--from", str(log), "--memory-b", "1600"])
    return status, *capsys.readouterr()


def test_a_prediction_from_a_log_that_was_changed_says_so(tmp_path, swapping, capsys):
    shutil.copytree(swapping, tmp_path / "log")
    assert predicted(tmp_path / "log", capsys)[0] == 0
    samples = part(tmp_path / "log", "samples")
    shutil.copy(samples, samples.with_name("part-000009.parquet"))
    status, answer, said = predicted(tmp_path / "log", capsys)
    assert status == 0
    assert "not the one that was written" in answer
    assert "not the one that was written" in said


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("size", "x"),
        ("size", [157, None]),
        ("size", []),
        ("memory", 1e308),
        ("processes", [12]),
        ("interactions", {}),
        ("cpu_speed", 0),
        ("pc", "twelve"),
        ("file_drive", 1.5),
        ("swap_drive", -1),
        ("text", True),
    ],
)
def test_a_prediction_names_the_parameter_of_a_log_that_it_cannot_use(tmp_path, swapping, capsys, key, value):
    log = tmp_path / "log"
    shutil.copytree(swapping, log)

    def change(session):
        session["machine"]["parameters"][key] = value

    change_sessions(log, change)
    status, _, said = predicted(log, capsys)
    assert status == 2
    assert re.search(rf"sessions-000001.jsonl: session 1: machine.parameters.{key}\S* is", said), said


def test_a_prediction_from_a_part_that_cannot_be_read_names_it(tmp_path, swapping, capsys):
    log = tmp_path / "log"
    shutil.copytree(swapping, log)
    rows = pyarrow.parquet.read_table(part(log, "samples"))
    write_part(log, "samples", replaced(rows, "drive0_busy_s", ["x"] * rows.num_rows))
    status, _, said = predicted(log, capsys)
    assert status == 2
    assert "column drive0_busy_s" in said


def test_an_error_of_arithmetic_on_a_sound_log_stays_what_it_is(recorded, monkeypatch):
    # Put in by hand: no sound log is known on which an analysis fails.
    def fail(log):
        raise ZeroDivisionError("a defect of thinktime")

    monkeypatch.setattr("thinktime.analyses.users.analysis.analyse", fail)
    with pytest.raises(ZeroDivisionError):
        thinktime.analyse("users", recorded)


def test_users_who_were_hardly_seen_do_not_stand_for_the_machine(tmp_path, recorded, commands, capsys):
    log = tmp_path / "log"
    shutil.copytree(recorded, log)
    manifest = read_manifest(log)
    manifest["sessions"][0]["recorder"]["users"] |= {"attributed_s": 0.69, "exact_s": 3.99}
    manifest["sessions"][0]["recorder"]["exact_time"] = "/proc/schedstat"
    write_manifest(log, manifest)
    _, printed = commands(log, ["users", "timeline", "capacity"])
    said = "17.3 % of the CPU time could be attributed to users"
    for text in printed[1:]:
        assert said in " ".join(text.split()), text
    report = " ".join(printed[1].split())
    assert said in report
    assert "for each second that they used" not in report
    assert "had 100 % of the CPU time" not in printed[2]
    assert "of attributed CPU time" in printed[2]
    assert run(["size", str(log)]) == 2
    assert "only 17.3 % of the CPU time" in " ".join(capsys.readouterr().err.split())


def test_users_may_exceed_the_machine_by_the_time_between_both_readings(tmp_path, recorded):
    log = tmp_path / "log"
    shutil.copytree(recorded, log)
    manifest = read_manifest(log)
    users = manifest["sessions"][0]["recorder"]["users"]
    assert users["reading_max_s"] >= 0.0
    exact_s = users["exact_s"]
    beyond = {"attributed_s": exact_s + 1.0, "unattributed_s": -1.0}
    laws = {}
    for most_s in (0.0, 2.0):
        users |= beyond | {"reading_max_s": most_s}
        write_manifest(log, manifest)
        laws[most_s] = {(defect.law, defect.place, defect.item) for defect in Log.open(log).check()}
    # Without a place, the same fact is compared with the rows, which do not have this time.
    broken = ("facts_agree", "session 1", "recorder.users.attributed_s")
    assert broken in laws[0.0]
    assert broken not in laws[2.0]


def test_sums_by_group_have_the_same_bits_however_the_rows_are_cut():
    choice = random.Random(7)
    amounts = [choice.uniform(0.0, 1e3) for _ in range(4000)]
    rows = pl.DataFrame({"user": [f"u{number % 7}" for number in range(4000)], "cpu_s": amounts})
    in_order = {}
    for user, amount in rows.iter_rows():
        in_order[user] = in_order.get(user, 0.0) + amount
    result = by_group([rows.lazy()], "user", ["cpu_s"])
    assert dict(result.iter_rows()) == in_order
    chunked = pl.concat([rows[:13], rows[13:2500], rows[2500:]], rechunk=False)
    assert by_group([chunked.lazy()], "user", ["cpu_s"]).equals(result)
    unknown = rows.with_columns(cpu_s=pl.when(pl.col("user") != "u3").then("cpu_s"))
    assert by_group([unknown.lazy()], "user", ["cpu_s"])["cpu_s"].null_count() == 1


@pytest.mark.parametrize("different", [3, 400], ids=["all pairs occur", "few of the pairs occur"])
def test_sums_by_two_keys_are_those_of_their_pairs(different):
    choice = random.Random(9)
    pairs = [(f"u{choice.randrange(different)}", f"c{choice.randrange(different)}") for _ in range(2000)]
    rows = pl.DataFrame(pairs, schema=["user", "command"], orient="row").with_columns(
        number=pl.int_range(pl.len()).cast(pl.Float64)
    )
    in_order = {}
    for pair, number in zip(pairs, rows["number"].to_list(), strict=True):
        in_order[pair] = in_order.get(pair, 0.0) + number
    # Each part has categories of its own.
    parts = [rows[:700].lazy(), rows[700:].lazy()]
    result = by_group(parts, ("user", "command"), ["number"])
    assert list(result.select("user", "command").iter_rows()) == list(in_order)
    assert result["number"].to_list() == list(in_order.values())


@pytest.mark.parametrize("listed", [True, False], ids=["checksums right", "checksums wrong"])
@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_of_a_part_that_changed_end_in_a_message_or_a_report(log, commands, seed, listed):
    choice = random.Random(seed)
    table = choice.choice(sorted(folder.name for folder in log.iterdir() if folder.is_dir()))
    data = bytearray(part(log, table).read_bytes())
    for _ in range(choice.choice([1, 3, 20])):
        place = choice.randrange(len(data))
        data[place] ^= 1 << choice.randrange(8)
    part(log, table).write_bytes(data)
    if listed:
        list_part(log, table)
    statuses, _ = commands(log, choice.sample(ONE_LOG, 3))
    assert listed or statuses[0] == 1


@ONE_SOURCE
@pytest.mark.parametrize("change", ["dropped", "null", "list", "shuffled", "doubled", "binary"])
def test_columns_and_rows_that_changed_end_in_a_message_or_a_report(log, commands, change):
    choice = random.Random(change)
    rows = pyarrow.parquet.read_table(part(log, "samples"))
    name, count = choice.choice(rows.schema.names[1:]), rows.num_rows
    if change == "dropped":
        rows = rows.drop_columns([name])
    elif change == "shuffled":
        rows = rows.take(pa.array(choice.sample(range(count), count)))
    elif change == "doubled":
        rows = pa.concat_tables([rows, rows])
    else:
        values = {"null": pa.nulls(count), "list": [[1]] * count, "binary": [b"\xff\xfe"] * count}
        rows = replaced(rows, name, values[change])
    write_part(log, "samples", rows)
    commands(log, choice.sample(ONE_LOG, 3))


def zero(rows, name):
    return replaced(rows, name, pa.array([0] * rows.num_rows, rows.schema.field(name).type))


def unknown(rows, name):
    return replaced(rows, name, pa.nulls(rows.num_rows, rows.schema.field(name).type))


IMPOSSIBLE = {
    "population_has_its_user": ("simulated", "interactions", "population", zero),
    "replies_are_waited_for": ("simulated", "interactions", "completion", unknown),
    "waiting_users_are_active": ("simulated", "samples", "active_users", zero),
    "simulated_time_adds_up": ("simulated", "samples", "idle_s", zero),
    "known_values": ("simulated", "samples", "user_s", unknown),
    "known_values of inputs": ("simulated", "interactions", "due", unknown),
    "known_values of events": ("simulated", "events", "time", unknown),
    "known_values of the kernel": ("recorded", "samples", "context_switches", unknown),
    "known_values of users": ("recorded", "users", "page_faults_major", unknown),
}
"""Columns with which a log breaks the law of `check` that begins the key."""


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_check_names_what_no_simulation_and_no_recorder_writes(name, request, tmp_path):
    source, table, column, change = IMPOSSIBLE[name]
    log = tmp_path / "log"
    shutil.copytree(request.getfixturevalue(source), log)
    assert Log.open(log).check() == []
    write_part(log, table, change(pyarrow.parquet.read_table(part(log, table)), column))
    law = name.split()[0]
    broken = [defect for defect in Log.open(log).check() if defect.law == law]
    assert broken
    assert all(table in defect.file for defect in broken)
    assert {defect.item for defect in broken} & {column, "CPU time"}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("source", "column"), [("simulated", "user_s"), ("recorded", "psi_cpu_some_s"), ("recorded", "user_s")]
)
def test_amounts_beyond_the_range_of_doubles_are_refused_without_a_warning(
    source, column, request, tmp_path, commands
):
    log = tmp_path / "log"
    shutil.copytree(request.getfixturevalue(source), log)
    rows = pyarrow.parquet.read_table(part(log, "samples"))
    if column not in rows.schema.names or rows[column].null_count:
        pytest.skip(f"this machine does not know {column}")
    write_part(log, "samples", replaced(rows, column, [1e308] * rows.num_rows))
    statuses, printed = commands(log, ["overhead", "capacity", "timeline"])
    assert statuses[0] == 1
    assert "no amount" in printed[0]


@pytest.mark.parametrize(
    ("kind", "unit", "most"),
    [("counter", "s", 1e9), ("counter", "fault", 2e8), ("gauge", "user", 1e7), ("counter", "token", None)],
)
def test_amounts_of_a_source_of_its_own_have_the_bounds_of_their_unit(tmp_path, kind, unit, most):
    own = Column(name="own", type="f64", unit=unit, kind=kind, description="An amount")
    columns = [*(column for column in vocabulary("samples") if column.name == "length_s"), own]
    for at, factor in enumerate((0.99, 1.01)):
        amount = (most or 1e15) * factor
        with LogWriter.open(tmp_path / str(at), source="test", machine={"cpus": 2}) as writer:
            rows = pl.DataFrame({"length_s": [1.0], "own": [amount]})
            writer.write("samples", rows, columns)
        laws = [defect.law for defect in Log.open(tmp_path / str(at)).check()]
        assert laws == (["possible_amount"] if at and most else [])


def test_a_seed_of_64_bits_is_reported_as_it_was_given(tmp_path, commands):
    simulated = simulate("apl360", {"users": 4, "length": 200.0, "warm_up": 20.0}, seed=2**64 - 1)
    simulated.record(tmp_path / "log")
    statuses, printed = commands(tmp_path / "log")
    assert statuses == [0, 0]
    assert "options.seed" not in printed[1]


def test_a_log_writer_cannot_be_misled_by_these_tests(tmp_path):
    # The helpers above make checksums as the writer does: a log that is only rewritten has no defect.
    with LogWriter.open(tmp_path / "log", source="test") as writer:
        writer.write("samples", pl.DataFrame({"length_s": [1.0], "forks": [1]}))
    write_part(tmp_path / "log", "samples", pyarrow.parquet.read_table(part(tmp_path / "log", "samples")))
    assert Log.open(tmp_path / "log").integrity() == []


def test_a_name_that_nobody_has_is_refused_and_not_repeated(recorded, tmp_path, capsys):
    """A report holds the name of the machine in a hundred places: of megabytes, it would never end."""
    log = tmp_path / "log"
    shutil.copytree(recorded, log)
    manifest = read_manifest(log)
    manifest["sessions"][0]["machine"]["hostname"] = 10_000_000 * "x"
    write_manifest(log, manifest)
    assert run(["analyse", "recording", str(log)]) == 2
    printed = "".join(capsys.readouterr())
    assert re.search(
        r"machine\.hostname is 'x{59}\.\.\., but must be a text of at most 100,000 characters", printed
    )
    assert run(["report", str(log), "--format", "text"]) == 0
    assert len("".join(capsys.readouterr())) < 100_000
