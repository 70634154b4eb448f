"""Every wrong input is answered by one clear line and status 2: a walk through all commands.

A case is a command line and words of the answer: the item, and what would be right. The files
that it names are those that `place` makes.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from thinktime.cli import run
from thinktime.sources.simulated import simulate

ENDINGS = ".html, .htm, .txt, .json, .csv"
LOOPS = "12, 30, 60, 186 or 354"
WORDS = "text or json"
NO_UNIT = "has no unit"
NO_LOG = "there is no such log"
TAKEN = "run: already exists"
WHOLE = "whole number"

CASES: dict[str, str | tuple[str, ...]] = {
    # The program.
    "repot": "did you mean report?",
    "nonsense": "`thinktime --help` lists",
    "help nonsense": "`thinktime --help` lists",
    "--verison": "did you mean --version?",
    "-x": "-x",
    "--quiet=yes": "--quiet",
    # Reports and checks.
    "report": "LOG",
    "report --format": "--format",
    "report nosuch": ("nosuch: there is no such log", "run"),
    "report rum": "did you mean run?",
    "report plain.txt": "plain.txt: is a file; name the folder of a log",
    "report run/manifest.json": "name the folder, run",
    "report .": "no manifest.json",
    "report 'l\udcff'": "its name is not UTF-8",
    "report cut": "restore it from a copy",
    "report run run": "given twice",
    "report run --format xml": ("--format xml", "html, text, json or csv"),
    "report run --format txt": "did you mean text?",
    "report run -o x.pdf": ENDINGS,
    "report run -o nosuch/x.html": "the folder nosuch does not exist",
    "report run -o page.html": "--force",
    "report run -o .": "is a folder",
    "report run --forse": "did you mean --force?",
    "check": "LOG",
    "check nosuch": NO_LOG,
    "check run run": "run",
    "check plain.txt": "is a file",
    "check run --format csv": WORDS,
    "logs nosuch": "nosuch",
    "logs plain.txt": "is no folder",
    "doctor now": "now",
    "doctor --format yaml": WORDS,
    # Showing.
    "live nosuch": "no terminal",
    "live run -o new": ("run", "-o new"),
    "live --force": "--force",
    "live --resume --force -o new": "--resume --force",
    "live --at 14:30": "--at",
    "live run --speed 0": ("--speed 0", "above 0"),
    "live run --speed fast": ("--speed fast", "number"),
    "live run --size-every 30": ("--size-every", NO_UNIT),
    "live --interval 0s": "--interval",
    # Recording.
    "record --interval 5x -o new": ("--interval", "5x"),
    "record --interval 5 -o new": ("--interval", NO_UNIT),
    "record --interval 0s -o new": "--interval",
    "record --interval -1s -o new": "--interval",
    "record --duration 99999999999999999999h -o new": ("--duration", "99999999999999999999h"),
    "record --by user -o new": ("--by user", "uid, session, cgroup or none"),
    "record --method perf -o new": "auto, procfs, taskstats or iterator",
    "record --jitter 0.9 -o new": ("--jitter 0.9", "0 to 0.45"),
    "record --jitter much -o new": ("--jitter much", "number"),
    "record --jitter nan -o new": "--jitter",
    "record --seed -1 -o new": ("--seed -1", "at least 0"),
    "record --seed 1.5 -o new": ("--seed 1.5", WHOLE),
    "record --commands many -o new": ("--commands many", WHOLE),
    "record --keep-bytes 5X -o new": "--keep-bytes",
    "record --keep-days -1 -o new": "--keep-days",
    "record --keep-days nan -o new": "--keep-days",
    "record --gauges-every 0s -o new": "--gauges-every",
    "record --resume --force -o new": "--resume --force",
    "record --for sise -o new": ("--for sise", "size"),
    "record -o run": "run",
    "record -o plain.txt": "plain.txt",
    "record now": "now",
    # Playing.
    "play": "WORKLOAD",
    "play protoype": "did you mean prototype?",
    "play nosuch.json": "nosuch.json",
    "play bad.json": "bad.json",
    "play empty --users 0": "--users",
    "play empty --users many": "--users",
    "play empty --users 3..1": "--users",
    "play empty --users 1..5..0": "--users",
    "play empty --users 10000000": "10000000",
    "play empty --step 0s": "--step",
    "play empty --step 20": ("--step", NO_UNIT),
    "play empty --ramp 5": ("--ramp", NO_UNIT),
    "play empty --think soon": "--think",
    "play empty --think exponential(mean=-1s)": "--think",
    "play prototype --burst 13": LOOPS,
    "play prototype --burst x": ("--burst x", WHOLE),
    "play mixed --burst 12": "--burst 12",
    "play empty --array 5X": "--array",
    "play empty --scratch nosuch -o new": "nosuch",
    "play empty --seed x": ("--seed x", WHOLE),
    "play empty -o run": TAKEN,
    "play empty --interval 1": ("--interval", NO_UNIT),
    # Simulating.
    "simulate": "SYSTEM",
    "simulate apl36": "did you mean",
    "simulate apl360 users=3 length=60": "behind -p, one each: -p users=3 -p length=60",
    "simulate apl360 -p users": "-p users: give NAME=VALUE",
    "simulate apl360 -p users=many": "users",
    "simulate apl360 -p usrs=3": "did you mean",
    "simulate apl360 -p users=-1": "users",
    "simulate apl360 -p users=35 -p users=36": "-p users: is given twice",
    "simulate apl360 -p scheduler=fifo": "scheduler",
    "simulate apl360 -p users=[1": "users",
    "simulate apl360 --replications 0": ("--replications 0", "at least 1"),
    "simulate apl360 --threads 0": ("--threads 0", "at least 1"),
    "simulate apl360 --threads x": ("--threads x", WHOLE),
    "simulate apl360 --max-events 0": ("--max-events 0", "at least 1"),
    "simulate apl360 --max-events nan": "--max-events",
    "simulate apl360 --max-memory 4X": "--max-memory",
    "simulate apl360 --config nosuch.toml": "nosuch.toml: cannot be read",
    "simulate apl360 --config bad.toml": "bad.toml: is not TOML",
    "simulate apl360 --trace": "-o",
    "simulate apl360 --resume": "-o",
    "simulate apl360 -o run": TAKEN,
    "simulate apl360 --seed -1": ("--seed -1", "at least 0"),
    "simulate apl360 -p length=1e15": "length",
    "simulate multics -p script=nosuch.toml": "nosuch.toml",
    "experiment": "DESIGN.toml",
    "experiment nosuch.toml": "nosuch.toml",
    "experiment bad.toml": "bad.toml",
    "experiment design.toml": "did you mean",
    "experiment bad.toml --replications 1": ("--replications 1", "at least 2"),
    "lab swop": "swap",
    "lab swap --memory 4": ("--memory 4", "1048576"),
    "lab swap --memory x": "--memory",
    "lab swap --processes 0": ("--processes 0", "1 to 500"),
    "lab swap --processes few": ("--processes", WHOLE),
    "lab swap --size 64MiB": ("--size", "--memory"),
    "lab swap --compute 13": LOOPS,
    "lab swap --speed 1": ("--speed 1", "at least 100"),
    "lab swap --time 0s": ("--time 0s", "at least 1s"),
    "lab swap --think 2": "--think",
    "lab swap --replications 0": "--replications 0",
    "lab swap -o run": TAKEN,
    "lab swap --resume nosuch": "nosuch",
    "lab swap --resume run": "run",
    "lab swap --resume nosuch --seed 2": "--seed: was decided when nosuch was begun",
    "systems apl": "did you mean apl360?",
    "systems apl360 schedule": "did you mean scheduler?",
    "systems apl360 --format html": "text, json or csv",
    "scripts mftn": "did you mean",
    "scripts --check nosuch.toml": "nosuch.toml",
    "scripts --check bad.toml": "bad.toml",
    "scripts mftn3 --check bad.toml": "--check",
    # Predicting.
    "predict pagng": "did you mean paging?",
    "predict disk-bound": "--from LOG",
    "predict disk-bound --loaded 4 --loaded-b 8 --block-time 50 --swap-time 70ms": "--block-time",
    "predict disk-bound --loaded four": "--loaded",
    "predict disk-bound --from nosuch": NO_LOG,
    "predict disk-bound a.toml b.toml c.toml": "a.toml",
    "predict swap-overhead": "--elapsed",
    "predict swapping": "--",
    "predict swapping nosuch.toml": "nosuch.toml",
    "predict paging --core x": "--core x",
    "predict paging --core 5..1": "--core 5..1",
    "predict paging --levels 1": ("--levels 1", "2 to 256"),
    "predict paging --simulate -1": ("--simulate -1", "at least 0"),
    "predict paging -p usrs=3": "did you mean",
    "predict network": "--users",
    "predict network --station cpu": "--station",
    "predict network --station cpu=30 --users 3": ("station cpu", NO_UNIT),
    "predict network --station cpu=30ms --users 0": "--users",
    "predict network --station cpu=30ms": "--users",
    "predict network --station cpu=30ms --users 3 --quantiles 150%": "--quantiles",
    "predict network nosuch.toml": "nosuch.toml",
    "size": "thinktime play",
    "size nosuch": NO_LOG,
    "size run --goal fast": "--goal",
    "size run --cpus 0": ("--cpus 0", "at least 1"),
    "size run --memory 5X": "--memory",
    "size run --think 5": "--think",
    "size run --demand gpu*2": "--demand gpu*2",
    "size run --what-if cpus": "--what-if cpus",
    "size run --what-if cpux=4": "did you mean cpu?",
    "size run --what-if cores=4": "did you mean cpus?",
    "size run --what-if processors=4": "did you mean cpus?",
    "size run --what-if ram=64GB": "did you mean memory?",
    "size run --what-if rset=2": "did you mean rest?",
    "size run --cores 4": "did you mean --cpus?",
    "size run --from site.toml": "--from site.toml",
    "size --from nosuch.toml": "nosuch.toml",
    "size run --users 0": "--users",
    # Analysing.
    "analyse overheads run": "did you mean overhead?",
    "analyse overhead": "LOG",
    "analyse overhead nosuch": NO_LOG,
    "analyse overhead run --request frok": "frok",
    "analyse throughput run --by activ_users": "did you mean active_users?",
    "analyse throughput run --width 0": "--width",
    "analyse saturation run --work busy_tim": "did you mean",
    "analyse compare run": "--treatment COLUMN",
    "analyse compare run run": "given twice",
    "analyse experiment run": "run",
    "analyse capacity run -o x.docx": ENDINGS,
    # Importing and repeating.
    "import": ("FILE", "sar"),
    "import sr day.json -o new": ("sr", "sar"),
    "import plain.txt -o new": ("plain.txt", "--as KIND", "vmstat"),
    "import page.html -o new": ("page.html", "--as KIND"),
    "import plain.txt -o new --as nmon": ("nmon", "prometheus"),
    "import vmstat plain.txt -o new --cpus 2": ("plain.txt", "vmstat"),
    "import plain.txt -o new --mapping nosuch.toml": "nosuch.toml",
    "import plain.txt -o new --interval 5": ("--interval", NO_UNIT),
    "import sar nosuch -o new": "nosuch",
    "import sar plain.txt -o new": "plain.txt",
    "import sar plain.txt": "--output",
    "import sar plain.txt -o new --date monday": "--date monday",
    "study bard": "did you mean bard-1971?",
    "study bard-1971 --table table99": "table99",
    "study bard-1971 --scale 0": "--scale 0",
    "study bard-1971 --replications 0": ("--replications 0", "at least"),
    "study bard-1971 --seed -1": ("--seed -1", "at least 0"),
    "study bard-1971 -o study.pdf": ENDINGS,
    # The demo.
    "demo --minutes 0": "--minutes 0",
    "demo --minutes soon": ("--minutes soon", "number"),
    "demo --seed -1": ("--seed -1", "at least 0"),
    "demo -o run": TAKEN,
}
"""Words of the answer, by the command line."""

FOREIGN = (
    "Traceback",
    "Usage:",
    "Error:",
    "Invalid value for",
    "Input should",
    "os error",
    "Value error",
    "Errno",
)
"""Words of the libraries below, and of a program that failed."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a log, a damaged log, and files of several kinds."""
    folder = tmp_path_factory.mktemp("place")
    simulated = simulate("apl360", {"users": 3, "length": 600.0}, seed=1, replications=2)
    simulated.record(folder / "run", trace=True)
    (folder / "cut").mkdir()
    (folder / "cut" / "manifest.json").write_text('{"format_version": 1, "tab')
    shutil.copytree(folder / "run", folder / "l\udcff")
    (folder / "plain.txt").write_text("no log\n")
    (folder / "page.html").write_text("a page\n")
    (folder / "bad.toml").write_text("users = = 3\n")
    (folder / "bad.json").write_text('{"classes": 3}\n')
    (folder / "design.toml").write_text(
        'system = "apl36"\nseed = 1\nreplications = 2\n[factors]\nusers = [1, 2]\n'
    )
    return folder


def is_clear(errors: str) -> bool:
    """True for one line in the program's own words that names its remedy."""
    lines = errors.splitlines()
    return (
        len(lines) == 1
        and lines[0].startswith("thinktime: ")
        and len(lines[0]) < 500
        and not any(word in errors for word in FOREIGN)
    )


def test_what_libraries_print_is_not_clear() -> None:
    for errors in (
        "",
        "Error: No such option: --forse",
        "Usage: thinktime report [OPTIONS]\n\nError: Missing argument 'LOG...'.",
        "thinktime: cannot open x: No such file or directory (os error 2); check the path",
        "thinktime: Invalid value for '--seed': Input should be greater than or equal to 0",
        "thinktime: a\nthinktime: b",
        "Traceback (most recent call last):",
    ):
        assert not is_clear(errors)


@pytest.mark.parametrize("command", CASES)
def test_a_wrong_input_is_answered_by_one_line(
    command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    before = sorted(os.listdir(place))
    status = run(shlex.split(command))
    printed = capfd.readouterr()
    assert status == 2, printed
    assert printed.out == ""
    assert is_clear(printed.err), printed.err
    words = CASES[command]
    for part in (words,) if isinstance(words, str) else words:
        assert part in printed.err
    assert sorted(os.listdir(place)) == before
