"""Install what `make packages` built in fresh Debian roots without Rust and C compiler, and run it there.

    sudo make packages PACKAGES=--try

Each architecture gets a root of its own, made by mmdebstrap in target/try. That of this machine is booted
with its own systemd (systemd-nspawn): the .deb and the .rpm are installed, started, upgraded and removed
there. A root of another architecture runs under qemu-user, without systemd. The wheel is installed with the
pinned packages. It records, reports, and simulates: the digits must be those of every other architecture.
What cannot be tried here is named.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "target" / "dist"
ROOTS = ROOT / "target" / "try"
SUITE = "bookworm"
"""Debian 12: its C library is later than what the wheels ask for, its Python 3.11 one that they take."""
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
PACKAGES = ["ca-certificates", "python3", "python3-venv"]
BOOTED = ["dbus", "man-db", "rpm", "systemd-sysv"]
"""What the root that is booted has in addition."""
NEEDED = {"mmdebstrap": "mmdebstrap", "systemd-nspawn": "systemd-container"}
"""Debian's package of each program; the second boots."""
UNIT = "thinktime-recorder.service"
LOG = Path("/var/lib/thinktime/log")
INSIDE = Path("/try")
SIMULATED = ["apl360", "-p", "users=35", "-p", "length=600", "--replications", "2", "--seed", "1", "--trace"]
BOOT_LIMIT_S = 900
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
STARTED = """[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 /try/try_packages.py booted
StandardOutput=file:/try/said
StandardError=file:/try/said
ExecStopPost=/usr/bin/systemctl --no-block poweroff
"""


class NotTriedError(Exception):
    """What cannot be tried here, and why."""


def tried(architectures: Sequence[str]) -> list[str]:
    """Try the packages of these architectures; a line for each that could not be tried here."""
    lines, digits = [], {}
    for architecture in architectures:
        try:
            said = in_root(architecture)
        except NotTriedError as error:
            lines.append(f"{architecture}: {error}")
            continue
        print(said, end="", flush=True)
        digits[architecture] = re.findall(r"^.*: digits (\w+)$", said, re.MULTILINE)
    if len({tuple(found) for found in digits.values()}) > 1:
        raise SystemExit(f"the same simulation has other digits on other architectures: {digits}")
    return lines


def untriable(architectures: Sequence[str]) -> list[str]:
    """A line for each architecture whose packages cannot be tried here: known before anything is built."""
    reasons = {architecture: missing(architecture) for architecture in architectures}
    return [f"{architecture}: {reason}" for architecture, reason in reasons.items() if reason]


def missing(architecture: str) -> str:
    """What is missing for a trial of the packages for this architecture; empty for nothing."""
    is_native = architecture == platform.machine()
    needed = [name for name in NEEDED if is_native or name != "systemd-nspawn"]
    if os.geteuid() != 0:
        return "only root can make a root folder and boot it"
    lacks = []
    if lacking := [NEEDED[name] for name in needed if not shutil.which(name)]:
        lacks.append(f"apt install {' '.join(lacking)}")
    if not is_native and not runs_here(architecture):
        lacks.append(
            "this kernel does not run its programs: apt install qemu-user-static, mount binfmt_misc at "
            "/proc/sys/fs/binfmt_misc, and register qemu there (systemd-binfmt does both)"
        )
    return "; ".join(lacks)


def in_root(architecture: str) -> str:
    """What the trial inside a fresh root of this architecture printed."""
    if reason := missing(architecture):
        raise NotTriedError(reason)
    is_native = architecture == platform.machine()
    if not list(DIST.glob(f"thinktime-*_{architecture}.whl")):
        raise NotTriedError("its packages were not built")
    folder = ROOTS / architecture
    fresh(folder, architecture, [*PACKAGES, *(BOOTED if is_native else [])])
    share = folder / INSIDE.relative_to("/")
    share.mkdir()
    requirements(architecture, share / "wheels")
    for pattern in (f"*_{architecture}.whl", f"*_{DEBIAN[architecture]}.deb", f"*.{architecture}.rpm"):
        for path in DIST.glob(pattern):
            shutil.copy2(path, share)
    for path in (Path(__file__), ROOT / "packaging" / "requirements.lock"):
        shutil.copy2(path, share)
    if is_native:
        boot(folder)
    else:
        command = ["chroot", str(folder), "/usr/bin/python3", str(INSIDE / Path(__file__).name), "plain"]
        with (share / "said").open("w") as said, mounted(folder):
            subprocess.run(command, stdout=said, stderr=subprocess.STDOUT, env={"PATH": PATH})
    text = (share / "said").read_text()
    if not text.endswith("all is well\n"):
        raise SystemExit(f"the packages for {architecture} do not work (see {folder}):\n{text}")
    return text


def runs_here(architecture: str) -> bool:
    """Whether the kernel knows an interpreter for programs of this architecture."""
    entries = Path("/proc/sys/fs/binfmt_misc").glob(f"*{architecture}*")
    return any(entry.read_text().startswith("enabled") for entry in entries)


def fresh(folder: Path, architecture: str, packages: Sequence[str]) -> None:
    """Make a new root with these packages of Debian."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    print(f"+ a root of {SUITE} for {architecture}", flush=True)
    command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=apt", f"--include={','.join(packages)}"]
    command += [f"--architectures={DEBIAN[architecture]}", "--skip=check/qemu"]
    command += ['--aptopt=APT::Install-Recommends "false"']
    done = subprocess.run([*command, SUITE, str(folder)], capture_output=True, text=True)
    if done.returncode:
        raise NotTriedError(f"mmdebstrap failed: {done.stderr.strip().splitlines()[-1]}")


def requirements(architecture: str, folder: Path) -> None:
    """The pinned Python packages for a root of this architecture: nothing is downloaded inside."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", f"--dest={folder}"]
    command += ["--python-version=3.11", "--implementation=cp", "--abi=cp311", "--abi=abi3", "--abi=none"]
    tags = ["manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux_2_17", "manylinux2014"]
    command += [f"--platform={tag}_{architecture}" for tag in tags]
    subprocess.run([*command, "-r", str(ROOT / "packaging" / "requirements.lock")], check=True)


def boot(folder: Path) -> None:
    """Boot the root, whose only task is the trial; it powers itself off."""
    units = folder / "etc" / "systemd" / "system"
    (units / "try.service").write_text(STARTED)
    wanted = units / "default.target.wants"
    wanted.mkdir(exist_ok=True)
    (wanted / "try.service").symlink_to("../try.service")
    command = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--console=pipe"]
    # Every capability, and samples of CPUs: what the unit asks for decides, as on a machine.
    command += ["--capability=all", "--system-call-filter=perf_event_open", "--boot", f"--directory={folder}"]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=BOOT_LIMIT_S)


@contextmanager
def mounted(folder: Path) -> Iterator[None]:
    """A root with /proc, /sys and /dev of this machine."""
    places = [folder / name for name in ("proc", "sys", "dev")]
    try:
        for place in places:
            subprocess.run(["mount", "--rbind", f"/{place.name}", str(place)], check=True)
            subprocess.run(["mount", "--make-rslave", str(place)], check=True)
        yield
    finally:
        for place in places:
            subprocess.run(["umount", "--recursive", "--lazy", str(place)], check=False)


def inside(kind: str) -> None:
    """All trials inside a root that is `booted`, or that is `plain`: without systemd."""
    for compiler in ("cc", "gcc", "clang", "rustc", "cargo"):
        assert not shutil.which(compiler), f"{compiler} is there: a wheel that compiled would not be noticed"
    wheel()
    [deb] = INSIDE.glob("*.deb")
    dpkg = ["dpkg", "--log=/dev/null"]
    install = [*dpkg, "--install", str(deb)]
    if kind == "plain":
        run(*install)
        recorder("/usr/bin/thinktime-recorder")
        run(*dpkg, "--purge", "thinktime-recorder")
    else:
        in_service("deb", install, install, [*dpkg, "--purge"])
        [package] = INSIDE.glob("*.rpm")
        # Debian's database of RPM is empty: nothing there provides /bin/sh.
        rpm = ["rpm", "--nodeps"]
        upgrade = [*rpm, "--upgrade", "--force", str(package)]
        in_service("rpm", [*rpm, "--install", str(package)], upgrade, [*rpm, "--erase"])
    print("all is well")


def run(*command: str) -> str:
    """What a command printed on standard output."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def say(text: str) -> None:
    """One line of what was seen."""
    print(f"{platform.machine()}: {text}", flush=True)


def wheel() -> None:
    """Install the wheel with nothing but wheels; record, check, report, simulate."""
    run(sys.executable, "-m", "venv", "/try/venv")
    [path] = INSIDE.glob("*.whl")
    pip = ["/try/venv/bin/pip", "install", "--quiet", "--no-index"]
    run(*pip, "--find-links=/try/wheels", "--require-hashes", "-r", "/try/requirements.lock")
    run(*pip, "--no-deps", str(path))
    thinktime = "/try/venv/bin/thinktime"
    version = run(thinktime, "--version").strip()
    assert version == f"thinktime {path.name.split('-')[1]}", version
    say(f"wheel: {version}")
    recorder("/try/venv/bin/thinktime-recorder")
    run(thinktime, "check", "/try/log")
    page = Path("/try/report.html")
    run(thinktime, "report", "/try/log", "-o", str(page))
    say(f"wheel: a report of {page.stat().st_size} bytes")
    run(thinktime, "simulate", *SIMULATED, "-o", "/try/run")
    run(thinktime, "export", "/try/run", "-o", "/try/exported", "--format", "csv")
    for table in sorted(Path("/try/exported").iterdir()):
        say(f"{table.name}: digits {hashlib.sha256(table.read_bytes()).hexdigest()}")


def recorder(program: str) -> None:
    """Record for two seconds with the static recorder."""
    version = run(program, "--version").strip()
    shutil.rmtree("/try/log", ignore_errors=True)
    run(program, "record", "-o", "/try/log", "--interval", "0.2s", "--duration", "2s")
    rows = recorded("/try/log")
    assert rows > 0, "nothing was recorded"
    say(f"{program}: {version}, {rows} samples of this machine")


def recorded(log: str) -> int:
    """Number of samples in a log."""
    lines = run("/try/venv/bin/thinktime", "export", log, "samples", "-o", "-", "--format", "jsonl")
    return lines.count("\n")


def in_service(kind: str, install: Sequence[str], upgrade: Sequence[str], remove: Sequence[str]) -> None:
    """Install a package of the recorder, start it, upgrade it while it records, and remove it."""
    before = files()
    run(*install)
    new = sorted(files() - before)
    say(f"{kind}: installs {len(new)} files")
    for name in new:
        status = Path(name).stat()
        assert (status.st_uid, status.st_mode & 0o7022) == (0, 0), f"{name} is not root's alone to write"
    assert run("man", "--where", "thinktime-recorder").strip() in new
    assert state() == "inactive", "started without being asked to"
    said = subprocess.run(["systemd-analyze", "verify", UNIT], capture_output=True, text=True)
    assert not said.stderr, said.stderr
    settings = Path(f"/etc/systemd/system/{UNIT}.d")
    settings.mkdir()
    (settings / "fast.conf").write_text("[Service]\nEnvironment=THINKTIME_INTERVAL=0.5s\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "enable", "--now", "--quiet", UNIT)
    first = until_recorded(0)
    assert state() == "active"
    facts = json.loads((LOG / "manifest.json").read_text())["sessions"][-1]["recorder"]
    exits, period_s = facts["processes"]["exits"], facts["mode_period_s"]
    say(f"{kind}: active, {first} samples; ends of processes: {exits}; modes of CPUs every {period_s} s")
    process = main_process()
    run(*upgrade)
    assert main_process() not in ("0", process), "the old recorder goes on after the upgrade, or none does"
    second = until_recorded(first)
    run("systemctl", "reload", UNIT)
    second = until_recorded(second)
    run("systemctl", "stop", UNIT)
    assert not list(LOG.glob("*.ttj")), "the last part is not sealed"
    check = run("/try/venv/bin/thinktime", "check", str(LOG)).strip().splitlines()[-1]
    run("systemctl", "start", UNIT)
    until_recorded(second)
    run(*remove, "thinktime-recorder")
    shutil.rmtree(settings)
    assert state() == "inactive"
    logs = ("/var/lib/thinktime", "/var/lib/private/thinktime")
    left = {name for name in files() - before if not name.startswith(logs)}
    assert not left, f"left behind: {left}"
    remain = recorded(str(LOG))
    say(f"{kind}: upgraded while it ran, stopped ({check}), resumed, removed; {remain} samples remain")
    shutil.rmtree("/var/lib/private/thinktime")
    Path("/var/lib/thinktime").unlink()


def files() -> set[str]:
    """Every file of the system but for those that dpkg, rpm, man and the journal keep for themselves."""
    own = ("/var/lib/dpkg", "/var/lib/rpm", "/root/.rpmdb", "/var/cache", "/var/log", "/var/lib/systemd")
    return {
        str(Path(folder) / name)
        for top in ("/etc", "/usr", "/var", "/root", "/opt")
        for folder, _, names in os.walk(top)
        for name in names
        if not folder.startswith(own) and "/__pycache__" not in folder
    }


def state() -> str:
    """State of the unit, such as `active`."""
    return subprocess.run(["systemctl", "is-active", UNIT], capture_output=True, text=True).stdout.strip()


def main_process() -> str:
    """Number of the recorder's process; `0` if it does not run."""
    return run("systemctl", "show", "--value", "--property=MainPID", UNIT).strip()


def until_recorded(rows: int) -> int:
    """Samples in the log, once there are more than `rows`."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        now = recorded(str(LOG)) if (LOG / "manifest.json").exists() else 0
        if now > rows:
            return now
        time.sleep(0.5)
    raise AssertionError(f"no further sample in a minute:\n{run('systemctl', 'status', '--no-pager', UNIT)}")


if __name__ == "__main__":
    inside(sys.argv[1])
