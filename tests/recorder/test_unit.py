"""The packaged unit of systemd: what it allows suffices for everything that the recorder measures."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from real_users import RECORD, missing
from tracing import untraceable

from thinktime.log import Log

UNIT = Path(__file__).parents[2] / "packaging" / "thinktime-recorder.service"
REQUIRE_ALL = os.environ.get("THINKTIME_REQUIRE_ALL") == "1"
LACKS = missing("setpriv")
NOBODY = 65_534


def without(program, package):
    lacks = "" if shutil.which(program) else f"{program}: not installed (apt install {package})"
    return pytest.mark.skipif(bool(lacks) and not REQUIRE_ALL, reason=lacks or "nothing is missing")


@without("systemd-analyze", "systemd")
def test_the_unit_is_one_that_systemd_accepts(tmp_path):
    program = shutil.which("true")
    text = UNIT.read_text().replace("/usr/local/bin/thinktime-recorder", program)
    assert program in text
    unit = tmp_path / UNIT.name
    for item, fault in [(text, False), (text.replace("Type=notify", "Type=no-such-type"), True)]:
        unit.write_text(item)
        done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
        # Whatever else is said is of units that this machine has.
        said = [line for line in done.stderr.splitlines() if UNIT.name in line]
        assert bool(said) is fault, done.stderr


def recorded(log, capabilities, *options):
    """Facts of a recording by an ordinary user with these capabilities."""
    only = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    sets = [f"--{name}={only}" for name in ("inh-caps", "ambient-caps", "bounding-set")]
    line = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *sets, *RECORD]
    line += ["-o", str(log), "--interval", "0.5s", "--duration", "2s", *options]
    subprocess.run(line, check=True, capture_output=True, timeout=120)
    return Log.open(log)


@pytest.mark.skipif(bool(LACKS) and not REQUIRE_ALL, reason=LACKS or "nothing is missing")
@pytest.mark.thorough
def test_the_capabilities_of_the_unit_permit_everything_and_each_is_needed():
    text = UNIT.read_text()
    (names,) = re.findall(r"^AmbientCapabilities=(.*)$", text, re.MULTILINE)
    assert re.findall(r"^CapabilityBoundingSet=(.*)$", text, re.MULTILINE) == [names]
    names = [name.removeprefix("CAP_").lower() for name in names.split()]
    assert set(names) == {"sys_ptrace", "dac_read_search", "net_admin", "perfmon"}
    # Messages of processes that end have their input and output, whoever may read that of the others.
    cases = [set(), {"perfmon"}, {"net_admin"}, {"net_admin", "sys_ptrace"}, {"net_admin", "dac_read_search"}]
    for lacking in cases:
        # The folder of the tests may be root's alone.
        with tempfile.TemporaryDirectory(prefix="thinktime-unit-") as folder:
            os.chown(folder, NOBODY, NOBODY)
            log = recorded(Path(folder) / "log", [name for name in names if name not in lacking])
            read = set(log.users().drop_nulls("read_bytes").collect()["user"])
        facts = log.manifest["sessions"][-1]["recorder"]
        found = {
            "ends": facts["processes"]["exits"] == "taskstats",
            "modes": facts["mode_period_s"] is not None,
            "input and output of others": "uid:0" in read,
        }
        assert found == {
            "ends": "net_admin" not in lacking,
            "modes": "perfmon" not in lacking,
            "input and output of others": not lacking & {"sys_ptrace", "dac_read_search"},
        }, lacking


@pytest.mark.skipif(bool(LACKS) and not REQUIRE_ALL, reason=LACKS or "nothing is missing")
def test_a_trace_needs_what_the_unit_says_and_no_more():
    if why := untraceable():
        pytest.skip(why)
    text = UNIT.read_text()
    (names,) = re.findall(r"^AmbientCapabilities=(.*)$", text, re.MULTILINE)
    (more,) = re.findall(r"^#   AmbientCapabilities=(.*)$", text, re.MULTILINE)
    assert re.findall(r"^#   CapabilityBoundingSet=(.*)$", text, re.MULTILINE) == [more]
    assert "bpf" not in re.findall(r"^SystemCallFilter=(.*)$", text, re.MULTILINE)
    assert re.findall(r"^#   SystemCallFilter=(.*)$", text, re.MULTILINE) == ["bpf"]
    permitted = [name.removeprefix("CAP_").lower() for name in f"{names} {more}".split()]
    with tempfile.TemporaryDirectory(prefix="thinktime-unit-") as folder:
        os.chown(folder, NOBODY, NOBODY)
        log = recorded(Path(folder) / "log", permitted, "--trace")
        assert not log.latencies().collect().is_empty()
        with pytest.raises(subprocess.CalledProcessError):
            recorded(Path(folder) / "other", [name for name in permitted if name != "bpf"], "--trace")
