"""What `thinktime import` takes a file for, and what it says when it cannot."""

import gzip
import json
import subprocess
import sys

import pytest
from sar_text import FIXTURES as SAR
from tool_files import GIVEN, TOOLS

from thinktime.cli import run
from thinktime.errors import InputError
from thinktime.log import Log
from thinktime.sources.importers import IMPORTERS, Given, import_file
from thinktime.sources.importers.importer import head_of

NAMES = [item.name for item in IMPORTERS]


def recognised(path):
    """Name of every importer that takes the file for one of its own."""
    head = head_of(path)
    return [item.name for item in IMPORTERS if item.detect(head, asked=False)]


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_each_file_of_a_tool_is_of_one_kind(name):
    kind = "prometheus" if name.endswith(".prom") else name.partition("-")[0]
    assert recognised(TOOLS / name) == [kind]


@pytest.mark.parametrize("name", sorted(path.name for path in SAR.glob("12.6.1-*")))
def test_each_file_of_sar_is_of_sar(name):
    assert recognised(SAR / name) == ["sar"]


@pytest.mark.parametrize(
    "content",
    [
        b"hello\nworld\n",
        bytes(range(256)),
        b"\x7fELF\0\0",
        b"<html>",
        b'{"a": 1}',
        b"[1, 2]",
        b"# heading\n\ntext 1\n",
    ],
)
def test_other_content_is_of_no_kind(content, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        import_file(path, tmp_path / "log")
    message = str(caught.value)
    assert message.startswith(f"{path}: is of no kind that is recognised")
    assert "--as KIND" in message
    for item in IMPORTERS:
        assert item.name in message.partition("--as KIND")[2]
    assert not (tmp_path / "log").exists()


def thinktime(capsys, *arguments):
    status = run(["import", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_kind_may_be_said_before_the_file_or_as_an_option(tmp_path, capsys):
    path = TOOLS / "iostat-iso.txt"
    for at, words in enumerate((["iostat", path], [path, "--as", "iostat"], [path])):
        status, out, err = thinktime(capsys, *words, "-o", tmp_path / str(at))
        assert (status, err) == (0, "")
        assert "from iostat (text)" in out
    status, _, err = thinktime(capsys, "pidstat", path, "-o", tmp_path / "other")
    assert status == 2
    assert "is not a file of pidstat (it looks like one of iostat)" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nosuch", "file", "-o", "x"], "nosuch: there is no such kind of file"),
        (["vmstta", "file", "-o", "x"], "did you mean vmstat?"),
        (["file", "--as", "nosuch", "-o", "x"], "nosuch: there is no such kind of file"),
        (["sar", "file", "--as", "vmstat", "-o", "x"], "give one kind"),
        (["sar", "file", "other", "-o", "x"], "other: is one argument too many"),
        (["vmstat"], "FILE: is missing"),
        ([], "FILE: is missing"),
        (["file"], "--output: is missing"),
        (["file", "-o", "x", "--interval", "5"], "has no unit"),
        (["file", "-o", "x", "--interval", "0s"], "--interval 0s"),
        (["file", "-o", "x", "--timezone", "Mars/Olympus"], "there is no such zone"),
        (["file", "-o", "x", "--timezone", "../../etc/passwd"], "there is no such zone"),
        (["file", "-o", "x", "--cpus", "0"], "--cpus"),
        (["file", "-o", "x", "--date", "tomorrow"], "2026-11-21T08:00:00"),
    ],
)
def test_what_cannot_be_asked(words, says, capsys):
    status, out, err = thinktime(capsys, *words)
    assert (status, out) == (2, "")
    assert says in err


def test_what_the_file_tells_need_not_be_said(tmp_path, capsys):
    status, _, err = thinktime(capsys, TOOLS / "iostat-iso.txt", "-o", tmp_path / "log", "--cpus", "4")
    assert status == 2
    assert "--cpus: does not apply to iostat; its options are: --date, --interval, --timezone" in err


def test_help_and_the_example_list_everything(capsys):
    status, out, _ = thinktime(capsys, "--help")
    assert status == 0
    words = " ".join(out.split())
    for item in IMPORTERS:
        assert f"{item.name}: {item.help}"[:60] in words
    status, out, _ = thinktime(capsys, "--example-mapping")
    assert status == 0
    assert "[columns]" in out


def test_compressed_files_and_folders_say_the_remedy(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(b"x"))
    with pytest.raises(InputError, match="gzip -dk"):
        import_file(path, tmp_path / "log")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(InputError, match="is a folder without a file"):
        import_file(folder, tmp_path / "log")
    (folder / "vm").write_bytes((TOOLS / "vmstat-t.txt").read_bytes())
    with pytest.raises(InputError, match="none of prometheus, of which folders are read"):
        import_file(folder, tmp_path / "log")
    with pytest.raises(InputError, match=r"is a folder; give one file in it, such as .*vm"):
        import_file(folder, tmp_path / "log", kind="vmstat", given=Given(cpus=1))


def test_a_log_that_is_there_is_kept_without_force(tmp_path):
    import_file(TOOLS / "iostat-iso.txt", tmp_path / "log")
    before = Log.open(tmp_path / "log").manifest
    with pytest.raises(InputError, match="already exists"):
        import_file(TOOLS / "iostat-m.txt", tmp_path / "log")
    broken = tmp_path / "broken"
    broken.write_text("avg-cpu:  %user\n\n")
    with pytest.raises(InputError, match="has no readable interval"):
        import_file(broken, tmp_path / "log", kind="iostat", force=True)
    assert Log.open(tmp_path / "log").manifest == before
    import_file(TOOLS / "iostat-m.txt", tmp_path / "log", force=True)
    assert Log.open(tmp_path / "log").manifest != before


def test_memory_does_not_grow_with_the_length_of_the_file(tmp_path):
    """Ten times the text, 60 MB, in the same memory but for what the log's writer holds."""
    text = (TOOLS / "vmstat-t.txt").read_text().splitlines()
    row = text[2].rsplit(None, 2)[0]
    code = (
        "import resource, sys; from pathlib import Path;"
        "from thinktime.sources.importers import Given, import_file;"
        "done = import_file(sys.argv[1], sys.argv[1] + '.log', given=Given(cpus=2));"
        "print(done.intervals, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peak = {}
    for count in (4_000, 40_000):
        path = tmp_path / str(count)
        with path.open("w") as file:
            file.write("\n".join(text[:2]) + "\n")
            for at in range(count):
                day, second = divmod(at, 86_400)
                time = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
                file.write(f"{row} 2026-07-{day + 1:02d} {time}\n")
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        intervals, kib = map(int, done.stdout.split())
        assert intervals == count - 1
        peak[count] = kib
    assert peak[40_000] < peak[4_000] + 60_000


def test_what_the_command_says_as_json(tmp_path, capsys):
    path = TOOLS / "node-process.prom"
    status, out, _ = thinktime(capsys, path, "-o", tmp_path / "log", "--format", "json")
    assert status == 0
    answer = json.loads(out)
    assert (answer["kind"], answer["tool"], answer["input"]) == ("import", "prometheus", "text")
    assert answer["intervals"] == 4


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("vmstat-t.txt", "vmstat-n.txt"),
        ("iostat-x-t.txt", "iostat-iso.txt"),
        ("pidstat-h.txt", "pidstat-epoch.txt"),
        ("node-process.prom", "node-unmarked.prom"),
    ],
)
def test_a_log_of_each_kind_has_a_report_and_a_comparison(name, other, tmp_path, capsys, monkeypatch):
    import_file(TOOLS / name, tmp_path / "one", given=GIVEN[name])
    import_file(TOOLS / other, tmp_path / "other", given=GIVEN[other])
    monkeypatch.chdir(tmp_path)
    assert run(["report", "one"]) == 0
    out = capsys.readouterr().out
    assert "Source" in out
    assert run(["report", "one", "-o", "report.html"]) == 0
    assert run(["analyse", "saturation", "one"]) == 0
    assert run(["analyse", "compare", "one", "other"]) == 0, capsys.readouterr().err
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("throughput", "used"), "The log has no amount of work: neither CPU time of the machine"),
        (("throughput", "used", "later"), "The logs have in common no amount of work"),
        (("saturation", "used"), "User time, page faults and disk operations are null in every interval"),
        (("compare", "machine", "other"), "The log other has 2 pieces with observations"),
        (("throughput", "machine", "other"), "Not applicable: machine: the load was not measured"),
        (("compare", "jobs", "jobs-later"), "Not applicable: jobs: no quantity to compare was measured"),
    ],
)
def test_a_question_that_cannot_be_answered_says_what_is_not_there(
    answerable, words, says, capsys, monkeypatch
):
    monkeypatch.chdir(answerable)
    assert run(["analyse", *words]) == 0
    assert says in " ".join(capsys.readouterr().out.split())


@pytest.fixture(scope="module")
def answerable(tmp_path_factory):
    """Folder of logs of what pidstat, vmstat and Slurm wrote."""
    folder = tmp_path_factory.mktemp("answerable")
    rows = [f"{at}|2026-11-24T15:58:{at}|2026-11-24T15:59:{at}" for at in range(10, 20)]
    for name, day in (("jobs", "24"), ("jobs-later", "25")):
        jobs = folder / f"{name}.txt"
        jobs.write_text("\n".join(["JobID|Submit|End", *rows]).replace("-24T", f"-{day}T"))
        import_file(jobs, folder / name)
    for name, log in (
        *(("pidstat-epoch.txt", "used"), ("pidstat-h.txt", "later")),
        *(("vmstat-t.txt", "machine"), ("vmstat-n.txt", "other")),
    ):
        import_file(TOOLS / name, folder / log, given=GIVEN[name])
    return folder
