"""What a reader of disk statistics must know before relying on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thinktime.analyses.disks.data import Watched
from thinktime.analyses.disks.drives import ALL_DISKS, Device
from thinktime.analyses.disks.result import Compared, Iostat
from thinktime.analyses.disks.states import Ticks
from thinktime.stats.estimate import NotApplicable

__all__ = ["caveats"]

FEW_INTERVALS = 16


def caveats(result: Iostat, watched: Watched, devices: Sequence[Device], seen: Ticks) -> tuple[str, ...]:
    """List them: what was damaged, what sampling missed, what a kernel does not say."""
    return (*_damage(watched, devices, seen), *_missed(result), *_kernel(result, devices))


def _damage(watched: Watched, devices: Sequence[Device], seen: Ticks) -> list[str]:
    """List what was left out because it cannot be."""
    found = []
    if watched.dropped:
        found.append(f"{watched.dropped} rows without a positive length are left out.")
    if watched.negative:
        found.append(f"{watched.negative} counts below zero are left out: no counter can be that.")
    if seen.contradictory:
        found.append(
            f"In {seen.contradictory} of {len(watched)} intervals the states found do not add up to the "
            "clock ticks: these are left out of what was sampled."
        )
    found += [
        f"In {device.overfull} of {len(watched)} intervals {device.name} was busy for longer than they "
        "lasted: its busy time is left out there."
        for device in devices
        if device.overfull
    ]
    if len(watched) < FEW_INTERVALS and not watched.is_replicated:
        found.append(
            f"There are only {len(watched)} intervals: too few for batches, so the intervals of "
            "confidence take them as independent, which they are not, and are too narrow."
        )
    return found


def _missed(result: Iostat) -> list[str]:
    """List what sampling missed."""
    queues = () if isinstance(result.queues, NotApplicable) else result.queues
    named: list[tuple[str, Compared]] = [
        (f"mean queue ({queue.place})", queue.mean) for queue in queues if not queue.is_lower_bound
    ]
    if not isinstance(result.drives, NotApplicable):
        named += [(f"utilisation of {drive.name}", drive.utilisation) for drive in result.drives]
    if not isinstance(result.cpu, NotApplicable):
        named += [(f"CPU time, {state.name}", state.share) for state in result.cpu.states]
    off = [
        f"{name} ({both.difference.value:+.2g})" for name, both in named if both.differs and both.difference
    ]
    found = []
    if off:
        found.append(
            f"Sampled and exact figures differ by more than chance: {', '.join(off)}. Something runs in "
            "step with the sampling; rely on the exact figures, and doubt those that were only sampled."
        )
    found += [
        f"Queues of {len(queue.distribution) - 1} and more were counted together: the sampled mean at "
        f"{queue.place} is a lower bound."
        for queue in queues
        if queue.is_lower_bound
    ]
    return found


def _kernel(result: Iostat, devices: Sequence[Device]) -> list[str]:
    """List what the counters of a real kernel do not say."""
    found = []
    if not isinstance(result.cpu, NotApplicable) and result.cpu.is_hint and result.cpu.waiting is not None:
        found.append(
            "CPU time waiting for disks is the kernel's iowait: a hint, which shrinks when other work fills "
            "the CPU and does not follow a task to another CPU."
        )
    whole = [device for device in devices if device.number is None and device.name != ALL_DISKS]
    if any(np.isfinite(device.get("busy_s")).any() for device in whole):
        found.append(
            "A device that serves several requests at once is busy long before it is full: its utilisation "
            "is no limit, and its mean service is less than a request takes."
        )
    if any(device.name == ALL_DISKS for device in devices):
        found.append("The log does not tell disks apart: their busy times are added up.")
    return found
