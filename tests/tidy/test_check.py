"""`make check` runs the tests nearest to what changed: on a small package whose imports are known."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "check.py"
FILES = {
    "python/thinktime/__init__.py": "",
    "python/thinktime/stats/__init__.py": "",
    "python/thinktime/stats/means.py": "",
    "python/thinktime/stats/data.csv": "1",
    "python/thinktime/analyses/__init__.py": "",
    "python/thinktime/analyses/users.py": "def late():\n    from thinktime.stats import means\n",
    "python/thinktime/cli/__init__.py": "from thinktime.analyses import users\n",
    "tests/stats/test_means.py": "from thinktime.stats.means import mean\n",
    "tests/stats/test_folder.py": "",
    "tests/analyses/test_users.py": "from thinktime.analyses import users\n",
    "tests/cli/test_cli.py": "import thinktime.cli\n",
    "tests/models/test_far.py": "import json\n",
    "tests/tidy/test_rules.py": "",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    author = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def listed(tree, *options):
    return subprocess.run(
        [sys.executable, "scripts/check.py", "--list", *options],
        cwd=tree, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip


def change(tree, *names):
    for name in names:
        (tree / name).write_text("# changed\n")


RULES, MEANS, FOLDER = "tests/tidy/test_rules.py", "tests/stats/test_means.py", "tests/stats/test_folder.py"
USERS, CLI = "tests/analyses/test_users.py", "tests/cli/test_cli.py"


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        # An import in a function counts. Tests in the folder of the room are two imports away.
        ("python/thinktime/stats/means.py", [MEANS, RULES, USERS, FOLDER, CLI]),
        ("python/thinktime/analyses/users.py", [USERS, RULES, CLI]),
        ("python/thinktime/cli/__init__.py", [CLI, RULES]),
        ("tests/models/test_far.py", ["tests/models/test_far.py", RULES]),
        ("tests/models/test_new.py", ["tests/models/test_new.py", RULES]),
    ],
)
def test_the_nearest_come_first(tree, changed, tests):
    change(tree, changed)
    assert listed(tree) == tests


def test_what_does_not_fit_is_left_out_but_never_a_changed_test(tree):
    change(tree, "python/thinktime/stats/means.py", CLI)
    cache = tree / ".pytest_cache" / "v" / "thinktime"
    cache.mkdir(parents=True)
    (cache / "seconds").write_text(json.dumps({CLI: 300, MEANS: 30, RULES: 1, USERS: 1, FOLDER: 1}))
    (tree / ".gitignore").write_text(".pytest_cache\n")
    assert listed(tree, "--seconds", "160") == [CLI, RULES, USERS, FOLDER]
    assert listed(tree, "--seconds", "10") == [CLI]


@pytest.mark.parametrize("changed", ["python/thinktime/stats/data.csv", "python/thinktime/stats/__init__.py"])
def test_data_and_packages_belong_to_every_module_of_their_folder(tree, changed):
    change(tree, changed)
    assert set(listed(tree)) == {MEANS, FOLDER, RULES, USERS, CLI}


def test_a_removed_module_and_an_unknown_state(tree):
    (tree / "python/thinktime/stats/means.py").unlink()
    assert MEANS in listed(tree)
    done = subprocess.run(
        [sys.executable, "scripts/check.py", "--since", "no-such-state"],
        cwd=tree, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "no-such-state" in done.stderr
