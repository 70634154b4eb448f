"""`thinktime study this-machine`: the figures of 1969 for this machine, in one command."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thinktime.cli import destination, messages
from thinktime.errors import InputError, InterruptedWorkError, WorkError
from thinktime.quantity import parse_seconds

if TYPE_CHECKING:
    from thinktime.sources.terminals import Interruption
    from thinktime.studies.this_machine.design import Design, Wanted
    from thinktime.studies.this_machine.plays import OnStage

FOLDER = Path("this-machine")
"""Folder of the logs, unless another is named."""
AN_HOUR_BYTES = 80e6
"""Size of the logs of an hour, about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Options as they were given."""

    duration: str | None
    quick: bool
    users: str | None
    logs: Path | None
    resume: Path | None
    seed: int

    accept_driver_load: bool

    def folder(self) -> Path:
        """Folder of the logs.

        Raises
        ------
        InputError
            An option is given that was decided when the study was begun, or the folder is there already.
        """
        if self.resume is not None:
            decided = {
                "--duration": self.duration,
                "--quick": self.quick,
                "--users": self.users,
                "--logs": self.logs,
                "--seed": self.seed != 1,
                "--accept-driver-load": self.accept_driver_load,
            }
            for option, value in decided.items():
                if value:
                    raise InputError(
                        f"{option}: was decided when {self.resume} was begun; omit it with --resume"
                    )
            return self.resume
        folder = FOLDER if self.logs is None else self.logs
        if folder.exists():
            raise InputError(
                f"{folder}: already exists; go on with it by --resume {folder}, or choose another folder "
                "with --logs"
            )
        return folder

    def wanted(self) -> Wanted:
        """What is asked of a new study.

        Raises
        ------
        InputError
            An option is wrong, or two contradict each other.
        """
        from thinktime.studies.this_machine.design import DURATION_S, QUICK_S, Wanted, listed

        if self.quick and self.duration is not None:
            raise InputError("--quick --duration: each says how long the study takes; give one")
        seconds = QUICK_S if self.quick else DURATION_S
        if self.duration is not None:
            seconds = parse_seconds(self.duration, "--duration")
        return Wanted(
            seconds=seconds,
            users=() if self.users is None else listed(self.users),
            seed=self.seed,
            accept_driver_load=self.accept_driver_load,
        )


def study(asked: Asked, output: Path | None, form: destination.Form | None, force: bool) -> None:
    """Play what is not played yet, and write the page; exit status 1 where nothing follows from the plays."""
    from thinktime.studies.this_machine.design import Design
    from thinktime.studies.this_machine.plays import check

    chosen = form or destination.form_of(output)
    destination.check(output, force, chosen)
    folder = asked.folder()
    design = None if asked.resume is None else Design.read(folder)
    wanted = asked.wanted() if design is None else None
    if wanted is not None:
        check(wanted)
        _announce(wanted, folder)
    design = _played(folder, design, wanted)
    try:
        text, is_answer = _page(folder, design, chosen, destination.width(output))
    except KeyboardInterrupt:
        raise InterruptedWorkError(
            f"interrupted; {folder} holds all plays; `thinktime study this-machine --resume {folder}` makes "
            "the page"
        ) from None
    destination.write(output, text)
    if not is_answer:
        raise SystemExit(1)


def _announce(wanted: Wanted, folder: Path) -> None:
    """Say what will be used, before anything starts."""
    from thinktime.documents.format import duration
    from thinktime.studies.this_machine.design import SCRIPT
    from thinktime.studies.this_machine.plays import cpus

    size = f"{max(AN_HOUR_BYTES * wanted.seconds / 3.6e9, 1.0):.0f} MB"
    messages.note(
        f"this takes about {duration(wanted.seconds)} and saturates all CPUs that may be used ({cpus()}): "
        f"users type {SCRIPT} to shells in new homes below {tempfile.gettempdir()}, which are removed; the "
        f"logs take about {size} in {folder}; Ctrl-C keeps the plays that are complete"
    )


def _played(folder: Path, design: Design | None, wanted: Wanted | None) -> Design:
    """Design of a study all of whose plays are in `folder`."""
    from thinktime.sources.terminals import Interruption, Terminals
    from thinktime.studies.this_machine import plays

    if design is not None and len(plays.complete(folder, design)) == len(design.plays):
        return design
    with Terminals() as terminals, Interruption() as interruption:
        on_stage = _stages(interruption)
        try:
            if design is None:
                assert wanted is not None
                design = plays.begin(folder, wanted, terminals, on_stage, messages.note)
                _tell(design)
            plays.carry_out(folder, design, terminals, on_stage, messages.note)
        except WorkError as error:
            if design is None:
                if interruption.requested:
                    raise InterruptedWorkError(
                        "interrupted; nothing is kept; the same command begins again", interruption.status
                    ) from None
                raise
            done = f"{folder} holds {len(plays.complete(folder, design))} of {len(design.plays)} plays"
            again = f"`thinktime study this-machine --resume {folder}` goes on"
            if interruption.requested:
                raise InterruptedWorkError(f"interrupted; {done}; {again}", interruption.status) from None
            raise WorkError(f"{error}; {done}; {again}") from None
    return design


def _stages(interruption: Interruption) -> OnStage:
    from thinktime.cli.progress import StageProgress

    def stage(words: str, before_s: float, total_s: float) -> StageProgress:
        return StageProgress(words, interruption, before_s=before_s, total_s=total_s)

    return stage


def _tell(design: Design) -> None:
    """Say what was decided by what was measured."""
    from thinktime.documents.format import duration, quantity
    from thinktime.documents.wording import listed

    numbers = listed([str(number) for number in design.users])
    messages.note(
        f"an interaction takes {quantity(design.service_s, 's')} of CPU time: {numbers} users who think "
        f"{quantity(design.think_s, 's')} before each line, in random order, "
        f"{duration(design.ramp_s + design.settled_s)} each; the first again at the end"
    )


def _page(folder: Path, design: Design, form: destination.Form, width: int) -> tuple[str, bool]:
    """Text of the page, and whether it is an answer."""
    from thinktime.documents.render import render
    from thinktime.stats.estimate import NotApplicable
    from thinktime.studies.this_machine import page, plays
    from thinktime.studies.this_machine.analysis import analyse

    found = analyse(folder, design, plays.complete(folder, design))
    if isinstance(found, NotApplicable):
        return render(page.not_applicable(found), form, width), False
    return render(page.document(found), form, width), True
