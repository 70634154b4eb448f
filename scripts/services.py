"""Services that others wrote, with users whose requests are timed: PostgreSQL, a login node, JupyterHub.

Each is a context manager: it starts the service in a folder of its own, under an account made for it, on a
socket or on loopback alone; `play` has users at work and returns their requests.
"""

from __future__ import annotations

import json
import os
import pwd
import random
import secrets
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar

ACCOUNT = "thinktime-validate"
"""Account of the services, made for a run and removed after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of a user."""

    user: str
    kind: str
    think_s: float
    """Time from the answer before it."""
    due_s: float
    """Unix time when it was made."""
    done_s: float
    """Unix time when it was answered."""


class Service:
    """A service in a folder, under the account."""

    name: ClassVar[str]
    users: ClassVar[tuple[int, int]]
    """Users recorded, and users predicted and played."""
    needs: ClassVar[tuple[str, ...]]
    """Programs without which it cannot be tried."""
    install: ClassVar[str]
    """How to get them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        found = pwd.getpwnam(ACCOUNT)
        self.uid, self.gid = found.pw_uid, found.pw_gid
        folder.mkdir(parents=True)
        os.chown(folder, self.uid, self.gid)

    @classmethod
    def missing(cls) -> list[str]:
        """Programs that are needed and not there."""
        return [name for name in cls.needs if not Path(name).is_file() and shutil.which(name) is None]

    def run(self, command: Sequence[str | Path], *, as_account: bool = True) -> str:
        """Output of a command that must succeed."""
        who = {"user": self.uid, "group": self.gid, "extra_groups": []} if as_account else {}
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env=self.environment(),
            **who,  # type: ignore[call-overload]
        )
        if done.returncode:
            raise SystemExit(f"{self.name}: {command[0]} ended with {done.returncode}: {done.stderr.strip()}")
        return str(done.stdout)

    def environment(self) -> dict[str, str]:
        """Environment of its commands."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C"}

    def __enter__(self) -> Service:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and return when it answers."""
        raise NotImplementedError

    def stop(self) -> None:
        """End it."""
        raise NotImplementedError

    def play(self, users: int, seconds: float, seed: int) -> list[Request]:
        """Requests of users who work for that long."""
        raise NotImplementedError


BINARIES = Path("/usr/lib/postgresql/15/bin")
JUPYTER = Path(__file__).resolve().parents[1] / "target" / "validate" / "jupyter"
"""Where JupyterHub is looked for."""
PROXY = JUPYTER / "node" / "node_modules" / ".bin" / "configurable-http-proxy"


class PostgreSQL(Service):
    """PostgreSQL under pgbench: an update and a sum over 100,000 rows on average for each transaction.

    The number of rows is random. Were it always the same, users with the same think time who begin together
    would stay in step for ever: they share the CPUs equally, end together, and ask again together.
    """

    name = "PostgreSQL, pgbench"
    users = (16, 32)
    needs = (str(BINARIES / "postgres"), "pgbench")
    install = "apt-get install postgresql-15"
    THINK_S = 0.2
    SCRIPT = (
        "\\sleep 200 ms\n"
        "\\set aid random(1, 500000)\n"
        "\\set rows random_exponential(0, 499999, 5)\n"
        "\\set low random(1, 500000 - :rows)\n"
        "BEGIN;\n"
        "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;\n"
        "SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :low AND :low + :rows;\n"
        "END;\n"
    )

    def start(self) -> None:
        """Make a cluster of 500,000 accounts, and serve it on a socket in the folder."""
        data = self.folder / "data"
        self.run([BINARIES / "initdb", "-D", data, "-A", "trust", "-U", "bench"])
        with (data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nmax_connections = 200\n"
                "autovacuum = off\n"
            )
        self.run([BINARIES / "pg_ctl", "-D", data, "-l", self.folder / "log", "-w", "start"])
        self._bench("-i", "-q", "-s", "5")
        (self.folder / "script.sql").write_text(self.SCRIPT)

    def stop(self) -> None:
        """Stop the server."""
        self.run([BINARIES / "pg_ctl", "-D", self.folder / "data", "-m", "fast", "stop"])

    def _bench(self, *options: str) -> None:
        # Not under the account of the server: its CPU time is not that of a transaction.
        self.run(["pgbench", "-h", self.folder, "-U", "bench", *options, "postgres"], as_account=False)

    def play(self, users: int, seconds: float, seed: int) -> list[Request]:
        """Transactions of pgbench; the first statement of each is its user's think time."""
        for old in self.folder.glob("transactions*"):
            old.unlink()
        options = ["-n", "-c", f"{users}", "-j", "2", "-T", f"{seconds:.0f}", "-l"]
        log = ["--log-prefix", str(self.folder / "transactions"), "--random-seed", str(seed)]
        self._bench(*options, *log, "-f", str(self.folder / "script.sql"))
        found = []
        for path in sorted(self.folder.glob("transactions*")):
            for line in path.read_text().splitlines():
                client, _, taken_us, _, whole, micro = line.split()[:6]
                done = int(whole) + int(micro) / 1e6
                due = done - int(taken_us) / 1e6 + self.THINK_S
                found.append(
                    Request(
                        user=f"user:{client}",
                        kind="transaction",
                        think_s=self.THINK_S,
                        due_s=min(due, done),
                        done_s=done,
                    )
                )
        return found


def free_port() -> int:
    """Port on loopback that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def waited_for(port: int, seconds: float, name: str) -> None:
    """Return when somebody listens on a port."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit(f"{name}: nothing listens on port {port} after {seconds:g} s")


def at_work(
    users: int, seconds: float, seed: int, act: Callable[[int, random.Random], str], think_s: float
) -> list[Request]:
    """Requests of users who think, act and wait for the answer; `act` returns the kind of the request."""
    found: list[Request] = []
    lock, end, failed = threading.Lock(), time.time() + seconds, []

    def user(number: int) -> None:
        draws = random.Random(1000 * seed + number)
        try:
            while True:
                think = draws.expovariate(1.0 / think_s)
                time.sleep(think)
                due = time.time()
                if due >= end:
                    return
                kind = act(number, draws)
                one = Request(user=f"user:{number}", kind=kind, think_s=think, due_s=due, done_s=time.time())
                with lock:
                    found.append(one)
        except (OSError, RuntimeError) as error:
            failed.append(error)

    threads = [threading.Thread(target=user, args=(number,)) for number in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise SystemExit(f"{len(failed)} of {users} users failed: {failed[0]}")
    return found


class LoginNode(Service):
    """sshd with a shell for each user, in which they list, search and compile."""

    name = "login node, sshd"
    users = (8, 16)
    needs = ("/usr/sbin/sshd", "ssh", "ssh-keygen", "gcc")
    install = "apt-get install openssh-server openssh-client gcc"
    THINK_S = 1.0
    COMMANDS: ClassVar = {
        "list": "ls -lR /usr/include/linux >/dev/null",
        "search": "grep -rl struct /usr/include/linux | wc -l",
        "compile": "gcc -O2 -c program.c -o program.$USERNUMBER.o",
    }

    def start(self) -> None:
        """Make keys and a program, and listen on loopback."""
        lines = [
            f"int f{at}(int a) {{ for (int i = 0; i < a; i++) a ^= i * {at}; return a; }}"
            for at in range(150)
        ]
        (self.folder / "program.c").write_text("#include <stdio.h>\n" + "\n".join(lines) + "\n")
        for key in ("host", "user"):
            self.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key])
        Path("/run/sshd").mkdir(exist_ok=True)
        self.port = free_port()
        settings = (
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\n"
            f"AuthorizedKeysFile {self.folder}/user.pub\nStrictModes no\nUsePAM no\nPidFile none\n"
            "MaxStartups 100\nPasswordAuthentication no\n"
        )
        (self.folder / "sshd_config").write_text(settings)
        os.chown(self.folder / "host", 0, 0)
        os.chown(self.folder / "user", 0, 0)
        self.server = subprocess.Popen(
            ["/usr/sbin/sshd", "-D", "-f", str(self.folder / "sshd_config")],
            stderr=subprocess.DEVNULL,
        )
        waited_for(self.port, 10.0, self.name)

    def stop(self) -> None:
        """Stop the server."""
        self.server.terminate()
        self.server.wait()

    def play(self, users: int, seconds: float, seed: int) -> list[Request]:
        """Commands of users who are logged in."""
        options = ["-T", "-q", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
        login = ["ssh", *options, "-i", str(self.folder / "user"), "-p", str(self.port)]
        shells = [
            subprocess.Popen(
                [*login, f"{ACCOUNT}@127.0.0.1", f"cd {self.folder}; USERNUMBER={number} exec sh"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
            for number in range(users)
        ]

        def act(number: int, draws: random.Random) -> str:
            kind = draws.choice(list(self.COMMANDS))
            shell = shells[number]
            assert shell.stdin is not None
            assert shell.stdout is not None
            shell.stdin.write(f"{self.COMMANDS[kind]}; echo done\n")
            shell.stdin.flush()
            while (line := shell.stdout.readline()) != "done\n":
                if not line:
                    raise RuntimeError("the connection was closed")
            return kind

        try:
            # Logged in before the first command is timed.
            at_work(users, 1.0, seed, act, 0.1)
            return at_work(users, seconds, seed, act, self.THINK_S)
        finally:
            for shell in shells:
                assert shell.stdin is not None
                shell.stdin.close()
                shell.wait()


class Notebooks(Service):
    """JupyterHub with a server and a kernel for each user, who runs cells of some 60 ms of CPU time."""

    name = "JupyterHub, notebooks"
    users = (5, 10)
    needs = (str(JUPYTER / "bin" / "jupyterhub"), str(PROXY), "node")
    install = (
        f"/usr/bin/python3 -m venv {JUPYTER}; {JUPYTER}/bin/pip install jupyterhub jupyter_server ipykernel; "
        f"npm install --prefix {JUPYTER}/node configurable-http-proxy"
    )
    THINK_S = 0.5
    IDLE_S = 600
    """Time after which a kernel without work is ended: longer than a play."""

    def environment(self) -> dict[str, str]:
        """Environment of its commands: the hub's programs first."""
        path = f"{JUPYTER / 'bin'}:{PROXY.parent}:{os.environ['PATH']}"
        app = "jupyter_server.serverapp.ServerApp"
        return super().environment() | {"PATH": path, "JUPYTERHUB_SINGLEUSER_APP": app}

    def start(self) -> None:
        """Start the hub and its proxy on loopback."""
        self.token = secrets.token_hex(16)
        port, hub, api = (free_port() for _ in range(3))
        self.url = f"http://127.0.0.1:{port}"
        cull = [f"--MappingKernelManager.cull_idle_timeout={self.IDLE_S}"]
        (self.folder / "config.py").write_text(
            f"c.JupyterHub.bind_url = '{self.url}'\n"
            f"c.JupyterHub.hub_bind_url = 'http://127.0.0.1:{hub}'\n"
            f"c.ConfigurableHTTPProxy.api_url = 'http://127.0.0.1:{api}'\n"
            "c.JupyterHub.authenticator_class = 'dummy'\n"
            "c.Authenticator.allow_all = True\n"
            "c.JupyterHub.spawner_class = 'jupyterhub.spawner.SimpleLocalProcessSpawner'\n"
            f"c.SimpleLocalProcessSpawner.home_dir_template = '{self.folder}/home-{{username}}'\n"
            f"c.Spawner.args = {cull!r}\n"
            "c.JupyterHub.concurrent_spawn_limit = 2\n"
            f"c.JupyterHub.services = [{{'name': 'users', 'api_token': '{self.token}'}}]\n"
            "c.JupyterHub.load_roles = [{'name': 'users', 'services': ['users'], 'scopes': ['admin:users', "
            "'admin:servers', 'access:servers']}]\n"
        )
        with (self.folder / "log").open("w") as log:
            self.server = subprocess.Popen(
                [str(JUPYTER / "bin" / "jupyterhub"), "-f", str(self.folder / "config.py")],
                cwd=self.folder,
                env=self.environment(),
                stdout=log,
                stderr=log,
                user=self.uid,
                group=self.gid,
                extra_groups=[],
            )
        waited_for(port, 60.0, self.name)
        waited_for(hub, 60.0, self.name)

    def stop(self) -> None:
        """End the hub, which ends its proxy and the servers."""
        self.server.terminate()
        try:
            self.server.wait(30.0)
        except subprocess.TimeoutExpired:
            self.server.kill()

    def play(self, users: int, seconds: float, seed: int) -> list[Request]:
        """Cells of users, whose servers and kernels start before the first is timed."""
        script = Path(__file__).with_name("notebook_users.py")
        given = [self.url, str(users), f"{seconds:g}", f"{self.THINK_S:g}", str(seed)]
        # Not under the account of the hub: its CPU time is not that of a cell.
        done = subprocess.run(
            [str(JUPYTER / "bin" / "python"), str(script), *given],
            input=f"{self.token}\n",
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(
                f"{self.name}: its users ended with {done.returncode}: {done.stderr.strip()[-800:]}"
            )
        lines = done.stdout.splitlines()
        return [Request(**json.loads(line)) for line in lines if line != "ready"]
