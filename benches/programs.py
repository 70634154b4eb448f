"""Reference programs: built from the C sources in this folder, run, and measured from outside."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "target" / "benches"


def build_c(name: str, *options: str) -> Path:
    """Compile ``benches/NAME.c`` for this machine, by options more than one way; gives the program's path."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        raise RuntimeError("no C compiler: apt install gcc, or set CC")
    BUILT.mkdir(parents=True, exist_ok=True)
    program = BUILT / "".join([name, *options])
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run([compiler, "-O3", "-march=native", *options, "-o", program, source, "-lm"], check=True)
    return program


def build_example(crate: str, name: str) -> Path:
    """Build the example NAME of one of our crates, as released; gives the program's path."""
    cargo = os.environ.get("CARGO") or "cargo"
    command = [cargo, "build", "--release", "--quiet", "-p", crate, "--example", name]
    subprocess.run(command, check=True, cwd=ROOT)
    return ROOT / "target" / "release" / "examples" / name


def cpu_seconds(command: Sequence[str | Path]) -> float:
    """User and system CPU time of a command and what it started."""
    return output_and_cpu_seconds(command)[1]


def output_and_cpu_seconds(command: Sequence[str | Path]) -> tuple[bytes, float]:
    """What a command prints, and its CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return output, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def own_cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of a call, all threads of this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def least_in_turn(rounds: int, *measure: Callable[[], float]) -> list[float]:
    """Least of `rounds` measurements of each, taken in turn so that what disturbs one disturbs all.

    The least, because what else runs on the machine only ever adds time.
    """
    figures = [[one() for one in measure] for _ in range(rounds)]
    return [min(column) for column in zip(*figures, strict=True)]
