"""`import thinktime` and `thinktime --help` stay cheap: they load nothing heavy."""

import json
import subprocess
import sys

import pytest

HEAVY = {"polars", "numpy", "scipy", "altair", "vl_convert", "pandas", "jinja2"}


def loaded_by(code: str) -> set[str]:
    script = f"import sys, json\n{code}\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import thinktime",
        "import sys, thinktime.cli as c\nsys.argv = ['thinktime', '--help']\n"
        "try: c.main()\nexcept SystemExit: pass",
    ],
    ids=["import", "help"],
)
def test_nothing_heavy_is_loaded(code):
    assert not loaded_by(code) & HEAVY


def test_the_probe_sees_a_heavy_import():
    assert "numpy" in loaded_by("import numpy")
