"""Input of the model of demand paging: a machine and its load."""

from __future__ import annotations

import math
from dataclasses import dataclass

from thinktime.errors import InputError
from thinktime.models.paging.lockout import KINDS, LOCKS, Locking
from thinktime.models.paging.multiprogramming import Hardware
from thinktime.models.paging.stays import Program
from thinktime.models.prediction import at_least_zero, count, positive
from thinktime.stats import arguments

BOX_KWORDS = 128.0
"""Size of a box of core [Kwords]; the more boxes, the less often two processors meet in one."""
DISK = ("disk_access_s", "disk_variation")
LOCK_SHARES = ("segment_lock_share", "traffic_lock_share")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """Machine with demand paging, and its load. Times in seconds, core in Kwords; a page has one Kword.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is of the wrong kind.
    """

    users: int
    """Users logged in."""
    think_s: float
    """Mean think time."""
    programs: tuple[Program, ...]
    """Demands of the interactions; shares add up to 1."""
    core: float
    """Size of core [Kwords]."""
    wired: float
    """Part of the core that the resident supervisor occupies [Kwords]."""
    headway_s: float
    """Lifetime function: useful time between page faults with 32 pages."""
    max_eligible: float
    """Largest number of eligible processes; a fraction is the probability of one more."""
    paths_s: tuple[float, ...]
    """Mean lengths of the paths of a page fault, getwork, a drum interrupt, another interrupt, a segment
    fault, a gate fault, without interference."""
    waited: float = 1.0
    """Fraction of the interactions whose user waits for the end; after the others the next think time begins
    at once."""
    exponent: float = 2.0
    """Power with which the useful time between page faults grows with the pages held."""
    segment_headway_s: float = math.inf
    """Useful time between segment faults with 8 active segments."""
    active_segments: float = 1000.0
    """Entries of the table of active segments."""
    gate_headway_s: float = math.inf
    """Useful time between gate faults."""
    kept: float = 1.0
    """Fraction of the pages of a process to which its next interaction refers too."""
    modified: float = 0.0
    """Fraction of the pages removed that are written to the drum."""
    quantum_s: float = math.inf
    """Processor time until a process ceases to be eligible for the first time; it doubles each time."""
    levels: int = 1
    """Number of different quanta."""
    examine_s: float = 0.0
    """Part of the path of a page fault for each frame that the hand of the clock examines."""
    path_variation: float = 1.0
    """Coefficient of variation of a path."""
    cpus: int = 1
    """Number of processors: 1 or 2."""
    interference: float = 0.0
    """Slowing of two active processors that always work in one box of core."""
    spin_interference: float = 0.0
    """Further slowing of one while the other spins."""
    locks: str = "by_data_base"
    """Locks on the tables of the supervisor: ``"none"``, ``"global"`` or ``"by_data_base"``."""
    segment_lock_share: float = 1.0
    """Part of a segment fault's path under the lock of page control."""
    traffic_lock_share: float = 0.0
    """Part of getwork's path under the lock of the traffic controller."""
    hold_through_getwork: bool = False
    """True if the lock of page control is held from a page fault until another process is chosen."""
    preempt: bool = True
    """True if a process that can run again preempts one of lower priority."""
    drum_rotation_s: float = 0.0333
    """Time of a revolution of the drum."""
    drum_sectors: int = 16
    """Number of pages of a revolution."""
    drum_in_order: bool = False
    """True if the drum serves in order of arrival."""
    disk_share: float = 0.0
    """Fraction of the pages read that come from a disk."""
    disk_arms: int = 4
    """Number of disk arms."""
    disk_access_s: float = 0.1
    """Mean time of an access to a disk."""
    disk_variation: float = 1.0
    """Coefficient of variation of these times."""

    def __post_init__(self) -> None:
        """Check every field."""
        for name in ("users", "levels", "drum_sectors", "disk_arms"):
            count(name, getattr(self, name))
        for name in ("think_s", "headway_s", "segment_headway_s", "gate_headway_s", "quantum_s"):
            value = getattr(self, name)
            if not (name.endswith(("headway_s", "quantum_s")) and value == math.inf):
                positive(name, value)
        for name in (
            "wired",
            "exponent",
            "examine_s",
            "interference",
            "spin_interference",
            "path_variation",
            *DISK,
        ):
            at_least_zero(name, getattr(self, name))
        for name in ("waited", "kept", "modified", "disk_share", *LOCK_SHARES):
            if not 0.0 <= at_least_zero(name, getattr(self, name)) <= 1.0:
                raise InputError(f"{name} is {getattr(self, name)}; give a fraction from 0 to 1")
        positive("drum_rotation_s", self.drum_rotation_s)
        arguments.records(self.programs, Program, "programs")
        self._check_choices()

    def _check_choices(self) -> None:
        if positive("core", self.core) - self.wired < 1.0:
            raise InputError(
                f"core is {self.core:g} Kwords, of which the resident supervisor takes {self.wired:g}: "
                "no page is left for processes; give more core"
            )
        if positive("max_eligible", self.max_eligible) < 1.0:
            raise InputError(f"max_eligible is {self.max_eligible}; give a finite number of at least 1")
        if self.cpus not in (1, 2):
            raise InputError(f"cpus is {self.cpus}; give 1 or 2")
        if self.locks not in LOCKS:
            raise InputError(f"locks is {self.locks!r}; give one of {', '.join(LOCKS)}")
        if len(self.paths_s) != len(KINDS):
            raise InputError(f"paths_s has {len(self.paths_s)} values; give {len(KINDS)}: {', '.join(KINDS)}")
        for kind, path_s in zip(KINDS, self.paths_s, strict=True):
            at_least_zero(f"path of a {kind.replace('_', ' ')}", path_s)
        if abs(math.fsum(program.share for program in self.programs) - 1.0) > 1e-6:
            raise InputError(
                "shares of the programs do not add up to 1; give each its fraction of the interactions"
            )

    @property
    def useful_s(self) -> float:
        """Mean useful time of an interaction [s]."""
        return math.fsum(program.share * program.useful_s for program in self.programs)

    @property
    def lines(self) -> float:
        """Mean lines of a reply."""
        return math.fsum(program.share * program.lines for program in self.programs)

    @property
    def hardware(self) -> Hardware:
        """Processors and devices."""
        return Hardware(
            cpus=self.cpus,
            locking=Locking(
                interference=self.interference / max(self.core / BOX_KWORDS, 1.0),
                spin_interference=self.spin_interference,
                locks=self.locks,
                segment_share=self.segment_lock_share,
                traffic_share=self.traffic_lock_share,
                through_getwork=self.hold_through_getwork,
                path_variation=self.path_variation,
            ),
            drum_rotation_s=self.drum_rotation_s,
            drum_sectors=self.drum_sectors,
            drum_in_order=self.drum_in_order,
            disk_share=self.disk_share,
            disk_arms=self.disk_arms,
            disk_access_s=self.disk_access_s,
            disk_variation=self.disk_variation,
            preempt=self.preempt,
        )
