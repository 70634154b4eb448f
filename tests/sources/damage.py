"""Damage of every kind to files that were sound, and the number of examples that properties are tried on."""

import os
import random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

NOISE = (
    b"NaN",
    b"-1",
    b"1e999",
    b"null",
    b"true",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b";",
    b"\n",
    b"\0",
    b"\xff\xfe",
)
NOISE += (
    b"99999999999999999999",
    b"18446744073709551615",
    b"9" * 5000,
    b"; ; ;",
    b"LINUX-RESTART",
    b"# uptime_cs; 1",
)
LAWS_OF_VALUES = {
    "cpu_time_adds_up",
    "cpu_time_fits",
    "cpus_add_up",
    "cpus_are_known",
    "free_within_total",
    "possible_amount",
}
"""A changed digit may break these: tools write no second copy of a value to compare it with."""
SEEDS = st.integers(min_value=0, max_value=2**32 - 1)
EFFORT = int(os.environ.get("FUZZ_EFFORT", "1"))
"""Factor of the examples of every property, for `make fuzz`. At 1 every run has the same examples."""


def effort(examples):
    """Settings of a property with so many examples in `make test`."""
    return settings(
        max_examples=examples * EFFORT,
        derandomize=EFFORT == 1,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def damaged(data, seed, longest=2000):
    """`data` with one to six changes: cut, flipped, lines lost or doubled, noise put in, numbers changed.

    A piece that is taken out has fewer than `longest` bytes.
    """
    rng = random.Random(seed)
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        if not data:
            break
        at = rng.randrange(len(data))
        change = rng.randrange(7)
        if change == 0:
            del data[at:]
        elif change == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif change == 2:
            del data[at : at + rng.randrange(1, longest)]
        elif change == 3:
            data[at:at] = rng.choice(NOISE)
        elif change == 4:
            piece = data[at : at + rng.randrange(1, 3000)]
            where = rng.randrange(len(data))
            data[where:where] = piece
        elif change == 5:
            digits = [k for k in range(at, min(at + 200, len(data))) if 48 <= data[k] <= 57]
            for k in digits[:5]:
                data[k] = rng.choice(b"0123456789")
        else:
            lines = bytes(data).split(b"\n")
            one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
            del lines[rng.randrange(len(lines))]
            data = bytearray(b"\n".join(lines))
    return bytes(data)
