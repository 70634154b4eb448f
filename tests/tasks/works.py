"""Work for tests, which workers import by name."""

import os
import signal
import time
from pathlib import Path

from thinktime.sources import simulated


def dying(system, parameters, *, marker, **options):
    """Replications of a system; the first process that gets here is killed, as by the kernel."""
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        pass
    else:
        os.kill(os.getpid(), signal.SIGKILL)
    return simulated.simulate(system, parameters, **options)


def slow(system, parameters, *, delay_s, **options):
    """Replications of a system, after a delay: a cell that can be interrupted."""
    time.sleep(delay_s)
    return simulated.simulate(system, parameters, **options)


def square(number):
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number**2


def lazy_square(number):
    time.sleep(0.01)
    return number**2
