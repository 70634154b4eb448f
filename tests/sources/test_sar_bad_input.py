"""What thinktime import says when it cannot: status 2, the file, what it is, what to do."""

import gzip
import json
import os
import struct
import subprocess
import sys

import pytest
from sar_text import FIXTURES, import_sar, need_sadf

import called
from thinktime.errors import InputError
from thinktime.log import Log

TEXT = FIXTURES / "12.6.1-load.raw"
BINARY = FIXTURES / "12.6.1-load.sa"


def thinktime(*arguments, **options):
    return called.thinktime("import", *arguments, **options)


def refused(done, *words):
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"hello\nworld\n", "not a file of sar"),
        (bytes(range(256)), "not a file of sar"),
        (gzip.compress(b"x", mtime=0), "gzip -dk"),
        (b"\xfd7zXZ\x00rest", "xz -dk"),
        (b"<?xml version='1.0'?>", "XML of `sadf -x`"),
        (b"# hostname;interval;timestamp;CPU;%user\n", "table of `sadf -d`"),
        (
            b"Linux 6.1.0 (host) \t11/21/26 \t_x86_64_\t(2 CPU)\n\n00:00:01 CPU %user\n",
            "printed report of sar",
        ),
        (b"PAR1", "looks like one of table"),
        (b'{"a": 1}', "no readable interval"),
        (b"10:00:00 UTC; LINUX-RESTART (2 CPU)\n", "no readable interval"),
    ],
)
def test_content_that_is_no_file_of_sar(content, says, tmp_path):
    path = tmp_path / "input"
    path.write_bytes(content)
    with pytest.raises(InputError, match=says) as caught:
        import_sar(path, tmp_path / "log")
    assert str(path) in str(caught.value)
    assert not (tmp_path / "log").exists()


def test_things_that_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for name, says in {"missing": "does not exist", "fifo": "not a regular file", ".": "is a folder"}.items():
        with pytest.raises(InputError, match=says):
            import_sar(tmp_path / name, tmp_path / "log")


def test_a_file_that_may_not_be_read(tmp_path):
    if os.geteuid() == 0:
        # Root may read anything; what is unreadable to root as well is a name that no file can have.
        with pytest.raises(InputError, match="cannot be read"):
            import_sar("x" * 5000, tmp_path / "log")
        return
    path = tmp_path / "input"
    path.write_bytes(TEXT.read_bytes())
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read"):
        import_sar(path, tmp_path / "log")


def test_a_log_that_is_there_is_kept_without_force(tmp_path):
    import_sar(TEXT, tmp_path / "log")
    before = Log.open(tmp_path / "log").manifest
    refused(thinktime("sar", TEXT, "-o", tmp_path / "log"), "already exists", "--force")
    refused(thinktime("sar", tmp_path / "missing", "-o", tmp_path / "log", "--force"), "does not exist")
    broken = tmp_path / "broken"
    broken.write_text("{}")
    refused(thinktime("sar", broken, "-o", tmp_path / "log", "--force"), "no readable interval")
    # Neither refusal cost the log that was there.
    assert Log.open(tmp_path / "log").manifest == before
    done = thinktime("sar", FIXTURES / "12.7.5-load.raw", "-o", tmp_path / "log", "--force")
    assert done.returncode == 0, done.stderr
    assert Log.open(tmp_path / "log").manifest["sessions"][0]["options"]["file"] == "12.7.5-load.raw"


def test_force_does_not_remove_what_is_no_log(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").write_text("dear")
    refused(thinktime("sar", TEXT, "-o", tmp_path / "home", "--force"), "home")
    assert (tmp_path / "home" / "letter").read_text() == "dear"


def test_the_command_tells_what_it_did_and_what_is_next(tmp_path):
    done = thinktime("sar", FIXTURES / "12.6.1-restart.raw", "-o", tmp_path / "log")
    assert done.returncode == 0
    assert "7 intervals" in done.stdout
    assert "reboot: the uptime went back" in done.stdout
    assert f"thinktime report {tmp_path / 'log'}" in done.stdout
    again = thinktime("sar", FIXTURES / "12.6.1-restart.json", "-o", tmp_path / "other", "--format", "json")
    outcome = json.loads(again.stdout)
    assert outcome["intervals"] == 7
    assert outcome["input"] == "json"
    assert {"rounded_input", "reboot"} <= {incident["kind"] for incident in outcome["incidents"]}


def test_a_bad_day_or_tool_is_refused(tmp_path):
    refused(thinktime("sar", TEXT, "-o", tmp_path / "log", "--date", "yesterday"), "2026-11-21")
    refused(thinktime("nmon", TEXT, "-o", tmp_path / "log"), "nmon")
    refused(thinktime("vmstat", TEXT, "-o", tmp_path / "log"), "vmstat", "looks like one of sar")
    refused(thinktime("sar", TEXT), "-o")


def test_without_sadf_texts_are_read_and_binaries_say_the_remedy(tmp_path):
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = thinktime("sar", BINARY, "-o", tmp_path / "log", env=environment)
    refused(done, "sadf, which is not installed", "apt install sysstat", "sadf -r -U -O debug")
    done = thinktime("sar", TEXT, "-o", tmp_path / "log", env=environment)
    assert done.returncode == 0, done.stderr


def test_a_binary_that_begins_well_and_goes_on_badly(tmp_path):
    need_sadf()
    path = tmp_path / "sa21"
    path.write_bytes(b"\x96\xd5" + b"nothing that sadf knows" * 50)
    refused(
        thinktime("sar", path, "-o", tmp_path / "log"),
        str(path),
        "older format",
        "`sadf -c`, which failed",
    )


def test_an_older_format_goes_through_the_conversion(tmp_path):
    """With the magic number of versions 11.1 to 11.6 sadf refuses, and `sadf -c` finds the file is none."""
    need_sadf()
    data = bytearray(BINARY.read_bytes())
    data[2] = 0x73
    path = tmp_path / "sa21"
    path.write_bytes(data)
    refused(
        thinktime("sar", path, "-o", tmp_path / "log"),
        str(path),
        "older format of sysstat 12.6.1",
        "`sadf -c`, which failed",
    )


def test_impossible_counts_in_a_header_are_damage_and_no_missing_program(tmp_path):
    """The count of activities in the header, as in sysstat's own damaged files."""
    need_sadf()
    data = bytearray(BINARY.read_bytes())
    wanted = struct.pack("<I", 0x7FFFFFFF)
    for place in range(80, 200, 4):
        damaged = data[:place] + wanted + data[place + 4 :]
        path = tmp_path / "sa21"
        path.write_bytes(damaged)
        done = thinktime("sar", path, "-o", tmp_path / f"log-{place}")
        assert "install sysstat" not in done.stderr
        if "is damaged, or newer" in done.stderr:
            refused(done, str(path), "restore it from a copy", "sadf -r -U -O debug")
            return
    raise AssertionError("sadf takes any header")


@pytest.mark.parametrize(
    ("died", "says"), [("SEGV", "sadf crashed (SIGSEGV)"), ("ABRT", "sadf crashed (SIGABRT)")]
)
def test_a_crash_of_sadf_is_told_with_its_signal(died, says, tmp_path):
    """A program in the place of sadf dies while it converts, as sadf 12.6.1 does of a file of 10.3.1."""
    program = tmp_path / "sadf"
    program.write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = -c ]; then echo "HZ: Using current value: 100" >&2; kill -{died} $$; fi\n'
        'echo "Invalid system activity file; use sadf -c" >&2; exit 3\n'
    )
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = thinktime("sar", BINARY, "-o", tmp_path / "log", env=environment)
    refused(done, "`sadf -c`, which failed", says)
    assert "HZ: Using" not in done.stderr
    assert "install sysstat" not in done.stderr


def test_a_newer_file_than_sadf_names_both_versions(tmp_path):
    version = subprocess.run([need_sadf(), "-V"], capture_output=True, text=True).stdout.split()[2]
    if tuple(map(int, version.split("."))) >= (12, 7, 5):
        pytest.skip(f"sadf {version} reads the newest fixture")
    done = thinktime("sar", FIXTURES / "12.7.5-load.sa", "-o", tmp_path / "log")
    refused(done, "12.7.5", version, "sadf -r -U -O debug")


def test_odd_names_of_files(tmp_path):
    need_sadf()
    for name in ("-r", "a b;c", "sa\n21", "ä"):
        path = tmp_path / name
        path.write_bytes(BINARY.read_bytes())
        done = import_sar(path, tmp_path / f"log of {name!r}")
        assert done.intervals == 4


def test_a_full_disk_is_work_that_failed(tmp_path):
    """Status 1, for the input is right; /dev/full stands for the folder of temporary files."""
    need_sadf()
    code = (
        "import tempfile, thinktime.sources.importers.sar.sadf as sar;"
        "sar.raw_text = lambda *_: open('/dev/full', 'w', buffering=1).write('x\\n');"
        "from thinktime.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "import", "sar", BINARY, "-o", tmp_path / "log"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
