"""Fuzz what reads files of others, for a bounded time; exit status 1 on a finding.

Targets are those of fuzz/Cargo.toml, `properties` (the Hypothesis properties, with more examples) and `bits`
(every single flipped bit of a small part of each table). Inputs that reach new code are kept in
target/fuzz/work, so that the next run continues from there.

    FUZZ_TARGETS   targets, separated by blanks (all)
    FUZZ_SECONDS   longest time for each target [s] (600)
    FUZZ_RUNS      most executions of each target (no limit)
    FUZZ_JOBS      targets at a time (one for each core)
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "target/fuzz"
PROGRAMS = WORK / "x86_64-unknown-linux-gnu/release"
MEMORY_BYTES = 4 << 30
"""Address space of a target: what an input of some kilobytes makes it ask for beyond that is a finding."""
INPUT_BYTES_MAX = 4096
INPUT_S_MAX = 60
"""Longest time for one input; a loaded machine is slow."""
EXAMPLES_PER_S = 0.1
"""Times the examples of `make test`, which take ten seconds, for each second."""


def targets() -> list[str]:
    """Names of the programs of fuzz/Cargo.toml."""
    return re.findall(r'^\[\[bin\]\]\nname = "(\w+)"', (ROOT / "fuzz/Cargo.toml").read_text(), re.MULTILINE)


def missing() -> str | None:
    """What has to be installed before anything can be fuzzed."""
    if shutil.which("rustup") is None:
        return "rustup, which chooses the nightly toolchain, is not installed: see https://rustup.rs"
    toolchains = subprocess.run(["rustup", "toolchain", "list"], capture_output=True, text=True)
    if "nightly" not in toolchains.stdout:
        return "coverage needs a nightly toolchain: rustup toolchain install nightly --profile minimal"
    if shutil.which("cargo-fuzz") is None:
        return "cargo-fuzz is not installed: cargo install cargo-fuzz --locked"
    return None


def build() -> None:
    """Compile the targets."""
    # Without the address sanitizer: the crates forbid or count unsafe code, and it halves the speed.
    command = [os.environ.get("CARGO", "cargo"), "+nightly", "fuzz", "build", "--sanitizer", "none"]
    command += ["--target-dir", str(WORK)]
    subprocess.run(command, cwd=ROOT / "fuzz", check=True)


def limited() -> None:
    """Limit the address space of this process, before it becomes a target."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def fuzz(target: str, seconds: int, runs: int) -> bool:
    """Whether `target` ended without a finding; prints executions and coverage."""
    work, findings = WORK / "work" / target, WORK / "findings" / target
    for folder in (work, findings):
        folder.mkdir(parents=True, exist_ok=True)
    command = [str(PROGRAMS / target), f"-runs={runs}", f"-max_total_time={seconds}", "-print_final_stats=1"]
    command += [f"-max_len={INPUT_BYTES_MAX}", f"-timeout={INPUT_S_MAX}", f"-artifact_prefix={findings}/"]
    command += [str(work), str(ROOT / "fuzz/corpus" / target)]
    done = subprocess.run(command, stderr=subprocess.PIPE, preexec_fn=limited)
    text = done.stderr.decode(errors="replace")
    executions = re.findall(r"number_of_executed_units: (\d+)", text) or re.findall(
        r"^#(\d+)", text, re.MULTILINE
    )
    edges = re.findall(r" cov: (\d+) ", text)
    counters = re.findall(r"\((\d+) inline 8-bit counters\)", text)
    kept = len(list(work.iterdir()))
    print(
        f"{target}: {int(executions[-1]) if executions else 0:,} executions, "
        f"{edges[-1] if edges else 0} of {counters[0] if counters else 0} edges, {kept:,} inputs kept",
        flush=True,
    )
    if done.returncode == 0:
        return True
    reproducers = re.findall(r"Test unit written to (\S+)", text)
    (findings / "last.log").write_text(text)
    print(f"{target}: FINDING, exit status {done.returncode}; the messages are in {findings}/last.log")
    for reproducer in reproducers:
        limit = MEMORY_BYTES >> 10
        print(
            f"{target}: {reproducer}; replay it with\n  (ulimit -v {limit}; {PROGRAMS / target} {reproducer})"
        )
    return False


def properties(seconds: int) -> bool:
    """Whether the Hypothesis properties hold, tried on examples that differ from run to run."""
    effort = max(2, int(seconds * EXAMPLES_PER_S))
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=0", "tests/sources/test_sar_fuzz.py"]
    command += ["tests/sources/test_import_fuzz.py", "tests/sources/test_damaged_input.py"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"FUZZ_EFFORT": str(effort)})
    print(
        f"properties: {effort} times the examples of `make test`, exit status {done.returncode}", flush=True
    )
    return done.returncode == 0


def bits() -> bool:
    """Whether every flipped bit of a part of each table is found, or changes nothing."""
    done = subprocess.run([sys.executable, "tests/log/flipped_bits.py"], cwd=ROOT)
    return done.returncode == 0


def main() -> int:
    """Exit status: 0 without a finding, 1 with one, 2 where nothing could be run."""
    known = [*targets(), "properties", "bits"]
    chosen = os.environ.get("FUZZ_TARGETS", "").split() or known
    if unknown := [name for name in chosen if name not in known]:
        print(f"FUZZ_TARGETS: there is no target {', '.join(unknown)}; there are: {', '.join(known)}")
        return 2
    try:
        seconds, jobs = (
            int(os.environ.get(name) or default)
            for name, default in (("FUZZ_SECONDS", 600), ("FUZZ_JOBS", os.cpu_count() or 1))
        )
        runs = int(os.environ.get("FUZZ_RUNS") or -1)
    except ValueError as error:
        print(f"FUZZ_SECONDS, FUZZ_RUNS and FUZZ_JOBS are whole numbers: {error}")
        return 2
    programs = [name for name in chosen if name in targets()]
    if programs:
        if need := missing():
            print(f"{need}; `FUZZ_TARGETS='properties bits' make fuzz` needs neither")
            return 2
        build()
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = [pool.submit(fuzz, name, seconds, runs) for name in programs]
        if "properties" in chosen:
            outcomes.append(pool.submit(properties, seconds))
        if "bits" in chosen:
            outcomes.append(pool.submit(bits))
        clean = [outcome.result() for outcome in outcomes]
        return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
