"""Machine that swaps whole processes on the disk controller that also serves their files.

Source: Brachman, *A Model of the UNIX Time-sharing System under Disk Saturation*, M.Sc. thesis,
University of British Columbia (1983). Its symbols: NL processes loaded of PN, each of PS clicks, in MM clicks
of memory; PC the mean compute burst; Tblock and Tswap the mean times of a file request and of one swap,
without queueing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from thinktime.errors import InputError
from thinktime.models.prediction import Quantity, at_least_zero, count, positive
from thinktime.models.uncertain import Known, Share, ends, point
from thinktime.stats import arguments
from thinktime.stats.estimate import Estimate

SOURCE = "Brachman, A Model of the UNIX Time-sharing System under Disk Saturation (UBC, 1983)"
CLICK_BYTES = 64
"""Unit of memory of the PDP-11 [byte]."""
BLOCK_BYTES = 512
"""Block of Sixth Edition UNIX and sector of its disks [byte]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One of two machines that are compared, and its load. Prefer measured values.

    An `Estimate` as a measured value carries its interval into the prediction.

    Raises
    ------
    InputError
        A number out of range, a process larger than memory, or nothing from which the number loaded follows.
    TypeError
        A field is of the wrong kind.
    """

    block_time_s: Known
    """Mean access and transfer time of one file request, without queueing: Tblock."""
    swap_time_s: Known
    """Mean time of one swap, one way, without queueing: Tswap; 0 for a machine that does not swap."""
    loaded: Known | None = None
    """Mean number of processes in memory, NL; by default it follows from memory, size and processes."""
    memory: int | None = None
    """Memory for users, in clicks or in any other unit, the same as for the size: MM."""
    size: float | Sequence[float] | None = None
    """Size of a process, or several sizes, assigned to the processes in turn: PS."""
    processes: int | None = None
    """Active processes, in memory or not: PN."""
    burst_s: Known | None = None
    """Mean compute burst: PC."""
    queue_length: Known | None = None
    """Measured mean number of requests at the controller, including the one in service."""
    utilisation: Share | None = None
    """Fraction of the time that the controller is busy."""
    think_s: Known | None = None
    """Mean think time between interactions."""
    service_s: Known | None = None
    """Mean time of an interaction alone on the machine, without any waiting; gives the stretch factor."""
    elapsed_s: Known | None = None
    """Elapsed time of the whole load; that of B follows from that of A."""
    interactions: int | None = None
    """Interactions of all processes in that time, C; they give throughput and response."""
    blocks: Known | None = None
    """File requests that reached the disk in that time; they give the swaps."""
    interactive: bool | None = None
    """Whether the load is interactive.

    None if unknown, as for the three below."""
    equal_demands: bool | None = None
    """Whether all processes need the same CPU time."""
    single_controller: bool | None = None
    """Whether there is a single disk controller."""
    one_swap_at_a_time: bool | None = None
    """Whether at most one swap is requested of the disk at any time."""

    def __post_init__(self) -> None:
        """Check every field."""
        for name in ("block_time_s", "elapsed_s", "queue_length", "service_s"):
            if (known := getattr(self, name)) is not None:
                positive(name, known)
        for name in ("block_time_s", "loaded"):
            low = ends(known)[0] if isinstance(known := getattr(self, name), Estimate) else 1.0
            if not low > 0.0:
                raise InputError(f"{name} has an interval from {low:g}; measure until it begins above 0")
        for name in ("swap_time_s", "burst_s", "think_s", "blocks"):
            if (known := getattr(self, name)) is not None:
                at_least_zero(name, known)
        for name in ("memory", "processes", "interactions"):
            if (total := getattr(self, name)) is not None:
                count(name, total)
        if self.utilisation is not None and not 0.0 <= point(self.utilisation) <= 1.0:
            raise InputError(f"utilisation is {point(self.utilisation):g}; give a part of the time, 0 to 1")
        self._check_loaded()

    def _check_loaded(self) -> None:
        number = point(self.number_loaded)
        if not 1.0 <= number < math.inf:
            raise InputError(f"loaded is {number:g}; give 1 or more")
        if self.processes is not None and number > self.processes:
            raise InputError(
                f"loaded is {number:g}, but there are {self.processes} processes; give at most that number"
            )

    @property
    def number_loaded(self) -> Known:
        """Mean number of processes in memory, as given or as it follows from the sizes: NL."""
        if self.loaded is not None:
            return self.loaded
        if self.memory is None or self.size is None:
            raise InputError("loaded is not given; give it, or memory and size, from which it follows")
        return loaded_processes(self.memory, self.size, self.processes)

    def known(self) -> tuple[Known | None, ...]:
        """All fields that may have intervals."""
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(value for value in values if isinstance(value, Estimate))


def mean_size(size: float | Sequence[float], processes: int | None = None) -> float:
    """Mean size of processes that get the given sizes in turn.

    Raises
    ------
    InputError
        There is no size, or one that is not above 0.
    TypeError
        An argument is of the wrong kind.
    """
    dealt = [size] if isinstance(size, (int, float)) else arguments.sequence(size, "size", "a size or a list")
    if not dealt:
        raise InputError("size is an empty list; give at least one size")
    sizes = [positive("size", item) for item in dealt]
    number = len(sizes) if processes is None else count("processes", processes)
    rounds, rest = divmod(number, len(sizes))
    return (rounds * math.fsum(sizes) + math.fsum(sizes[:rest])) / number


def loaded_processes(memory: int, size: float | Sequence[float], processes: int | None = None) -> int:
    r"""Number of processes that fit into memory: :math:`NL = \min(PN, \lfloor MM / PS \rfloor)`.

    The thesis prints the brackets of the ceiling; all its rows need the floor. Of unequal sizes, PS is the
    mean. Fragmentation is ignored.

    Parameters
    ----------
    memory : int
        MM, in the unit of `size`.
    size : float or sequence of float
        PS, or the sizes dealt to the processes in turn.
    processes : int, optional
        PN.

    Raises
    ------
    InputError
        A process is larger than memory, or a number is not above 0.
    TypeError
        An argument is of the wrong kind.
    """
    mean = mean_size(size, processes)
    largest = size if isinstance(size, (int, float)) else max(size)
    if largest > count("memory", memory):
        raise InputError(
            f"size is {largest:g}, and memory {memory}: no such process can ever be loaded; give more memory "
            "or smaller processes"
        )
    fitting = math.floor(memory / mean)
    return fitting if processes is None else min(processes, fitting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """Disk drive by its data sheet, from which Tblock and Tswap are calculated."""

    access_s: float
    """Mean seek and latency."""
    transfer_s_per_byte: float
    """Mean time to transfer a byte."""
    track_to_track_s: float
    """Seek from one cylinder to the next."""
    cylinder_blocks: int
    """Blocks of 512 bytes that are read without a seek."""

    def __post_init__(self) -> None:
        """Check every field."""
        at_least_zero("access_s", self.access_s)
        positive("transfer_s_per_byte", self.transfer_s_per_byte)
        at_least_zero("track_to_track_s", self.track_to_track_s)
        count("cylinder_blocks", self.cylinder_blocks)

    def block_time_s(self) -> float:
        """Time of access and transfer of one block: Table V, calculated [s]."""
        return self.access_s + BLOCK_BYTES * self.transfer_s_per_byte

    def swap_time_s(self, size_clicks: int) -> Quantity:
        r"""Time of access and transfer of a process, from its best to its worst place on disk.

        .. math:: T_{swap} = t_{access} + 64\, PS\, t_{byte} + k\, t_{track}

        with the fewest and the most boundaries between cylinders k that PS clicks on the swap device can
        cross (Table IV, calculated). The value is the middle of the two.

        Raises
        ------
        InputError
            `size_clicks` is not a whole number above 0.
        """
        in_bytes = count("size_clicks", size_clicks) * CLICK_BYTES
        blocks = math.ceil(in_bytes / BLOCK_BYTES)
        fewest = math.ceil(blocks / self.cylinder_blocks) - 1
        most = math.ceil((blocks - 1) / self.cylinder_blocks)
        straight = self.access_s + in_bytes * self.transfer_s_per_byte
        low, high = straight + fewest * self.track_to_track_s, straight + most * self.track_to_track_s
        return Quantity("swap_time_s", (low + high) / 2.0, "s", low=low, high=high)
