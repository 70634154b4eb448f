"""Commands that the documentation shows run as they stand, on logs of the names that it gives them.

Only lengths are changed, by the rules in `SHORTER`: a page may show eight hours of recording.
"""

from __future__ import annotations

import contextlib
import io
import lzma
import shutil
from pathlib import Path

import pytest
from documented import LOGS, ROOT, Shown, commands, pages, tables
from typer.main import get_command

from thinktime.analyses.waits.states import N_LEAST
from thinktime.cli import run
from thinktime.cli.program.application import application
from thinktime.quantity import parse_seconds

SAR = ROOT / "tests" / "fixtures" / "sar"
TOOLS = ROOT / "tests" / "fixtures" / "tools"
PCP = ROOT / "tests" / "fixtures" / "pcp" / "load"
RUN = {
    "beyond-the-papers",
    "compare-throughput",
    "find-what-limits",
    "first-report",
    "how-good-are-predictions",
    "import-files",
    "import-sar",
    "install",
    "jupyterhub",
    "login-node",
    "look-at-disks",
    "play-users",
    "terminal-server",
    "watch-live",
}
"""Pages whose commands run here; those of others take minutes, or are run by another test of this folder."""
ALWAYS = {"first-report", "find-what-limits", "import-files", "import-sar"}
"""Those of them that every run of the tests runs: what newcomers read first."""
PAGES = [
    pytest.param(path, marks=() if path.stem in ALWAYS else pytest.mark.thorough)
    for path in pages()
    if path.stem in RUN and any(commands(path.read_text()))
]

SHORTER: dict[str, dict[str, str]] = {
    "record": {"--duration": "4s", "--interval": "0.1s", "--gauges-every": "1s"},
    "play": {"--step": "0.3s", "--ramp": "", "--baseline": "0s", "--users": "1..2", "--think": "100ms"},
    "predict": {"--simulate": "1"},
}
"""Options of a command whose values are replaced, or added where they are not given."""
WHERE_GIVEN = {"--ramp", "--users", "--think", "--simulate"}
"""Options that are replaced only where a page gives them."""
LENGTHS = {
    "apl360": ["-p", "length=120"],
    "cp67": ["-p", "observations=40"],
    "ctss": ["-p", "length=900"],
    "unix6": ["-p", "interactions=20"],
    "multics": ["-p", "length=600"],
}
"""Shorter runs of each system."""
FILES = {
    # A binary file is read by the sadf of its own version alone, which may not be installed here.
    "/var/log/sysstat/sa21": SAR / "12.7.5-load.raw",
    "hour.sa": SAR / "12.7.5-load.raw",
    "host.raw": SAR / "12.7.5-load.raw",
    "vmstat.txt": TOOLS / "vmstat-t.txt",
    "iostat.txt": TOOLS / "iostat-x-t.txt",
    "pidstat.txt": TOOLS / "pidstat-h.txt",
    "scrapes.prom": TOOLS / "node-process.prom",
    "range.json": TOOLS / "range.json",
    "data.csv": TOOLS / "data.csv",
    "access.csv": TOOLS / "access.csv",
    "jobs.txt": TOOLS.parent / "slurm" / "jobs.txt",
    "rezolus.parquet": TOOLS.parent / "rezolus" / "5.4.parquet",
    "/var/log/wtmp": TOOLS.parent / "logins" / "wtmp-boots",
    "/var/lib/thinktime/log": Path("run"),
}
"""Files that a page takes to be there."""
PARSED = {
    "demo": "three minutes of play; tests/terminals plays it",
    "study": "minutes each; tests/studies runs them",
    "experiment": "test_designs runs the designs of the documentation",
    "lab": "needs root, and the machine alone; tests/recorder/test_lab_swap.py runs it",
    "live": "needs a terminal; tests/recorder/test_live.py has one",
}
"""Commands that are long, or need a terminal: their words are parsed here, and what runs them instead."""
REFUSED = {("simulate", "multics", "-p", "script=my.toml"): "shows the message of an error in the script"}
"""Commands that a page shows because they are refused."""


def shortened(shown: Shown) -> list[str]:
    """Words of a command, its lengths replaced."""
    words = [str(FILES.get(word, word)) for word in shown.words]
    for option, value in SHORTER.get(words[0], {}).items():
        if option in words:
            words[words.index(option) + 1] = value
        elif option not in WHERE_GIVEN and not ("--help" in words or "--show" in words or len(words) == 1):
            words += [option, value]
    if words[0] == "simulate":
        words += LENGTHS.get(words[1], [])
        if "--replications" not in words:
            words += ["--replications", "2"]
    return words


def prepare(page: Path, shown: Shown, left: list[str]) -> None:
    """Files that the page prints, and the place of what the command writes."""
    for word in shown.words:
        name = Path(word.removeprefix("script="))
        if name.suffix == ".meta":
            for ending in (".meta", ".0"):
                packed = PCP.with_name(f"{PCP.name}{ending}.xz")
                name.with_suffix(ending).write_bytes(lzma.decompress(packed.read_bytes()))
        if name.name == "perf.data":
            name.write_bytes(lzma.decompress((TOOLS.parent / "perf" / "sched.data.xz").read_bytes()))
        if name.suffix == ".toml" and not name.exists():
            there = [path for path in page.parent.rglob(name.name) if path.is_file()]
            if there:
                shutil.copy(there[0], name)
            elif left:
                name.write_text(left.pop(0))
    made = None if shown.makes is None else Path(shown.makes)
    if (
        shown.words[0] != "record"
        and made is not None
        and made.is_dir()
        and "--resume" not in shown.words
        and not made.is_symlink()
    ):
        shutil.rmtree(made)
    elif made is not None and made.is_file() and shown.into is None:
        made.unlink()


def parsed(shown: Shown) -> None:
    """Raise an error if the command has no such option or argument."""
    group = get_command(application(shown.words))
    context = group.make_context("thinktime", [], resilient_parsing=True)
    name, command, rest = group.resolve_command(context, list(shown.words))
    command.make_context(name, rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_the_commands_of_a_page_run_one_after_the_other(page, folder, capsys):
    text = page.read_text()
    left = tables(text)
    failed = []
    for shown in commands(text):
        if any(word.startswith("target/") for word in shown.words):
            continue
        if shown.words[0] in PARSED:
            parsed(shown)
            continue
        prepare(page, shown, left)
        words = shortened(shown)
        if shown.words[0] == "record" and shown.makes == "run":
            # What follows asks a log of people at work, of whom seconds on a machine of tests show none.
            words = [word for word in words if word not in ("-o", "run")] + ["-o", "recorded", "--force"]
        if shown.words[0] == "play":
            # How punctual its driver is depends on the machine of the tests, not on the page.
            words = [*words, "--accept-driver-load"]
        output = io.StringIO()
        with contextlib.redirect_stdout(output) if shown.into else contextlib.nullcontext():
            status = run(words)
        if shown.into:
            Path(shown.into).write_text(output.getvalue())
        expected = 2 if shown.words in REFUSED else 0
        if status != expected:
            failed.append((words, status, capsys.readouterr().err))
        capsys.readouterr()
    assert not failed


def test_the_play_whose_slowest_inputs_are_asked_for_is_long_enough_for_an_answer(capsys):
    """Users of a shell think for seconds: by default, a play ends after a handful of lines."""
    page = (ROOT / "docs" / "how-to" / "see-where-time-waits.md").read_text()
    (shown,) = (item for item in commands(page) if item.words[0] == "play")
    assert run([*shown.words[:-2], "--dry-run"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    at = [float(words[1]) for words in lines if len(words) > 2 and words[2] == "s" and words[0].isdigit()]
    length = parse_seconds(shown.words[shown.words.index("--step") + 1], "--step")
    # Replies take time, too, and not every line waits for one.
    assert sum(time < length for time in at) >= 2 * N_LEAST


def test_a_log_has_one_name_on_all_pages():
    """A name that a command reads is one of those that stand for logs, or was made on the same page."""
    reading = {"report", "analyse", "check", "size"}
    for path in pages():
        made: set[str] = set(LOGS)
        for shown in commands(path.read_text()):
            if shown.words[0] in reading:
                for word in named(shown):
                    assert word in made, f"{path}: thinktime {' '.join(shown.words)}"
            if shown.makes:
                made.add(shown.makes)


def named(shown: Shown) -> list[str]:
    """Logs that a command reads: its words before the first option, questions apart."""
    words = list(shown.words[2:] if shown.words[0] == "analyse" else shown.words[1:])
    first = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    return [word for word in words[:first] if "/" not in word and not word.endswith(".toml")]


def test_a_wrong_command_is_noticed(folder, capsys):
    for line in ("    thinktime report nowhere", "    thinktime analyse overheads run"):
        (shown,) = commands(f"Text.\n\n{line}\n")
        assert run(shortened(shown)) == 2
    capsys.readouterr()


def test_a_wrong_option_of_a_long_command_is_noticed():
    (shown,) = commands("Text.\n\n    thinktime study bard-1971 --scales 2\n")
    with pytest.raises(Exception, match="scales"):
        parsed(shown)


def test_what_is_shown_is_found():
    text = "A page.\n\n    thinktime report run -o a.html | less  # all\n"
    text += "    $ thinktime play x --show > x.json\n"
    found = list(commands(text))
    assert [shown.words for shown in found] == [("report", "run", "-o", "a.html"), ("play", "x", "--show")]
    assert found[1].into == found[1].makes == "x.json"
    assert not list(commands("Text with `thinktime check` in it.\n"))
