"""Words for what was varied and what was measured, and for how two levels compare."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from thinktime.documents import format as shown
from thinktime.documents.wording import listed
from thinktime.stats.designs.factorial import Level

Better = Literal["less", "more", ""]
"""Direction in which a response is better; empty where neither is."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A factor with numbers as levels."""

    noun: str
    unit: str = ""
    counted: str = ""
    """Noun of one item, where levels count something: ``user``."""
    article: str = "a"
    """Article before the noun and its number; empty for a mass: memory of 650 clicks."""


FACTORS: dict[str, Quantity] = {
    "users": Quantity("number of users", counted="user"),
    "normal_users": Quantity("number of other users", counted="other user"),
    "processes": Quantity("number of processes", counted="process"),
    "cpus": Quantity("number of processors", counted="processor"),
    "servers": Quantity("number of servers", counted="server"),
    "regions": Quantity("number of regions of memory", counted="region"),
    "core_boxes": Quantity("number of core boxes", counted="core box"),
    "drives": Quantity("number of drives", counted="drive"),
    "buffers": Quantity("number of buffers", counted="buffer"),
    "levels": Quantity("number of levels", counted="level"),
    "interactions": Quantity("number of interactions", counted="interaction"),
    "core": Quantity("core memory", "Kwords", article=""),
    "memory": Quantity("memory", "clicks of 64 bytes", article=""),
    "size": Quantity("process size", "clicks of 64 bytes"),
    "time_slice": Quantity("time slice", "s"),
    "quantum": Quantity("quantum", "s"),
    "think": Quantity("think time", "s"),
    "insertion_time": Quantity("insertion time", "s", article="an"),
    "max_eligible": Quantity("limit of eligible processes", counted="eligible process"),
    "pc": Quantity("compute loop", "ms"),
}
"""By the last part of the parameter's name; others are named by their own words."""
LEVELS = {
    "fcfs": "first come, first served",
    "processor_sharing": "processor sharing",
    "round_robin": "round robin",
    "least_attained": "least attained service first",
    "fb2": "FB2",
    "fb_infinity": "FB-infinity",
    "mlf": "multi-level feedback",
    "srpt": "shortest remaining processing time",
    "sstf": "shortest seek first",
    "look": "LOOK",
    "unix6": "the swapper of Sixth Edition UNIX",
    "balanced": "the balancing swapper",
    "modified": "the modified algorithm",
    "original": "the original algorithm",
}
"""Words for levels that are names."""
SYSTEMS = {
    "apl360": "APL/360",
    "cp67": "CP-67",
    "ctss": "CTSS",
    "multics": "Multics",
    "network": "a queueing network",
    "timesharing": "recorded users on shared CPUs",
    "unix6": "Sixth Edition UNIX",
}
RESPONSES = {
    "mean_response_s": "mean response time",
    "mean_reaction_s": "mean reaction time",
    "max_reaction_s": "largest reaction time",
    "elapsed_s": "elapsed time",
    "response_light_mean_s": "mean response time of light commands",
    "response_heavy_mean_s": "mean response time of heavy commands",
    "page_fault_between_s": "mean time between page faults",
    "swap_in_wait_max_s": "longest wait for a swap-in",
    "useful_share": "share of useful work",
    "interactions_per_s": "throughput, in interactions",
    "throughput_per_s": "throughput",
    "inputs_serviced": "number of inputs serviced",
    "queued_workspaces": "number of queued workspaces",
    "swaps": "number of swaps",
    "queue_length": "mean queue at the controller",
    "controller_utilisation": "utilisation of the controller",
}
LESS = re.compile(r"response|reaction|elapsed|wait|swaps$|queue|fault_s|overhead")
MORE = re.compile(r"throughput|interactions_per_s|serviced|useful|_between_s$|completed")
ANSWERS = frozenset({"mean_response_s", "response_light_mean_s", "response_mean_s"})
"""Responses of which one says that a system answers sooner."""


def system(name: str) -> str:
    """A simulated system in a sentence."""
    return SYSTEMS.get(name, name)


def response(name: str) -> str:
    """What was measured: the mean response time."""
    if name in RESPONSES:
        return RESPONSES[name]
    if quantile := re.fullmatch(r"p(\d+)_(\w+)_s", name):
        time = (
            f"{plain(quantile[2])} time"
            if quantile[2].endswith(("response", "reaction"))
            else plain(quantile[2])
        )
        return f"{quantile[1]}th percentile of the {time}"
    return plain(re.sub(r"_(s|per_s)$", "", name))


def plain(name: str) -> str:
    """Identifier as words."""
    return name.replace("_", " ").strip()


def better(name: str) -> Better:
    """Direction in which a response is better."""
    if MORE.search(name):
        return "more"
    return "less" if LESS.search(name) else ""


def factor(name: str) -> str:
    """What was varied: the discipline of the processor."""
    *places, last = name.split(".")
    noun = FACTORS[last].noun if last in FACTORS else plain(last)
    return f"{noun} of the {plain(places[-1])}" if places else noun


def level(name: str, value: Level) -> str:
    """A level of a factor: processor sharing, 20 users, time slice 0.1 s, with overlapped seeks."""
    last = name.rpartition(".")[2]
    if isinstance(value, bool):
        return f"{'with' if value else 'without'} {factor(name)}"
    if isinstance(value, str):
        return LEVELS.get(value, plain(value))
    quantity = FACTORS.get(last, Quantity(plain(last)))
    if quantity.counted:
        return (
            shown.count(int(value), quantity.counted)
            if float(value).is_integer()
            else (f"{value:g} {shown.plural(quantity.counted)}")
        )
    return f"{quantity.noun} {value:g}{f' {quantity.unit}' if quantity.unit else ''}"


def given(name: str, value: Level) -> str:
    """A level as the circumstance of a sentence: with 20 users, without overlapped seeks."""
    words = level(name, value)
    if isinstance(value, bool):
        return words
    quantity = FACTORS.get(name.rpartition(".")[2])
    if quantity is None or isinstance(value, str) or quantity.counted:
        return f"with {words}"
    of = words.replace(quantity.noun, f"{quantity.noun} of", 1)
    return f"with {quantity.article}{' ' if quantity.article else ''}{of}"


def together(items: Iterable[tuple[str, Level]]) -> str:
    """Several levels as the circumstance of a sentence: with 20 users and processor sharing."""
    phrases = [given(*item) for item in items]
    first, *others = phrases
    if first.startswith("with "):
        others = [phrase.removeprefix("with ") for phrase in others]
    return listed([first, *others])


def levels(items: Iterable[tuple[str, Level]]) -> str:
    """A combination of levels: 30 users, processor sharing."""
    return ", ".join(level(name, value) for name, value in items)
