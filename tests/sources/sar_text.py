"""Raw text of sadf, written record by record, and a reading of it that shares no code with the importer."""

import os
import re
import shutil
from pathlib import Path

import pytest

from thinktime.sources.importers import Given, import_file

FIXTURES = Path(__file__).parents[1] / "fixtures" / "sar"
VERSIONS = ("12.5.2", "12.6.1", "12.7.5")
START_S = 1_700_000_000


def need_sadf():
    """Path of the real sadf; skips the test without it, unless everything is required."""
    found = shutil.which("sadf")
    if found is None:
        message = "sadf is not installed; apt install sysstat"
        if os.environ.get("THINKTIME_REQUIRE_ALL") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return found


def import_sar(file, log, *, date=None, **options):
    """Import of a file that is said to be of sar."""
    return import_file(file, log, kind="sar", given=Given(date=date), **options)


def header(uptime_cs, wall_s, kind=1):
    clocks = f"uptime_cs; {uptime_cs}; ust_time; {wall_s}"
    return f"# {clocks}; extra_next; 0; record_type; {kind}; HH:MM:SS; 00:00:00"


class Text:
    """Records of one machine, in the order in which sadf prints them."""

    def __init__(self):
        self.out = []

    def boot(self, moments, activities, first=True):
        """One boot: `moments` are (uptime_cs, wall_s); `activities` is {name: (index) -> list of lines}."""
        blocks = list(activities.values())
        for at, block in enumerate(blocks):
            if at == 0 and first:
                self.out.append(header(*moments[0]))
            for index in range(1, len(moments)):
                self.out.append(header(*moments[index]))
                self.out.append("# name; A_ANY; nr_curr; 1; nr_alloc; 1; nr_ini; 1")
                self.out += [f"{moments[index][1]}; {line}" for line in block(index)]
        return self

    def restart(self, wall_s):
        self.out += [header(0, wall_s, 2), f"{wall_s}; LINUX-RESTART (2 CPU)"]
        return self

    def write(self, path):
        path.write_text("\n".join(self.out) + "\n")
        return path


def seconds(count, first_uptime_cs=100_000, first_wall_s=START_S, step_s=1):
    """`count` moments, `step_s` apart."""
    return [(first_uptime_cs + 100 * step_s * k, first_wall_s + step_s * k) for k in range(count)]


def tasks(readings, switches=None):
    """Lines of A_PCSW from cumulative forks (and context switches)."""
    switches = switches or [10 * reading for reading in readings]
    return lambda k: [f"proc/s; {readings[k - 1]}; {readings[k]}; cswch/s; {switches[k - 1]}; {switches[k]};"]


def cpu_line(number, before, after):
    """A_CPU from ticks by state, without the states that are zero."""
    names = ("%usr", "%nice", "%sys", "%iowait", "%steal", "%irq", "%soft", "%guest", "%gnice", "%idle")
    fields = [f"{name}; {before.get(name, 0)}; {after.get(name, 0)};" for name in names]
    return f"CPU; {number}; " + " ".join(fields)


def readings_of(path, pattern):
    """First match of `pattern` in each line of a raw text that has one, as tuples of int."""
    lines = path.read_text().splitlines()
    matches = (re.search(pattern, line) for line in lines)
    return [tuple(map(int, match.groups())) for match in matches if match]
