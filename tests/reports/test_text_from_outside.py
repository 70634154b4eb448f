"""Text from outside acts on no terminal, page or spreadsheet, whichever command shows it.

A log, scripts, designs and paths made of payloads go through every command in every format. What must not
appear is written down here, character by character, and is not asked of the code under test.
"""

from __future__ import annotations

import base64
import csv
import dataclasses
import gzip
import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import synthetic_machine
from test_renderers import Page

import thinktime
from thinktime.analyses import QUESTIONS
from thinktime.cli import COMMANDS, run
from thinktime.documents.document import Column, Section, Table
from thinktime.documents.render import render_section
from thinktime.log import Log, LogWriter, vocabulary
from thinktime.results import Result

FIXTURES = Path(__file__).parents[1] / "fixtures"
PAYLOADS = {
    "backspace": "p\x08q",
    "escape sequence": "p\x1b[31mq",
    "title of the terminal": "p\x1b]0;owned\x07q",
    "C1": "p\x9b2Jq\x85",
    "right to left": "p\u202eq",
    "isolate": "p\u2066q",
    "line separator": "p\u2028q",
    "paragraph separator": "p\u2029q",
    "null": "p\x00q",
    "new line": "p\r\n* forged finding\nthinktime: forged message",
    "formula": "=cmd|'/c calc'!A1",
    "markup": "[red]<img src=x onerror=alert(1)></script>&",
}
SHOWN = {
    "backspace": r"p\x08q",
    "escape sequence": r"p\x1b[31mq",
    "title of the terminal": r"p\x1b]0;owned\x07q",
    "C1": r"p\x9b2Jq\x85",
    "right to left": r"p\u202eq",
    "isolate": r"p\u2066q",
    "line separator": r"p\u2028q",
    "paragraph separator": r"p\u2029q",
    "null": r"p\x00q",
    "new line": r"p\x0d\x0a* forged finding\x0athinktime: forged message",
    "formula": "=cmd|'/c calc'!A1",
    "markup": "[red]<img src=x onerror=alert(1)></script>&",
}
ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that act on a terminal; of all control characters, a line may only end."""
FORMULAS = ("+1+1", "-1+1", "@SUM(A1)", " =1+1", "\t=1+1", "\r=1+1", "\uff1d1+1")
NUMBERS = ("-0.5", "+3", "-1e-9")
ALL = "".join(PAYLOADS.values())
IN_A_PATH = ALL.replace("\x00", "").replace("/", "")


def of(user: str) -> str:
    """Payload that takes the place of one of the 12 users of the synthetic machine."""
    return list(PAYLOADS.values())[int(user.removeprefix("uid:")) - 1000]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Log in which every text that a stranger can choose is a payload: also its own name."""
    made = synthetic_machine.make(users=len(PAYLOADS), hold_s=10.0)
    users = made.users.with_columns(pl.col("user").map_elements(of, pl.String))
    interactions = made.interactions.with_columns(
        pl.col("user").map_elements(of, pl.String),
        pl.col("user").map_elements(of, pl.String).alias("class"),
    )
    counter = next(column for column in vocabulary("samples") if column.name == "forks")
    extra = [
        dataclasses.replace(counter, name=f"counter_{number}", unit=payload, description=payload)
        for number, payload in enumerate(PAYLOADS.values())
    ]
    samples = made.samples.with_columns(pl.col("forks").alias(column.name) for column in extra)
    path = tmp_path_factory.mktemp("hostile") / IN_A_PATH
    machine = synthetic_machine.MACHINE | dict.fromkeys(
        ("hostname", "kernel", "architecture", "cpu_model", "system", "name", ALL), ALL
    )
    with LogWriter.open(
        path, source=ALL, machine=machine, options={"by": ALL, ALL: ALL}, start_us=synthetic_machine.EPOCH_US
    ) as log:
        log.write("samples", samples, [*vocabulary("samples"), *extra])
        log.write("users", users)
        log.write("interactions", interactions)
        for kind, payload in PAYLOADS.items():
            log.incident(payload, f"{kind}: {payload}")
        costs = [{**made.session["direct_costs"][0], "request": text} for text in PAYLOADS.values()]
        log.set("direct_costs", [*made.session["direct_costs"], *costs])
        log.set("terminals", {"workload": ALL, "seed": 1, "users": 12})
        recorder = {"method": ALL, "missing_sources": list(PAYLOADS.values())}
        log.set("recorder", made.session["recorder"] | recorder)
        log.set(ALL, ALL)
        log.end_us = synthetic_machine.EPOCH_US + round(samples["length_s"].sum() * 1e6)
    return path


def script(folder: Path, name: str, command: str) -> Path:
    """File of a script whose name and only command are these texts."""
    path = folder / "script.toml"
    words = {"name": name, "command": command, "description": name}
    quoted = {key: json.dumps(value) for key, value in words.items()}
    demands = "ctss = { cpu = 1.5, words = 15000, disk = 10, lines = 20 }"
    path.write_text(
        f"name = {quoted['name']}\ndescription = {quoted['description']}\nthink = 30\n"
        f"[commands.{quoted['command']}]\n{demands}\n"
        f"[[interaction]]\ncommand = {quoted['command']}\ntypes = {quoted['command']}\nwait_for = 'r '\n"
    )
    return path


def harmless(text: str) -> None:
    """No character of the text acts, and no line of it was written by a name."""
    acting = ACTING.search(text)
    assert acting is None, ascii(text[max(acting.start() - 200, 0) : acting.end() + 80])
    for line in text.split("\n"):
        assert not line.startswith(("* forged", "thinktime: forged")), line


def fields_of(text: str) -> list[dict[str, str]]:
    """Rows of a CSV, no text of which a spreadsheet would take for a formula."""
    harmless(text)
    rows = list(csv.DictReader(io.StringIO(text)))
    for row in rows:
        for field in row.values():
            if field.lstrip().startswith(("=", "+", "-", "@", "\uff1d")):
                float(field)
    return rows


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    """Function that runs a command and returns its exit status, its answer and its messages."""

    def called(*arguments: str | Path) -> tuple[int, str, str]:
        status = run([str(argument) for argument in arguments])
        done = capsys.readouterr()
        return status, done.out, done.err

    return called


def test_a_report_as_text(hostile, answer):
    status, text, messages = answer("report", hostile)
    assert (status, messages) == (0, "")
    harmless(text)
    for shown in SHOWN.values():
        assert shown in text


def test_a_report_as_csv(hostile, answer):
    status, text, _ = answer("report", hostile, "--format", "csv")
    assert status == 0
    rows = [row for row in fields_of(text) if row["table"] == "users-amounts"]
    used = {row["row"]: float(row["value"]) for row in rows if row["quantity"] == "CPU time"}
    assert set(used) == {f"'{shown}" if kind == "formula" else shown for kind, shown in SHOWN.items()}
    assert min(used.values()) > 0


def test_a_report_as_a_page(hostile, answer, tmp_path):
    status, text, _ = answer("report", hostile, "-o", tmp_path / "page.html")
    assert status == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    words = "\n".join(page.words)
    harmless(re.sub("<script.*?</script>|<style.*?</style>", "", text, flags=re.DOTALL).replace("\t", " "))
    assert not page.all("img")
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    specs = re.search(r'id="specs">(.*?)</script>', text, re.DOTALL)[1]
    unpacked = gzip.decompress(base64.b64decode(specs))
    harmless(json.dumps(json.loads(unpacked), ensure_ascii=False))
    for shown in SHOWN.values():
        assert shown in words


def test_a_report_as_json_is_exact(hostile, answer):
    status, text, _ = answer("report", hostile, "--format", "json")
    assert status == 0
    harmless(text)
    tables = {table["name"]: table for section in json.loads(text)["sections"] for table in section["tables"]}
    users = {row[0] for row in tables["users-amounts"]["rows"]}
    assert users >= set(PAYLOADS.values())


@pytest.mark.parametrize("question", [item.name for item in QUESTIONS])
def test_every_question(question, hostile, answer):
    for form, test in (("text", harmless), ("csv", fields_of), ("json", harmless)):
        status, text, messages = answer("analyse", question, hostile, "--format", form)
        # One log is no runs, and no treatment is named: those messages are tested as well.
        assert status == (2 if question in ("compare", "experiment") else 0), messages
        test(text)
        harmless(messages)


def test_results_in_a_session(hostile):
    log = Log.open(hostile)
    for question in QUESTIONS:
        if question.accepts in ("one log", "logs"):
            result = thinktime.analyse(question.name, log)
            harmless(repr(result))
            harmless(result._repr_html_() if isinstance(result, Result) else "")


def test_no_cell_is_a_formula_and_numbers_stay_numbers():
    texts, numbers = (*FORMULAS, *PAYLOADS.values()), (-0.5, -3, float("-inf"), 1e-300)
    table = Table(
        name=FORMULAS[0],
        caption="cells",
        columns=(Column("row"), *(Column(text, unit=text) for text in texts), Column("number")),
        rows=tuple((text, *texts, number) for text in texts for number in (*numbers, *NUMBERS)),
    )
    rows = fields_of(render_section(Section(name="=1", title="", summary=(), tables=(table,)), "csv"))
    values = [row["value"] for row in rows if row["quantity"] == "number"]
    assert values == ["-0.5", "-3", "", "1e-300", *NUMBERS] * len(texts)
    for text in FORMULAS:
        assert any(row["value"].startswith("'") and row["value"].endswith(text.strip()) for row in rows)


def part_with_a_hostile_column(folder: Path) -> Path:
    """Log without a list of its parts (version 1), where a part has a column that is named as a payload."""
    copy = folder / IN_A_PATH
    shutil.copytree(Path(__file__).parents[1] / "log" / "version_1", copy)
    part = copy / "events" / "part-000001.parquet"
    pl.read_parquet(part, glob=False).with_columns(pl.lit(1).alias(ALL)).write_parquet(part)
    return copy


def unread_log(folder: Path) -> Path:
    """Folder with a manifest that is none, because of a payload."""
    path = folder / IN_A_PATH
    path.mkdir()
    (path / "manifest.json").write_text(json.dumps({ALL: ALL, "format": ALL, "version": ALL}))
    return path


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def hostile_session(folder):
    """Asciicast of a prompt made of payloads, at which two lines of payloads were typed and answered."""
    events, now = [[0.1, "o", "$ "]], 0.2
    for line in (f"echo {IN_A_PATH}", "ls"):
        for key in line:
            events += [[now, "i", key], [now, "o", key]]
            now += 0.01
        events += [[now, "i", "\r"], [now, "o", "\r\n"], [now + 0.1, "o", f"{ALL}\r\n$ "]]
        now += 1.0
    lines = [{"version": 2, "width": 80, "height": 24, "env": {"SHELL": ALL}}, *events]
    return written(folder, f"{IN_A_PATH}.cast", "\n".join(map(json.dumps, lines)) + "\n")


MESSAGES = {
    "record": lambda folder: [
        ("record", "-o", taken(folder)),
        ("record", "-o", folder / "new", "--interval", IN_A_PATH),
    ],
    "play": lambda folder: [
        ("play", IN_A_PATH),
        ("play", written(folder, "w.json", json.dumps({ALL: ALL, "classes": [{"name": ALL, ALL: 1}]}))),
        ("play", "mixed", "-o", taken(folder)),
        ("play", "mixed", "--think", IN_A_PATH),
        ("play", f"{IN_A_PATH}.json"),
        ("play", f"{IN_A_PATH}.toml"),
        ("play", "login-node", "--on", f"ssh://{IN_A_PATH}"),
        ("play", script(folder, name=ALL, command=ALL), "--dry-run"),
    ],
    "simulate": lambda folder: [
        ("simulate", IN_A_PATH),
        ("simulate", "ctss", "-p", f"{IN_A_PATH}=3"),
        ("simulate", "ctss", "-p", f"users={IN_A_PATH}"),
        ("simulate", "ctss", "-p", f"script={IN_A_PATH}"),
        ("simulate", "ctss", "--config", written(folder, "c.toml", f"{json.dumps(ALL)} = 3\n")),
        ("simulate", "ctss", "--config", written(folder, "d.toml", f"x = {ALL}\n")),
        ("simulate", "ctss", "-o", taken(folder)),
        ("simulate", "--from", folder / IN_A_PATH),
        ("simulate", "--from", folder, "--scheduler", IN_A_PATH),
        ("simulate", "--from", folder, "--quantum", IN_A_PATH),
    ],
    "predict": lambda folder: [
        ("predict", "network", "--station", f"{IN_A_PATH}=30ms", "--users", "3", "--think-time", "1s"),
        ("predict", "network", "--station", f"{IN_A_PATH}=30ms", "--users", IN_A_PATH),
        ("predict", "disk-bound", "--from", folder / IN_A_PATH),
        ("predict", IN_A_PATH),
    ],
    "size": lambda folder: [
        ("size", folder / IN_A_PATH),
        ("size", folder, "--goal", IN_A_PATH),
        ("size", folder, "--what-if", f"{IN_A_PATH}=4"),
        ("size", folder, "--demand", f"{IN_A_PATH}*2"),
        ("size", folder, "--users", IN_A_PATH),
        ("size", folder, "--memory", IN_A_PATH),
    ],
    "experiment": lambda folder: [
        ("experiment", folder / IN_A_PATH),
        ("experiment", written(folder, "e.toml", f"system = {json.dumps(ALL)}\n{json.dumps(ALL)} = 1\n")),
        (
            "experiment",
            written(folder, "f.toml", f"system = 'ctss'\n[factors]\n{json.dumps(ALL)} = [1, 2]\n"),
        ),
        (
            "experiment",
            written(folder, "g.toml", f"system = 'ctss'\n[factors]\nusers = [1, {json.dumps(ALL)}]\n"),
        ),
        ("experiment", written(folder, f"{IN_A_PATH}.toml", f"system = {ALL}")),
    ],
    "lab": lambda folder: [
        ("lab", IN_A_PATH),
        ("lab", "swap", "--resume", folder / IN_A_PATH),
        ("lab", "swap", "--memory", IN_A_PATH),
        ("lab", "swap", "--processes", IN_A_PATH),
        ("lab", "swap", "-o", folder / "new", "--scratch", folder / IN_A_PATH, "--yes"),
    ],
    "systems": lambda folder: [("systems", IN_A_PATH)],
    "scripts": lambda folder: [
        ("scripts", IN_A_PATH),
        ("scripts", "--check", script(folder, name=ALL, command=ALL)),
        ("scripts", "--check", written(folder, "t.toml", f'name = "x"\n{json.dumps(ALL)} = 1\n')),
        ("scripts", "--check", folder / IN_A_PATH),
        ("scripts", "--from", folder / IN_A_PATH, "-o", folder / "made.toml"),
        ("scripts", "--from", hostile_session(folder), "-o", folder / "made.toml"),
        (
            "scripts",
            "--from",
            written(folder, "e.cast", json.dumps({"version": ALL})),
            "-o",
            folder / "f.toml",
        ),
    ],
    "report": lambda folder: [("report", folder / IN_A_PATH), ("report", unread_log(folder))],
    "fleet": lambda folder: [
        ("fleet", folder / IN_A_PATH),
        ("fleet", f"s3://{IN_A_PATH}"),
        ("fleet", unread_log(folder)),
    ],
    "analyse": lambda folder: [
        ("analyse", IN_A_PATH),
        ("analyse", "response", folder / IN_A_PATH),
        ("analyse", "response", folder, IN_A_PATH),
    ],
    "import": lambda folder: [
        ("import", "sar", folder / IN_A_PATH, "-o", folder / "log"),
        ("import", "sar", written(folder, "sar.json", hostile_sar()), "-o", folder / "log"),
        ("import", "sar", written(folder, "bad.json", json.dumps({ALL: ALL})), "-o", folder / "log"),
        ("import", "sar", written(folder, "bad.raw", f"{ALL}; {ALL}; {ALL};\n"), "-o", folder / "log"),
        ("import", "sar", folder, "-o", folder / "log", "--date", IN_A_PATH),
        ("import", written(folder, "any", ALL), "-o", folder / "log"),
        ("import", written(folder, "any", ALL), "-o", folder / "log", "--as", IN_A_PATH),
        ("import", written(folder, "p.txt", hostile_pidstat()), "-o", folder / "pidstat"),
        ("import", written(folder, "p.prom", hostile_scrapes()), "-o", folder / "prometheus"),
        ("import", written(folder, "m.csv", f"t,{ALL}\n"), "-o", folder / "log", *mapping(folder)),
    ],
    "export": lambda folder: [
        ("export", folder / IN_A_PATH, "-o", "x.csv"),
        ("export", unread_log(folder), IN_A_PATH, "-o", folder / f"x.{IN_A_PATH}"),
    ],
    "study": lambda folder: [
        ("study", IN_A_PATH),
        ("study", "sekino-1969", "--table", IN_A_PATH),
        ("study", "sekino-1969", "-o", folder / IN_A_PATH / IN_A_PATH),
    ],
    # What it says of a log stands on its screen: see tests/recorder/test_live.py.
    "live": lambda folder: [
        ("live", folder / IN_A_PATH),
        ("live", folder, IN_A_PATH),
        ("live", "--by", IN_A_PATH),
    ],
    "logs": lambda folder: [("logs", folder / IN_A_PATH), ("logs", unread_log(folder).parent)],
    "check": lambda folder: [("check", folder / IN_A_PATH), ("check", unread_log(folder))],
    "doctor": lambda folder: [("doctor", IN_A_PATH)],
    "demo": lambda folder: [("demo", "-o", taken(folder)), ("demo", "--minutes", IN_A_PATH)],
    "config": lambda folder: [("config", IN_A_PATH), ("config", "--format", IN_A_PATH)],
    "man": lambda folder: [("man", IN_A_PATH)],
}
"""Calls of every command that are refused, or that show texts of their input."""


def taken(folder: Path) -> Path:
    """File that exists, so that a command refuses to write there."""
    return written(folder, f"{IN_A_PATH}.txt", "")


def hostile_pidstat() -> str:
    """Text of pidstat whose commands and host are payloads, and lines that are damaged by one."""
    word = ALL.replace("\n", "").replace("\r", "")
    head = f"Linux 6.1 ({word[:200]}) \t11/21/26 \t_x86_64_\t(2 CPU)\n\n# Time UID PID %usr %wait Command\n"
    rows = "".join(f"08:00:0{at} 1000 7 5.00 0.00 {word}\n{word}\n" for at in range(3))
    return head + rows


def hostile_scrapes() -> str:
    """Scrapes whose labels are payloads, and lines that are damaged by one."""
    label = json.dumps(ALL).replace("\\u001b", "\x1b")
    reads = "node_disk_reads_completed_total"
    scrape = f"# time {{time}}\n{reads}{{{{device={{label}}}}}} {{value}}\nnode_forks_total {{label}}\n"
    return "".join(scrape.format(time=1_790_000_000 + at, label=label, value=9 - at) for at in range(3))


def mapping(folder: Path) -> tuple[str, Path]:
    """Option with a mapping that names a column that is not there."""
    text = f'[time]\ncolumn = "t"\n[columns]\nforks = {{ column = {json.dumps(ALL)} }}\n'
    return "--mapping", written(folder, "map.toml", text)


def hostile_sar() -> str:
    """Data of sar in which every text is a payload but those that the format defines."""
    text = (FIXTURES / "sar" / "12.7.5-restart.json").read_text()
    machine = json.loads(text)["sysstat"]["hosts"][0]["nodename"]
    return text.replace(json.dumps(machine), json.dumps(ALL))


def test_every_command_has_its_calls():
    assert set(MESSAGES) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_messages(command, tmp_path, answer):
    told = []
    for arguments in MESSAGES[command](tmp_path):
        status, out, err = answer(*arguments)
        assert status == (2 if err else 0), err
        harmless(out)
        harmless(err)
        told.append(out + err)
    assert "\\x1b[31m" in "".join(told), "no call showed a payload"


@pytest.mark.parametrize(
    "settings",
    [
        f"[{json.dumps(ALL)}]\nx = 1\n",
        f"[record]\n{json.dumps(ALL)} = 1\n",
        f"[record]\ninterval = {json.dumps(ALL)}\n",
        f"x = {ALL}\n",
    ],
    ids=["table", "option", "value of a wrong type", "no TOML"],
)
def test_settings_of_a_file(settings, tmp_path, answer, monkeypatch):
    monkeypatch.setenv("THINKTIME_CONFIG", str(written(tmp_path, f"{IN_A_PATH}.toml", settings)))
    for form in ("text", "json"):
        status, out, err = answer("config", "--format", form)
        assert status == (2 if err else 0), err
        harmless(out)
        harmless(err)
        assert "forged" in out + err, "no payload was shown"


def test_check_shows_names_of_columns(tmp_path, answer):
    path = part_with_a_hostile_column(tmp_path)
    status, out, err = answer("check", path)
    assert status == 1
    harmless(out)
    harmless(err)
    assert r"p\x0d\x0a* forged finding" in out.partition(" schema p")[2]
    status, out, _ = answer("check", path, "--format", "json")
    harmless(out)
    assert ALL in [defect["item"] for defect in json.loads(out)["records"]]


def test_the_line_of_progress(tmp_path):
    """On a terminal: neither markup nor sequences of a file's name reach it."""
    data = (FIXTURES / "sar" / "12.7.5-restart.json").read_text()
    path = written(tmp_path, "[red]p\x1b[31m\u202eq.json", data)
    ours, theirs = pty.openpty()
    arguments = ["import", "sar", str(path), "-o", str(tmp_path / "log")]
    code = "import sys; from thinktime.cli import run; sys.exit(run(sys.argv[1:]))"
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | {"COLUMNS": "200", "TERM": "xterm"},
    ) as process:
        os.close(theirs)
        drawn = b"".join(iter(lambda: read_terminal(ours), b"")).decode()
    os.close(ours)
    assert process.returncode == 0
    assert r"[red]p\x1b[31m\u202eq.json" in drawn
    assert "\x1b[31m" not in drawn
    assert "\u202e" not in drawn


def read_terminal(descriptor: int) -> bytes:
    """Next bytes, or none: the end of a terminal is an error."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""
