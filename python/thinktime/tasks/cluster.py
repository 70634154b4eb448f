"""A cluster of Dask: workers that come, go and die, a scheduler that is restarted, and versions that differ.

Dask (`distributed`) finds workers, gives tasks out and takes results back; a task whose worker dies is given
to another one. What is done here is what it leaves open: a lost scheduler is waited for and its tasks given
out again, an empty cluster is waited for and named, and no task runs on another thinktime than this one.

Whoever can reach a scheduler of Dask can run programs on its workers, and a scheduler can run programs here:
`tls://` addresses, with the certificates that Dask's own configuration names, keep others out.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from thinktime.errors import InputError, WorkError
from thinktime.tasks.identity import Identity, host, identity
from thinktime.tasks.pool import LOOK_S, LostError, Pool, PoolError, nothing

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

_T = TypeVar("_T")
_R = TypeVar("_R")

CONNECT_S = 10.0
"""Time for one attempt to reach a scheduler [s]."""
PATIENCE_S = 300.0
"""Time that a lost scheduler, or a first worker, is waited for [s]: a machine boots within it."""
WATCH_S = 2.0
"""Interval at which the scheduler is asked how many workers it has [s]."""
RESULT_S = 300.0
"""Time for one result to be fetched [s]: 256 MiB at 1 MB/s."""
NAMED_MAX = 6
"""Most workers that a message names."""
ASKED = "__import__('thinktime').__version__"
"""Expression that a worker evaluates even if its thinktime is another one, or none."""
RISK = "if workers fail, give all machines the same"
INSTALL = "pip install 'thinktime[cluster]'"


class Cluster(Pool):
    """Workers of a scheduler of Dask.

    Parameters
    ----------
    address : str
        Of the scheduler: ``tcp://host:8786``, ``tls://host:8786``, or the file that
        ``dask scheduler --scheduler-file`` wrote. Empty for a cluster of this machine.
    workers : int
        Processes of a cluster that is started on this machine, and ended with the pool.
    said : callable, optional
        Called with what the user should know now: that a scheduler or workers are waited for.
    patience_s : float
        How long a lost scheduler, or workers where there are none, are waited for [s].

    Raises
    ------
    InputError
        Dask is not installed, nothing answers at the address, or a worker has another thinktime.
    """

    is_here: ClassVar[bool] = False

    def __init__(
        self,
        address: str = "",
        *,
        workers: int = 0,
        said: Callable[[str], object] = nothing,
        patience_s: float = PATIENCE_S,
    ) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise InputError(
                f"--on and --workers need Dask's package distributed, which is not installed: {INSTALL}"
            ) from None
        self.address = address
        self._workers = workers
        self._said = said
        self._patience_s = patience_s
        self._quiet = _Quiet()
        self._own: LocalCluster | None = None
        self._client: Client | None = None
        self._tasks: dict[Future[Any], Any] = {}
        self._result_s = RESULT_S
        self._slots = 1
        self._watched = 0.0
        self._alone_since: float | None = None

    def _start_own(self) -> None:
        """Start the workers of this machine, which talk under a certificate that is made for them alone.

        Without it, every user of this machine could have programs run by them.
        """
        import dask
        from distributed import LocalCluster

        # Nobody looks at the profile of these workers, which is taken a hundred times a second.
        with dask.config.set({"distributed.worker.profile.enabled": False}):
            self._own = LocalCluster(
                n_workers=self._workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                # Any port: the usual one may be taken.
                dashboard_address="127.0.0.1:0",
                security=True,
                silence_logs=logging.CRITICAL,
            )
        self.address = self._own.scheduler_address

    @property
    def slots(self) -> int:
        """Threads of all workers."""
        return self._slots

    def open(self) -> None:
        """Connect to the scheduler, and wait for its first worker.

        Raises
        ------
        InputError
            Nothing answers at the address, or a worker has another thinktime.
        PoolError
            No worker came.
        """
        self._connected()

    def on_workers(self, function: Callable[[], _R]) -> list[_R]:
        """Results of a function, once in each worker that there is now."""
        return list(self._connected().run(function).values())

    def _connected(self) -> Client:
        """Client, connected on first use."""
        if self._client is None:
            if self._workers and self._own is None:
                self._start_own()
            try:
                self._join(nothing, time.monotonic())
            except LostError:
                raise PoolError(f"{self.address}: the scheduler ended") from None
        return self._client

    def _join(self, look: Callable[[], object], until: float) -> None:
        """Connect, wait for a first worker, check versions; a scheduler may appear as late as `until`."""
        self._client = self._connect(look, until)
        self._alone_since = None
        while not self._count(self._client):
            look()
            time.sleep(LOOK_S)
        _check_versions(self._client, self.address)

    def _connect(self, look: Callable[[], object], until: float) -> Client:
        """Client of the scheduler, which may appear as late as `until` (monotonic)."""
        while True:
            try:
                with warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    client = self._new_client()
                if any("Mismatched versions" in str(each.message) for each in warned):
                    self._said(f"{self.address}: versions of Python or Dask differ from those here: {RISK}")
                return client
            except ValueError as error:
                raise InputError(
                    f"{self.address}: is no address of a Dask scheduler ({error}); give tcp://HOST:PORT"
                ) from None
            except (OSError, TimeoutError) as error:
                if time.monotonic() >= until:
                    raise InputError(
                        f"{self.address}: no Dask scheduler answers ({_short(error)}); "
                        "`dask scheduler` starts one, and prints its address"
                    ) from None
            look()
            time.sleep(LOOK_S)

    def _new_client(self) -> Client:
        from distributed import Client

        how: dict[str, Any] = {"timeout": CONNECT_S, "set_as_default": False, "name": "thinktime"}
        if self._own is not None:
            return Client(self._own, **how)
        if "://" not in self.address and Path(self.address).is_file():
            return Client(scheduler_file=self.address, **how)
        return Client(self.address, **how)

    def _count(self, client: Client) -> int:
        """Threads of all workers; says so where there are none, and gives up when that lasts."""
        try:
            threads = int(sum(client.nthreads().values()))
        except (OSError, TimeoutError):
            raise LostError from None
        now = time.monotonic()
        self._watched = now
        if threads:
            self._slots, self._alone_since = threads, None
            return threads
        if self._alone_since is None:
            self._alone_since = now
            self._said(
                f"{self.address} has no workers; waiting for one (`dask worker {self.address}` starts it)"
            )
        elif now - self._alone_since > self._patience_s:
            raise PoolError(f"{self.address} had no workers for {self._patience_s:.0f} s")
        return 0

    def _submit(self, work: Callable[[_T], _R], item: _T) -> Future[Any]:
        client = self._connected()
        self._result_s = RESULT_S
        try:
            # Each a key of its own: results of equal tasks of others on the cluster are not ours.
            task = client.submit(_done, identity(), work, item, pure=False)
        except (OSError, RuntimeError):
            raise LostError from None
        future: Future[Any] = Future()
        self._tasks[future] = task

        def ended(_: object) -> None:
            if not future.cancelled():
                future.set_result(None)

        task.add_done_callback(ended)
        return future

    def _result(self, future: Future[Any]) -> Any:
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError

        if future.cancelled():
            raise LostError
        task = self._tasks[future]
        try:
            result = task.result(timeout=self._result_s)
        except (InputError, WorkError):
            raise
        except (CancelledError, CommClosedError, TimeoutError):
            raise LostError from None
        except KilledWorker as error:
            raise PoolError(
                f"{error.allowed_failures + 1} workers ended while they did the same task; their logs say "
                "why, which is often that memory ran out"
            ) from None
        except ModuleNotFoundError as error:
            raise InputError(
                f"{self.address}: a worker cannot import {error.name}; {INSTALL} on all machines"
            ) from None
        # Otherwise the worker would keep it.
        del self._tasks[future]
        return result

    def _has_result(self, future: Future[Any]) -> bool:
        task = self._tasks.get(future)
        return not future.cancelled() and task is not None and task.status == "finished"

    def _check(self) -> None:
        client = self._connected()
        if client.status != "running":
            raise LostError
        if time.monotonic() - self._watched > WATCH_S:
            self._count(client)

    def _recover(self, look: Callable[[], object]) -> None:
        self._said(
            f"{self.address}: the connection to the scheduler is lost; waiting up to "
            f"{self._patience_s:.0f} s for it. What was done is kept"
        )
        until = time.monotonic() + self._patience_s
        while True:
            self._forget()
            try:
                self._join(look, until)
            except InputError as error:
                raise PoolError(str(error)) from None
            except LostError:
                if time.monotonic() >= until:
                    raise PoolError(f"{self.address}: the scheduler ends again and again") from None
            else:
                return

    def _end(self, given: Iterable[Future[Any]]) -> None:
        """Withdraw tasks; those under way end on their workers, whose results nobody takes."""
        # Ctrl-C ends workers of this terminal too: what they have done is not waited for long.
        self._result_s = CONNECT_S
        for future in given:
            task = self._tasks.get(future)
            if task is not None and not task.done():
                future.cancel()
                del self._tasks[future]

    def _forget(self) -> None:
        """Leave the scheduler; what is still there for us is withdrawn with it."""
        self._tasks.clear()
        if self._client is not None:
            client, self._client = self._client, None
            client.close(timeout=CONNECT_S)

    def close(self) -> None:
        """Leave the scheduler; workers that were started here end."""
        self._forget()
        if self._own is not None:
            own, self._own = self._own, None
            own.close(timeout=CONNECT_S)
        self._quiet.end()


class _Quiet:
    """Without the log lines of Dask, from here to `end`: what the user should know is said by us."""

    def __init__(self) -> None:
        names = [
            "distributed",
            *(name for name in logging.root.manager.loggerDict if name[:12] == "distributed."),
        ]
        self._levels = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
        for logger, _ in self._levels:
            logger.setLevel(logging.CRITICAL + 1)

    def end(self) -> None:
        """Set all levels as they were."""
        for logger, level in self._levels:
            logger.setLevel(level)


def _done(wanted: Identity, work: Callable[[_T], _R], item: _T) -> _R:
    """Result of a task, on a worker with the thinktime that is `wanted`; workers may join at any time."""
    found = identity()
    if found != wanted:
        raise InputError(
            f"a worker on {host()} has thinktime {found.beside(wanted)}, and here is {wanted.version}; "
            "install the same one on all machines"
        )
    return work(item)


def _check_versions(client: Client, address: str) -> None:
    """Refuse workers with another thinktime, or none."""
    wanted = identity()
    try:
        versions = client.run(eval, ASKED, on_error="return")
        found = client.run(identity, on_error="return")
    except (OSError, TimeoutError):
        raise LostError from None
    others = {}
    for worker, version in versions.items():
        if version != wanted.version:
            others[worker] = version if isinstance(version, str) else "none"
        elif found.get(worker) != wanted:
            others[worker] = f"{version} from other sources"
    if others:
        raise InputError(
            f"{address}: here is thinktime {wanted.version}, and workers have another: {_listed(others)}; "
            f"install the same one on all machines (pip install 'thinktime[cluster]=={wanted.version}')"
        )


def _listed(others: Mapping[str, str]) -> str:
    named = [f"{worker} has {version}" for worker, version in sorted(others.items())]
    more = f", and {len(named) - NAMED_MAX} more" if len(named) > NAMED_MAX else ""
    return ", ".join(named[:NAMED_MAX]) + more


def _short(error: BaseException) -> str:
    """First line of an error."""
    return (str(error).splitlines() or [type(error).__name__])[0]
