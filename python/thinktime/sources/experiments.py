"""Designed experiments: every cell of a design simulated, here or elsewhere, as `Runs` that can go on."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from thinktime.errors import InputError, InterruptedWorkError, WorkError, offered
from thinktime.log import facts
from thinktime.log.design import Design
from thinktime.log.runs import DESIGN_NAME, FILE_NAME, Cell, Level, Runs
from thinktime.sources import remote, simulated
from thinktime.sources.remote import Order, Replications, Simulate
from thinktime.sources.simulated import LIMITS, Limits
from thinktime.tasks import Pool, PoolError, Threads
from thinktime.tasks.files import packed

UNFINISHED, REPLACED = ".new", ".old"
"""Endings of the folder of a cell that is being written, and of the one that it replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of an experiment; replications that a cell already held count as done."""

    cells: int
    """Cells of the design."""
    cells_done: int
    """Cells whose log is complete."""
    replications: int
    """Replications of all cells."""
    replications_done: int
    """Replications simulated so far, those of unfinished cells included."""


def check(design: Design, limits: Limits = LIMITS) -> None:
    """Refuse a design with a cell that cannot be simulated within the limits, or with an unknown response.

    Raises
    ------
    InputError
        The design cannot be simulated; the message names file, cell, parameter, the given value and the
        allowed ones.
    """
    for levels in design.cells:
        _check_cell(design, levels, limits)
    responses = simulated.responses(design.system, design.parameters_of(design.cells[0]))
    for name in (*design.responses, *(key for key in design.transformations if key != "*")):
        if name not in responses:
            raise InputError(
                f"{design.name}: {design.system} has no response {name!r}; {offered(name, responses)}"
            )


def _check_cell(design: Design, levels: Mapping[str, Level], limits: Limits) -> None:
    parameters = design.parameters_of(levels)
    try:
        simulated.check_cost(design.system, parameters, replications=design.replications, limits=limits)
    except InputError as error:
        raise InputError(f"{design.name}: cell {named(levels)}: {error}") from None


def named(levels: Mapping[str, Level]) -> str:
    """Levels of a cell in words: ``scheduler = fb2, regions = 3``."""
    return ", ".join(f"{name} = {level}" for name, level in levels.items())


def prepare(design: Design, output: Path, *, resume: bool = False, force: bool = False) -> Runs:
    """Runs in the folder `output`, new or continued.

    Raises
    ------
    InputError
        The folder exists and neither `resume` nor `force` is given; or it holds something other than runs, or
        runs of another design.
    """
    if output.exists() and not resume:
        if not force:
            raise InputError(
                f"{output}: already exists; --resume continues it, --force replaces it, "
                "--runs chooses another folder"
            )
        if not (output / FILE_NAME).exists():
            raise InputError(
                f"{output}: contains no runs and is not replaced; choose another folder with --runs"
            )
        shutil.rmtree(output)
    if (output / FILE_NAME).exists():
        runs = Runs.open(output)
        _same(design, runs)
        _same_scripts(design, runs)
    else:
        runs = Runs.create(
            output,
            system=design.system,
            seed=design.seed,
            factors=design.factors,
            levels=design.cells,
            parameters=design.parameters,
            common_random_numbers=design.blocks,
        )
    if Path(design.name).is_file():
        # With it, the runs can be analysed again as the design says.
        shutil.copyfile(design.name, output / DESIGN_NAME)
    return runs


def _same_scripts(design: Design, runs: Runs) -> None:
    """Refuse to continue runs with a script whose file has changed under the same name."""
    for cell in runs.cells:
        parameters = design.parameters_of(cell.levels)
        if "script" in parameters and _held(cell):
            recorded = Runs.open(cell.path).parameters["script"]
            if simulated.resolve(design.system, parameters)["script"] != recorded:
                raise InputError(
                    f"{runs.path}: cell {named(cell.levels)} was made with another script of the name "
                    f"{parameters['script']}, which its log holds; give the new one another name, or choose "
                    "another folder with --runs"
                )


def _same(design: Design, runs: Runs) -> None:
    """Refuse to continue runs of another design: their results would be taken for those of this one."""
    pairs = {
        "system": (runs.system, design.system),
        "seed": (runs.seed, design.seed),
        "factors": (runs.factors, design.factors),
        "parameters": (runs.parameters, design.parameters),
        "blocks": (runs.common_random_numbers, design.blocks),
    }
    for key, (recorded, wanted) in pairs.items():
        if recorded != wanted:
            raise InputError(
                f"{runs.path}: was made with {key} = {recorded}, and {design.name} has {wanted}; "
                "continue it with its own design, or choose another folder with --runs"
            )


def run(
    design: Design,
    runs: Runs,
    *,
    threads: int | None = None,
    limits: Limits = LIMITS,
    progress: Callable[[Progress], object] | None = None,
    simulate: Simulate = simulated.simulate,
    pool: Pool | None = None,
) -> None:
    """Simulate the missing replications of each cell up to `design.replications`, several cells at a time.

    A cell appears, or its replications are added, once its log is complete: an interrupted one is simulated
    again. Results do not depend on threads, machines, interruptions, or the order in which cells end.
    The limits hold for the replications of each cell that are simulated at one time.

    Parameters
    ----------
    design : Design
    runs : Runs
        Folder of the cells, as `prepare` returns it.
    threads : int, optional
        Of this machine; by default one per core, which is also the most.
    limits : Limits, optional
        What the replications of a cell may cost; by default, ``LIMITS``.
    progress : callable, optional
        Called with the progress at the start, at the end, and ten times a second between.
    simulate : callable
        Function that makes the replications of a cell.
    pool : Pool, optional
        Where cells are simulated, such as a `thinktime.tasks.cluster.Cluster`; by default, threads here.

    Raises
    ------
    InputError
        A cell cannot be simulated.
    WorkError
        A conservation law does not hold, or the work was interrupted.
    """
    cores = min(threads or sys.maxsize, os.cpu_count() or 1)
    work = _Work(design, simulate, limits)
    missing = work.count(runs.cells)
    work.threads = max(1, cores // max(1, len(missing)))

    def look() -> None:
        if progress is not None:
            progress(work.progress())

    with Threads(min(cores, max(1, len(missing)))) if pool is None else nullcontext(pool) as chosen:
        try:
            look()
            if chosen.is_here:
                chosen.run(work.cell, missing, look=look, stop=work.stopping.set)
            else:
                chosen.run(_elsewhere, work.orders(missing), kept=work.received, look=look)
        except KeyboardInterrupt:
            raise InterruptedWorkError(f"interrupted; {work.kept_in_words()}") from None
        except PoolError as error:
            raise PoolError(f"{error}; {work.kept_in_words()}") from None
    look()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ordered:
    """A cell that is simulated elsewhere."""

    cell: Cell
    order: Order


def _elsewhere(ordered: _Ordered) -> dict[str, bytes]:
    """Files of the log of a cell, made on a worker."""
    with _named_in_errors(ordered.cell):
        return remote.logged(ordered.order)


@contextmanager
def _named_in_errors(cell: Cell) -> Iterator[None]:
    try:
        yield
    except (InputError, WorkError) as error:
        raise type(error)(f"cell {named(cell.levels)}: {error}") from None


class _StoppedError(Exception):
    """Another cell has failed, or the user has interrupted the work."""


class _Work:
    """State shared by the threads."""

    def __init__(self, design: Design, simulate: Simulate, limits: Limits) -> None:
        self.design = design
        self.limits = limits
        self.threads = 1
        self.simulate = simulate
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._under_way: dict[Path, int] = {}
        self._done: set[Path] = set()
        self._cells = self._cells_done = self._replications_done = 0

    def count(self, cells: Sequence[Cell]) -> list[Cell]:
        """Cells that lack replications; counts the finished ones first."""
        for cell in cells:
            _recover(cell)
        wanted = self.design.replications
        held = [min(_held(cell), wanted) for cell in cells]
        missing = [cell for cell, count in zip(cells, held, strict=True) if count < wanted]
        self._cells, self._cells_done = len(cells), len(cells) - len(missing)
        self._replications_done = sum(held)
        return missing

    def progress(self) -> Progress:
        """Progress of all cells."""
        with self._lock:
            done = self._replications_done + sum(self._under_way.values())
            return Progress(
                cells=self._cells,
                cells_done=self._cells_done,
                replications=self._cells * self.design.replications,
                replications_done=done,
            )

    def kept_in_words(self) -> str:
        """What the user has of work that ended early, and how to go on."""
        done = self.progress()
        return f"{done.cells_done} of {done.cells} cells are kept; --resume continues"

    def cell(self, cell: Cell) -> None:
        """Simulate the missing replications of one cell here, and move its log into place."""
        if self.stopping.is_set():
            return
        first, parameters = self._wanted(cell)
        try:
            with _named_in_errors(cell):
                made = self.simulate(
                    self.design.system,
                    parameters,
                    seed=_seed(self.design, cell.levels),
                    replications=self.design.replications - first,
                    first_replication=first,
                    threads=self.threads,
                    limits=self.limits,
                    progress=partial(self._progressed, cell),
                )
                self._record(cell, made, first)
        except _StoppedError:
            return

    def _wanted(self, cell: Cell) -> tuple[int, dict[str, Any]]:
        """Number of the first replication that a cell lacks, and its parameters."""
        first = _held(cell)
        parameters = self.design.parameters_of(cell.levels)
        if first and parameters.get("warm_up") == "mser5":
            # The warm-up that was found before holds for what is added: all are cut alike.
            parameters["warm_up"] = cell.replications()[0].warm_up_s
        return first, parameters

    def _progressed(self, cell: Cell, done: int) -> None:
        """Record the progress of a cell; raises if it is to stop."""
        if self.stopping.is_set():
            raise _StoppedError
        with self._lock:
            self._under_way[cell.path] = done

    def _record(self, cell: Cell, made: Replications, first: int) -> None:
        """Write the log next to its place, then move it there, so that a kill leaves no incomplete cell."""
        draft = _new_draft(cell)
        if first:
            shutil.copytree(cell.path, draft)
        made.record(
            draft,
            trace=self.design.trace,
            mode="resume" if first else "create",
            progress=lambda _: self._progressed(cell, self.design.replications - first),
        )
        _put(cell)
        self._count_done(cell, first)

    def orders(self, cells: Sequence[Cell]) -> Iterator[_Ordered]:
        """What is to be simulated elsewhere, each made when it is asked for: it holds the log so far."""
        for cell in cells:
            first, parameters = self._wanted(cell)
            order = Order(
                system=self.design.system,
                parameters=remote.sendable(self.design.system, parameters),
                seed=_seed(self.design, cell.levels),
                first=first,
                replications=self.design.replications - first,
                limits=self.limits,
                trace=self.design.trace,
                held=packed(cell.path) if first else {},
                simulate=self.simulate,
            )
            yield _Ordered(cell=cell, order=order)

    def received(self, ordered: _Ordered, files: object) -> None:
        """Put the log that a worker sent into its place; may be called again if it was interrupted."""
        cell = ordered.cell
        if _held(cell) < self.design.replications:
            _recover(cell)
            with _named_in_errors(cell):
                remote.received(files, _new_draft(cell), ordered.order)
            _put(cell)
        _recover(cell)
        if cell.path not in self._done:
            self._count_done(cell, ordered.order.first)

    def _count_done(self, cell: Cell, first: int) -> None:
        with self._lock:
            self._done.add(cell.path)
            self._under_way.pop(cell.path, None)
            self._replications_done += self.design.replications - first
            self._cells_done += 1


def _new_draft(cell: Cell) -> Path:
    """Path next to the place of a log, at which there is nothing."""
    draft = _sibling(cell, UNFINISHED)
    if draft.exists():
        shutil.rmtree(draft)
    draft.parent.mkdir(parents=True, exist_ok=True)
    return draft


def _put(cell: Cell) -> None:
    """Move a complete draft into its place."""
    draft, old = _sibling(cell, UNFINISHED), _sibling(cell, REPLACED)
    if cell.path.exists():
        cell.path.rename(old)
    draft.rename(cell.path)
    if old.exists():
        shutil.rmtree(old)


def _held(cell: Cell) -> int:
    """Number of consecutive replications, from the first, in the cell's log; 0 if it is incomplete."""
    if not cell.exists:
        return 0
    sessions = facts.sessions(cell.log())
    numbers = [session.replication_number for session in sessions if session.is_replication]
    whole = len(numbers) == len(sessions) and sorted(numbers) == list(range(len(numbers)))
    return len(numbers) if whole else 0


def _recover(cell: Cell) -> None:
    """Clean up after a kill: restore the log that was to be replaced, and remove drafts."""
    draft, old = _sibling(cell, UNFINISHED), _sibling(cell, REPLACED)
    if old.exists() and not cell.path.exists():
        old.rename(cell.path)
    for left in (draft, old):
        if left.exists():
            shutil.rmtree(left)


def _sibling(cell: Cell, ending: str) -> Path:
    return cell.path.with_name(cell.path.name + ending)


def _seed(design: Design, levels: Mapping[str, Level]) -> int:
    """Seed of a cell: that of the design, or without blocks a separate one, from design and levels."""
    if design.blocks:
        return design.seed
    address = json.dumps([design.seed, sorted(levels.items())]).encode()
    return int.from_bytes(hashlib.blake2b(address, digest_size=7).digest(), "big")
