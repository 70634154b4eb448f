"""A scheduler of Dask and workers, each a process of its own on the loopback interface."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parents[1]
START_S = 120
"""For a process of Python to start on a machine that does much else [s]."""


class Cluster:
    """Scheduler and workers, ended one by one or all at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[subprocess.Popen] = []
        self._port = 0
        self.start_scheduler()

    def _run(self, program: str, *arguments: str, path: str = "") -> subprocess.Popen:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [path, str(TESTS)]))}
        with (self.folder / "dask.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{program}", *arguments],
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self.folder,
            )

    def start_scheduler(self) -> None:
        """Start it, later ones at the port of the first."""
        told = self.folder / "scheduler.json"
        told.unlink(missing_ok=True)
        self.scheduler = self._run(
            "scheduler",
            *("--host", "127.0.0.1", "--port", str(self._port), "--dashboard-address", "127.0.0.1:0"),
            *("--scheduler-file", str(told)),
        )
        began = time.monotonic()
        while not (told.exists() and told.read_text().strip().endswith("}")):
            assert self.scheduler.poll() is None, self.log()
            assert time.monotonic() - began < START_S, self.log()
            time.sleep(0.02)
        self.address = json.loads(told.read_text())["address"]
        self._port = int(self.address.rpartition(":")[2])

    def start_worker(self, *, path: str = "") -> subprocess.Popen:
        """Start a worker of one thread, with `path` first in its search path; it registers by itself."""
        worker = self._run(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", path=path
        )
        self.workers.append(worker)
        return worker

    def end(self, process: subprocess.Popen) -> None:
        process.kill()
        process.wait()

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            self.end(process)

    def log(self) -> str:
        return (self.folder / "dask.log").read_text(errors="replace")
