"""The one palette: which colour stands for what, in every figure of every page.

A colour is the name of a meaning and becomes the CSS variable of that name (`--c-user`), so that one drawing
serves the light, the dark and the printed page. Figures take the colours of states from here: a state that
were blue in one figure and grey in the next could not be followed down a page. Names without an entry (logs,
classes, levels of a factor) have no colour of their own, and a legend in each figure.
"""

from __future__ import annotations

from collections.abc import Mapping

from thinktime.documents.document import Key, Shape

STATES: Mapping[str, str] = {
    # States of a processor.
    "user": "user",
    "user programs": "user",
    "user programs at a raised nice value": "nice",
    "useful": "user",
    "useful, simulated": "user",
    "system": "system",
    "interrupts": "interrupt",
    "taken by the hypervisor": "steal",
    "idle": "idle",
    "idle, simulated": "idle",
    "idle, a disk pending": "iowait",
    # What a user waits for.
    "wait for a CPU": "queue",
    "wait for I/O": "disk",
    "other uninterruptible wait": "steal",
    "rest": "other",
    "not divided": "plain",
    # What limits a machine.
    "limited by the CPU": "user",
    "limited by a disk": "disk",
    "limited by the drum": "disk",
    "limited by memory": "memory",
    "limited by neither": "plain",
    "nothing exhausted": "plain",
    "limit not measured": "plain",
}
"""Colour of each state that a figure may show, by its name in legends."""


def state(name: str, shape: Shape = "square") -> Key:
    """Key of a state, in its colour.

    Raises
    ------
    KeyError
        `STATES` has no such state.
    """
    return Key(name, colour=STATES[name], shape=shape)
