"""What packages are made from agrees with what they package; `make packages PACKAGES=--try` installs them."""

import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
import tomllib
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from packages import RECORDER, unit  # noqa: E402  (a script, not a module of the package)

PACKAGING = ROOT / "packaging"
MAINTAINER = sorted((PACKAGING / "maintainer").iterdir())
REQUIRE_ALL = os.environ.get("THINKTIME_REQUIRE_ALL") == "1"
PLACES = {"usr/share/zsh/vendor-completions": "usr/share/zsh/site-functions"}
"""Folders of Debian that have other names elsewhere."""


def toml(path):
    return tomllib.loads((ROOT / path).read_text())


def metadata(kind):
    return toml("crates/recorder/Cargo.toml")["package"]["metadata"][kind]


def test_one_version_everywhere():
    version = toml("Cargo.toml")["workspace"]["package"]["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    recipe = yaml.safe_load((PACKAGING / "conda" / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == version
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for():
    project = toml("pyproject.toml")
    wanted = {item.partition(";")[0].strip() for item in project["project"]["dependencies"]}
    wanted.add(f"python{project['project']['requires-python']}")
    requirements = yaml.safe_load((PACKAGING / "conda" / "recipe.yaml").read_text())["requirements"]
    # conda calls the Python package of time zones otherwise: its tzdata is the system's.
    found = {item.replace(" ", "").replace("python-tzdata", "tzdata") for item in requirements["run"]}
    assert found == wanted
    assert {item.replace(" ", "") for item in requirements["host"]} >= set(
        project["build-system"]["requires"]
    )


@pytest.mark.thorough
def test_the_conda_recipe_is_one_for_rattler_build(tmp_path):
    """Rendered by rattler-build itself where it is installed: `pip install py-rattler-build`, 80 MB."""
    rattler = pytest.importorskip("rattler_build", reason="rattler-build is not installed")
    path = PACKAGING / "conda" / "recipe.yaml"
    text = path.read_text()
    written = yaml.safe_load(text)["requirements"]

    def rendered(text):
        recipe = rattler.Stage0Recipe.from_yaml(text)
        return recipe.render(rattler.VariantConfig(), rattler.RenderConfig())[0].recipe

    recipe = rendered(text)
    assert (str(recipe.package.name), str(recipe.package.version)) == (
        "thinktime",
        toml("Cargo.toml")["workspace"]["package"]["version"],
    )
    assert len(recipe.requirements.run) == len(written["run"])
    # The compilers of the platform are in place of their names.
    build = " ".join(map(str, recipe.requirements.build))
    assert len(recipe.requirements.build) == len(written["build"])
    assert "rust" in build
    assert "compiler(" not in build
    for right, wrong in (
        ("requirements:", "requirments:"),
        ('compiler("c")', "compilr('c')"),
        (">=13", ">=>13"),
    ):
        assert right in text
        with pytest.raises(rattler.RattlerBuildError):
            rendered(text.replace(right, wrong, 1))


def test_deb_and_rpm_install_the_same_programs_at_the_same_places():
    def installed(items):
        for source, place in items:
            name = Path(source).name
            folder, file = (place[:-1], name) if place.endswith("/") else os.path.split(place)
            if not folder.startswith(("/usr/share/doc", "/usr/share/licenses")):
                yield f"{PLACES.get(folder[1:], folder[1:])}/{file}", Path(source).parts[-2:]

    deb = set(installed((source, f"/{place}") for source, place, _ in metadata("deb")["assets"]))
    rpm = set(installed((item["source"], item["dest"]) for item in metadata("generate-rpm")["assets"]))
    assert deb == rpm
    assert len(deb) >= 6


def test_deb_and_rpm_run_the_same_scripts():
    names = {
        "post_install_script": "postinst",
        "pre_uninstall_script": "prerm",
        "post_uninstall_script": "postrm",
    }
    of_rpm = {key: value for key, value in metadata("generate-rpm").items() if key.endswith("_script")}
    folder = metadata("deb")["maintainer-scripts"]
    assert of_rpm == {key: f"{folder}/{name}" for key, name in names.items()}
    assert sorted(names.values()) == [path.name for path in MAINTAINER]


@pytest.mark.parametrize("script", MAINTAINER, ids=lambda path: path.name)
def test_a_maintainer_script_succeeds_where_no_systemd_runs(script, tmp_path):
    """As in a container, or in a root that is being made: nothing may fail for want of systemctl."""
    assert os.access(script, os.X_OK)
    if Path("/run/systemd/system").exists():
        pytest.skip("systemd runs here: the script would act on this machine")
    for arguments in (
        ["configure", ""],
        ["configure", "0.0.1"],
        ["remove"],
        ["upgrade"],
        ["0"],
        ["1"],
        ["2"],
    ):
        command = [shutil.which("sh"), str(script), *arguments]
        done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), arguments


@pytest.mark.skipif(not REQUIRE_ALL and not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_the_unit_of_a_package_is_one_that_systemd_accepts(tmp_path):
    text = unit()
    assert f"ExecStart=/usr/bin/{RECORDER} record" in text
    assert "/usr/local" not in text
    assert "install -m" not in text
    path = tmp_path / f"{RECORDER}.service"
    path.write_text(text.replace(f"/usr/bin/{RECORDER}", shutil.which("true")))
    done = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True)
    assert path.name not in done.stderr


def test_the_image_is_made_of_a_wheel_and_its_example_is_of_options_that_there_are():
    text = (PACKAGING / "Containerfile").read_text()
    version = toml("Cargo.toml")["workspace"]["package"]["version"]
    [pattern] = re.findall(r"pip install \S+ /tmp/(.*?whl)", text)
    pattern = pattern.replace('"$(uname -m)"', "x86_64")
    assert fnmatch(f"thinktime-{version}-cp310-abi3-manylinux_2_28_x86_64.whl", pattern)
    assert '["thinktime"]' in text
    assert "thinktime" in toml("pyproject.toml")["project"]["scripts"]
    [options] = re.findall(r"thinktime record -o (.*)", text)
    help_text = subprocess.run(
        [sys.executable, "-m", "thinktime", "record", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for option in re.findall(r"--\w[\w-]*", options):
        assert option in help_text
