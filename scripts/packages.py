"""Build what is released into target/dist: wheels, source distribution, .deb, .rpm, checksums and the like.

    python scripts/packages.py [--architecture x86_64] [--architecture aarch64] [--try] [--no-build]

Zig is the linker, so that a wheel runs with the C library of 2018 (manylinux_2_28), whatever machine it was
built on, and the recorder inside is static. The times in the packages are those of the commit. `--try`
installs what was built in fresh roots, and runs it there (try_packages.py). What cannot be built or tried
here is named, and the script ends with status 3; what cannot be tried, before anything is built.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from try_packages import tried, untriable

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "target" / "dist"
STAGE = ROOT / "target" / "packages"
TOOLS = ROOT / ".venv" / "packages" / "bin"
ARCHITECTURES = ("x86_64", "aarch64")
COMPATIBILITY = "manylinux_2_28"
RECORDER = "thinktime-recorder"
DOCUMENTS = ("LICENSE", "SECURITY.md", "THIRD-PARTY-LICENSES.txt", "packaging/grafana-dashboard.json")
COMPLETIONS = {"bash": RECORDER, "zsh": f"_{RECORDER}", "fish": f"{RECORDER}.fish"}
NOT_BUILT = 3
"""Exit status where a package could not be built, or not tried, for an architecture that was asked for."""


class NotBuiltError(Exception):
    """A package that cannot be built here, and why."""


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--architecture", action="append", choices=ARCHITECTURES, help="architecture to build for (both)"
    )
    parser.add_argument("--try", action="store_true", dest="tries", help="install and run what was built")
    parser.add_argument("--no-build", action="store_true", help="try what was built before")
    options = parser.parse_args()
    asked = options.architecture or list(ARCHITECTURES)
    if options.tries and (lines := untriable(asked)):
        for line in lines:
            print(f"cannot be tried for {line}", file=sys.stderr)
        print("Nothing was built: install what is missing, or leave out --try.", file=sys.stderr)
        return NOT_BUILT
    failed = [] if options.no_build else [f"not built for {line}" for line in release(asked)]
    if options.tries:
        failed += [f"not tried for {line}" for line in tried(asked)]
    for line in failed:
        print(line, file=sys.stderr)
    return NOT_BUILT if failed else 0


def release(architectures: Sequence[str]) -> list[str]:
    """Build everything for these architectures; a line for each that could not be built here."""
    changed = run("git", "status", "--porcelain")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": run("git", "log", "-1", "--format=%ct").strip()}
    environment["PATH"] = f"{TOOLS}{os.pathsep}{environment['PATH']}"
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir(parents=True)
    failed = [line for architecture in architectures for line in built(architecture, environment)]
    call(["maturin", "sdist", "--out", str(DIST)], environment)
    materials(environment)
    provenance(dirty=bool(changed.strip()))
    checksums()
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size / 1e6:8.2f} MB  {path.relative_to(ROOT)}")
    return failed


def built(architecture: str, environment: Mapping[str, str]) -> list[str]:
    """Build for one architecture; a line that says why if that cannot be done here."""
    try:
        recorder = static_recorder(architecture, environment)
        wheel(architecture, recorder, environment)
        system_packages(architecture, recorder, environment)
    except NotBuiltError as error:
        return [f"{architecture}: {error}"]
    return []


def run(*command: str) -> str:
    """Standard output of a command in the checkout."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def call(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run a command; its output is shown only if it fails."""
    print("+", " ".join(command), flush=True)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        raise NotBuiltError(f"{command[0]} failed with status {done.returncode}")


def static_recorder(architecture: str, environment: Mapping[str, str]) -> Path:
    """The recorder for this architecture, without a C library."""
    target = f"{architecture}-unknown-linux-musl"
    call(["rustup", "target", "add", target], environment)
    call(
        [
            "cargo-zigbuild",
            "zigbuild",
            "--release",
            "--package",
            RECORDER,
            "--bin",
            RECORDER,
            "--target",
            target,
        ],
        environment,
    )
    return ROOT / "target" / target / "release" / RECORDER


def wheel(architecture: str, recorder: Path, environment: Mapping[str, str]) -> None:
    """The wheel for this architecture, with the recorder among its programs."""
    target = f"{architecture}-unknown-linux-gnu"
    call(["rustup", "target", "add", target], environment)
    made = STAGE / "wheel"
    shutil.rmtree(made, ignore_errors=True)
    command = ["maturin", "build", "--release", "--zig", "--target", target, "--compatibility", COMPATIBILITY]
    call([*command, "--out", str(made)], environment)
    [plain] = made.glob("*.whl")
    call([sys.executable, "-m", "wheel", "unpack", "--dest", str(made), str(plain)], environment)
    [folder] = (path for path in made.iterdir() if path.is_dir())
    [information] = folder.glob("*.dist-info")
    programs = folder / f"{information.name.removesuffix('.dist-info')}.data" / "scripts"
    programs.mkdir(parents=True, exist_ok=True)
    shutil.copy2(recorder, programs / RECORDER)
    call([sys.executable, "-m", "wheel", "pack", "--dest-dir", str(DIST), str(folder)], environment)


def system_packages(architecture: str, recorder: Path, environment: Mapping[str, str]) -> None:
    """The .deb and the .rpm of the recorder."""
    stage(recorder, environment)
    target = f"{architecture}-unknown-linux-musl"
    command = ["cargo-deb", "--package", RECORDER, "--no-build", "--no-strip", "--target", target]
    call([*command, "--output", str(DIST)], environment)
    command = [
        "cargo-generate-rpm",
        "--package",
        "crates/recorder",
        "--target",
        target,
        "--output",
        str(DIST),
    ]
    call(command, environment)


def stage(recorder: Path, environment: Mapping[str, str]) -> None:
    """Everything that a package of the recorder contains."""
    STAGE.mkdir(parents=True, exist_ok=True)
    shutil.copy2(recorder, STAGE / RECORDER)
    # Pages and completions are the same for every architecture: those of one that runs here.
    here = ROOT / "target" / "static" / RECORDER
    shutil.rmtree(STAGE / "man", ignore_errors=True)
    call([str(here), "man", str(STAGE / "man")], environment)
    completions = STAGE / "completions"
    completions.mkdir(exist_ok=True)
    for shell, name in COMPLETIONS.items():
        (completions / name).write_text(run(str(here), "completions", shell))
    (STAGE / f"{RECORDER}.service").write_text(unit())
    for document in DOCUMENTS:
        shutil.copy2(ROOT / document, STAGE)
    # An .rpm has the times of its files.
    time_s = int(environment["SOURCE_DATE_EPOCH"])
    for path in STAGE.rglob("*"):
        os.utime(path, (time_s, time_s))


def unit() -> str:
    """The unit of a package, which installs into /usr/bin and says nothing of installing by hand."""
    text = (ROOT / "packaging" / f"{RECORDER}.service").read_text()
    begin, end = text.index(" Install:\n"), text.index("# To change the interval")
    return (text[:begin] + "\n#\n" + text[end:]).replace("/usr/local/bin/", "/usr/bin/")


def materials(environment: Mapping[str, str]) -> None:
    """Bills of materials (CycloneDX): crates of the recorder and of the wheel, and Python packages."""
    for crate, name in (("recorder", RECORDER), ("python", "thinktime")):
        folder = ROOT / "crates" / crate
        command = [
            "cargo-cyclonedx",
            "cyclonedx",
            "--format",
            "json",
            "--manifest-path",
            str(folder / "Cargo.toml"),
        ]
        call([*command, "--override-filename", "sbom"], environment)
        for path in (ROOT / "crates").glob("*/sbom.json"):
            if path.parent == folder:
                path.rename(DIST / f"{name}.crates.cdx.json")
            else:
                path.unlink()
    lock = str(ROOT / "packaging" / "requirements.lock")
    out = str(DIST / "thinktime.python.cdx.json")
    call(["cyclonedx-py", "requirements", lock, "--output-file", out], environment)


def provenance(*, dirty: bool) -> None:
    """What was built from which commit with which tools: a statement of in-toto with SLSA's predicate."""
    commit = run("git", "rev-parse", "HEAD").strip()
    statement: dict[str, Any] = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": path.name, "digest": {"sha256": digest(path)}} for path in sorted(DIST.iterdir())
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "scripts/packages.py",
                "externalParameters": {"commit": commit, "changed": dirty},
                "resolvedDependencies": [
                    {"name": name, "digest": {"sha256": digest(ROOT / name)}}
                    for name in (
                        "Cargo.lock",
                        "packaging/requirements.lock",
                        "packaging/requirements-cluster.lock",
                    )
                ],
            },
            "runDetails": {
                "builder": {"id": "local", "version": {"rustc": run("rustc", "--version").strip()}},
            },
        },
    }
    (DIST / "provenance.json").write_text(json.dumps(statement, indent=1) + "\n")


def checksums() -> None:
    """SHA256SUMS, as sha256sum(1) checks it."""
    lines = [f"{digest(path)}  {path.name}\n" for path in sorted(DIST.iterdir())]
    (DIST / "SHA256SUMS").write_text("".join(lines))


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
