"""Sections of a fleet: saturation, room for users, costs by model, outliers, and logs that say nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from thinktime.analyses.saturation.resources import Thresholds
from thinktime.analyses.saturation.section import named
from thinktime.documents import format as shown
from thinktime.documents.document import Col, Cols, Figure, Key, Section, Table
from thinktime.documents.heat import heat
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import capital, listed, noun, p_value, percent, share
from thinktime.fleets.answer import Fleet
from thinktime.fleets.machines import (
    BUSY_MOST,
    DAY,
    HOUR_FULL,
    HOUR_LEAST_S,
    MEMORY_MOST,
    Machine,
    Room,
    hour_of_day,
)
from thinktime.fleets.models import MACHINES_LEAST, Cost, Outlier
from thinktime.fleets.summary import BASE, FULL_LEAST, INTERACTION, Unusable
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import ALPHA
from thinktime.stats.outliers import MEMBERS_LEAST

HEAT_LINES = 40
"""Machines of the heat map: more are in the data, and a reader compares no more."""
NAMED_MAX = 3
"""Machines that a sentence names."""
MODELS_DRAWN = 8
COLOURS = ("user", "system", "memory", "queue", "net", "iowait", "steal", "regression")
ROOM_REASONS = {
    "saturated": "saturated in an hour or more",
    "busy": f"more than {percent(BUSY_MOST)} busy in the busiest hour",
    "short": "no hour was measured for long enough",
    "no_users": "active users were not counted",
    "few_users": "the number of active users hardly changes",
    "unrelated": "CPU use does not follow the number of active users",
}
KINDS = {"damaged": "damaged", "short": "too short", "no_cpu": "without CPU time", "units": "in other units"}
NOTES = {
    "backwards": "intervals overlap: the clock was set back, or two recorders wrote",
    "cpus": "the CPU time does not fit the number of CPUs: it has no part in costs",
    "apart": "recorded at another time than most: the clock may be wrong; not in the hours",
}


def names_of(items: Sequence[str]) -> str:
    """The first of several names, and how many more there are."""
    more = len(items) - NAMED_MAX
    return listed([*items[:NAMED_MAX], *([f"{more} more"] if more > 0 else [])])


def when(machine: Machine) -> str:
    """Hours of the day in which a machine was saturated: ``09:00 to 11:00``."""
    return hours_words([hour_of_day(start) for start in machine.saturated])


def hours_words(hours: Sequence[int]) -> str:
    """Hours of the day as ranges; those that adjoin are one."""
    left = sorted(set(hours))
    if len(left) == DAY:
        return "all day"
    ranges: list[list[int]] = []
    for hour in left:
        if ranges and ranges[-1][1] == hour:
            ranges[-1][1] = hour + 1
        else:
            ranges.append([hour, hour + 1])
    return ", ".join(f"{first:02}:00 to {last:02}:00" for first, last in ranges)


def saturation(fleet: Fleet, most: int | None) -> Section:
    """Which machines saturate, and when."""
    limits = Thresholds()
    return Section(
        name="saturation",
        title="Which machines saturate, and when?",
        summary=tuple(_saturation_sentences(fleet)),
        tables=(_machines(fleet, most), _hours(fleet)),
        figures=_heat(fleet, None if most is None else HEAT_LINES),
        caveats=("Saturation shorter than an interval of its log cannot be seen.",),
        method=(
            f"In an interval the CPU counts as exhausted below {percent(limits.idle_below)} idle (work at "
            f"low priority counts as idle), a disk above {percent(limits.disk_above)} busy, memory above "
            f"{percent(limits.stall_above)} of the time stalled while at most {percent(limits.memory_below)} "
            "of it is available. An hour counts as saturated if that holds "
            f"in {percent(HOUR_FULL)} of its intervals or more; hours of which less than a quarter was "
            "measured are not judged. Shares have Wilson's interval for an effective number of intervals; "
            "hours are UTC."
        ),
    )


def _saturation_sentences(fleet: Fleet) -> Iterator[str]:
    full = [machine for machine in fleet.machines if machine.saturated]
    judged = sum(machine.hours > 0 for machine in fleet.machines)
    if not judged:
        yield (
            f"No hour can be judged: of none was more than {shown.quantity(HOUR_LEAST_S / 60.0, 'minute')} "
            "measured."
        )
        return
    if not full:
        yield f"No hour of {shown.count(judged, 'machine')} was saturated."
        busiest = max(fleet.machines, key=lambda machine: machine.busiest or 0.0, default=None)
        if busiest is not None and busiest.busiest is not None and busiest.busiest_us is not None:
            yield (
                f"The busiest hour was that of {busiest.name} from {shown.moment(busiest.busiest_us)}, with "
                f"{shown.quantity(busiest.busiest, 'share')} of its CPUs in use."
            )
        return
    verb = "was" if len(full) == 1 else "were"
    each = [f"{machine.name} ({named(machine.limit)}, {when(machine)} UTC)" for machine in full]
    yield (
        f"{len(full)} of {shown.count(judged, 'machine')} {verb} saturated for an hour or more: "
        f"{names_of(each)}."
    )
    if len(full) > NAMED_MAX:
        counts = Counter(machine.limit for machine in full)
        order = sorted(counts, key=lambda limit: (-counts[limit], limit))
        yield f"The limit was {listed([f'{named(limit)} on {counts[limit]}' for limit in order])}."
    peak = max(fleet.by_hour, key=lambda hour: hour.saturated, default=None)
    if peak is not None and peak.saturated > 1:
        yield (
            f"Most at the same hour{' of the day' if fleet.by_day else ''}, {peak.saturated} of "
            f"{peak.machines}, were saturated from {peak.label} UTC."
        )


def _machines(fleet: Fleet, most: int | None) -> Table:
    rows = fleet.machines[:most]
    return Table.of(
        rows,
        Col("machine", lambda machine: machine.name),
        Col("model", lambda machine: machine.model),
        Col("CPUs", lambda machine: machine.cpus),
        Col("in use", lambda machine: share(machine.busy), unit="share"),
        Col("busiest hour", lambda machine: machine.busiest, unit="share"),
        Col("exhausted", lambda machine: share(machine.exhausted), unit="share"),
        Col("limit", lambda machine: "-" if machine.limit == "none" else named(machine.limit)),
        Col("saturated (UTC)", _saturated),
        name="fleet-machines",
        caption=_cut("Machines, those that saturate most first", len(rows), len(fleet.machines)),
        notes=(
            "in use: share of the CPUs, mean; exhausted: share of the intervals with an exhausted resource",
        ),
    )


def _saturated(machine: Machine) -> str:
    """Number of saturated hours, and which of the day they were."""
    hours = len(machine.saturated)
    return f"{hours} of {machine.hours} h" + (f", {when(machine)}" if hours else "")


def _cut(caption: str, rows: int, there: int) -> str:
    return caption if rows == there else f"{caption}: {rows} of {there}, all with --format csv or json"


def _hours(fleet: Fleet) -> Table:
    return Table.of(
        fleet.by_hour,
        Col("hour (UTC)", lambda hour: hour.label),
        Col("machines", lambda hour: hour.machines),
        Col("saturated", lambda hour: hour.saturated),
        Col("CPUs in use, median", lambda hour: hour.busy, unit="share"),
        Col("a tenth above", lambda hour: hour.busiest, unit="share"),
        name="fleet-hours",
        caption="The fleet by hour of the day" if fleet.by_day else "The fleet by hour",
        folded=True,
    )


def _heat(fleet: Fleet, most: int | None) -> tuple[Figure, ...]:
    """Heat map of the first machines by hour."""
    lines = [use for use in fleet.use if any(value is not None for value in use.busy)][:most]
    labels = [hour.label for hour in fleet.by_hour]
    cells = [
        (use.machine, label, value)
        for use in lines
        for label, value in zip(labels, use.busy, strict=True)
        if value is not None
    ]
    if not cells or len(labels) < 2:
        return ()
    rows = [
        {"column": label, "line": name, "value": round(value, 4), "shown": shown.quantity(value, "share")}
        for name, label, value in cells
    ]
    hours = [label[-len("09:00") :] for label in labels]
    ticks = dict(list(zip(labels, hours, strict=True))[:: max(len(labels) // 8, 1)])
    there = len(fleet.machines)
    first = "" if len(lines) == there else f", the first {len(lines)} of {there}"
    title = f"CPUs in use by hour{' of the day' if fleet.by_day else ''} (UTC){first}"
    name, label, darkest = max(cells, key=lambda cell: cell[2])
    return (
        Figure(
            name="fleet-heat",
            title=title,
            chart=partial(heat, rows, "hour (UTC)", "machine", "user", ticks),
            data=Table.of(
                lines,
                Col("machine", lambda use: use.machine),
                Cols(hours if len(set(hours)) == len(hours) else labels, lambda use: use.busy, unit="share"),
                name="fleet-heat-data",
                caption=title,
            ),
            alt=(
                f"A line for each of {shown.count(len(lines), 'machine')}, a cell for each hour. The "
                f"darkest is {name} at {label} with {shown.quantity(darkest, 'share')}."
            ),
        ),
    )


def room(fleet: Fleet, most: int | None) -> Section:
    """Which machines have room for how many more users."""
    order = sorted(
        fleet.machines,
        key=lambda machine: (
            machine.room.users is None,
            -(machine.room.users.value if machine.room.users is not None else 0.0),
        ),
    )
    rows = order[:most]
    return Section(
        name="room",
        title="Where is room for more users?",
        summary=tuple(_room_sentences(fleet, order)),
        tables=(
            Table.of(
                rows,
                Col("machine", lambda machine: machine.name),
                Col("room for", lambda machine: machine.room.users, unit="user"),
                Col("filled first", lambda machine: _filled(machine.room)),
                Col("CPUs for one more", lambda machine: share(machine.cpu_of_user), unit="share"),
                Col("busiest hour", lambda machine: machine.busiest, unit="share"),
                name="fleet-room",
                caption=_cut("More active users than in the busiest hour", len(rows), len(order)),
            ),
        ),
        caveats=(
            "Users may fill something else first, such as a disk: only CPUs and memory are predicted here.",
            "More users of the same kind: what an active user takes is that of those who were there.",
            "A user counts who used a CPU in an interval: those who are logged in and idle do not, so that "
            "more than these may log in; what idle users hold of the memory is not counted either.",
        ),
        method=(
            "What is left of a resource in the busiest hour of a machine, over what one more active user "
            "takes of it: the slope of a line through the use of the resource by number of active users, "
            f"with the interval of that slope. The CPUs may be {percent(BUSY_MOST)} in use, the memory "
            f"{percent(MEMORY_MOST)}; work at low priority is not counted. Intervals with as many users as "
            f"exhausted the CPUs in {percent(FULL_LEAST)} of theirs or more are left out of the line: "
            "there, use no longer follows users."
        ),
    )


def _filled(found: Room) -> str:
    return (
        {"cpu": "the CPUs", "memory": "memory"}.get(found.limit, "")
        if not found.reason
        else ROOM_REASONS[found.reason]
    )


def _room_sentences(fleet: Fleet, order: Sequence[Machine]) -> Iterator[str]:
    told = [machine for machine in order if machine.room.users is not None and machine.room.users.value > 0.0]
    none = [
        machine for machine in order if machine.room.users is not None and machine.room.users.value <= 0.0
    ]
    unknown = [machine for machine in order if machine.room.users is None]
    if told and fleet.room is not None:
        first = told[0].room.users
        assert first is not None
        have = "has" if len(told) == 1 else "have"
        yield (
            f"{len(told)} of {shown.count(len(order), 'machine')} {have} room for more active users than in "
            f"the busiest hour: {shown.estimate(fleet.room)} in all, the most on {told[0].name}, "
            f"{shown.estimate(first)}, if each takes of CPUs and memory what one more took in the record."
        )
    if none:
        has = "has" if len(none) == 1 else "have"
        yield (
            f"{shown.count(len(none), 'machine')} {has} none, saturated or more than {percent(BUSY_MOST)} "
            f"busy in an hour: {names_of([machine.name for machine in none])}."
        )
    if unknown:
        reasons = sorted({machine.room.reason for machine in unknown})
        yield (
            f"Of {shown.count(len(unknown), 'machine')} the room cannot be told: "
            f"{listed([ROOM_REASONS[reason] for reason in reasons], 'or')}."
        )


def cost(fleet: Fleet) -> Section:
    """What requests cost on each model."""
    title = "What does a request cost on each model?"
    if not fleet.costs:
        reason = (
            "No log names the model of its machine's CPUs, or none counts requests. Logs of `thinktime "
            "record` do both."
        )
        return Section(name="cost", title=title, summary=(), not_applicable=reason)
    rows = [(item, one) for item in fleet.costs for one in item.models]
    tested = [item for item in fleet.costs if item.test is not None]
    return Section(
        name="cost",
        title=title,
        summary=tuple(cost_sentences(fleet)),
        tables=(
            Table.of(
                rows,
                Col("request", lambda row: noun(row[0].name, row[0].label)),
                Col("model", lambda row: row[1].model),
                Col("machines", lambda row: row[1].machines),
                Col("cost", lambda row: row[1].cost),
                Col("relative to the first", lambda row: row[1].ratio),
                Col(
                    "p of no difference", lambda row: None if row[1].test is None else row[1].test.p, unit="p"
                ),
                name="fleet-costs",
                caption="CPU time of one request by model",
            ),
            *(
                (
                    Table.of(
                        tested,
                        Col("request", lambda item: noun(item.name, item.label)),
                        Col(
                            "models", lambda item: sum(one.machines >= MACHINES_LEAST for one in item.models)
                        ),
                        Col("F", lambda item: None if item.test is None else item.test.statistic),
                        Col("p", lambda item: None if item.test is None else item.test.p, unit="p"),
                        name="fleet-cost-tests",
                        caption="Hypothesis: the cost is the same on all models",
                        folded=True,
                    ),
                )
                if tested
                else ()
            ),
        ),
        figures=_dots(fleet.costs),
        caveats=tuple(_cost_caveats(fleet)),
        method=(
            "System time of each log by least squares on the number of requests of each kind, with a base; "
            "an interaction costs its mean CPU time. The cost on a model is the mean over its machines, "
            "each counted once, with Student's t over them. Tests: Welch's for means of unequal variances, "
            "probabilities adjusted over all that are made (Holm), so that one false alarm or more is "
            f"found in at most {percent(ALPHA)} of fleets without any difference, as far as machines of a "
            "model differ normally."
        ),
    )


def cost_sentences(fleet: Fleet) -> Iterator[str]:
    """What differs between models, the largest difference first, or that nothing was found."""
    tested = [item for item in fleet.costs if item.test is not None]
    different = [item for item in tested if item.test is not None and item.test.rejected()]
    pairs = [
        (item, one)
        for item in different
        for one in item.models
        if one.test is not None and one.test.rejected() and one.ratio is not None
    ]
    pairs.sort(key=lambda pair: -abs(_distance(pair[1].ratio)))
    for item, one in pairs[:NAMED_MAX]:
        assert one.ratio is not None
        assert one.test is not None
        first = item.models[0]
        yield (
            f"{capital(_one_of(item))} costs {shown.estimate(one.ratio)} times as much on {one.model} as on "
            f"{first.model}: {shown.estimate(one.cost)} and {shown.estimate(first.cost)} "
            f"({p_value(one.test.p)})."
        )
    if pairs[NAMED_MAX:]:
        yield f"{shown.count(len(pairs) - NAMED_MAX, 'further difference')} between models are in the table."
    if not pairs and different:
        yield f"Models differ in the cost of {listed([noun(item.name, item.label) for item in different])}."
    if not tested:
        yield (
            f"Whether models differ cannot be tested: that takes two models with {MACHINES_LEAST} machines "
            "or more each."
        )
    elif not different:
        least = min(item.test.p for item in tested if item.test is not None)
        yield (
            "No difference between models was found in what requests cost "
            f"({shown.count(len(tested), 'test')}, the least {p_value(least)})."
        )


def _one_of(item: Cost) -> str:
    if item.name == BASE:
        return "the base load of the system"
    name = noun(item.name, item.label)
    return f"{'an' if name[:1] in 'aeio' else 'a'} {name}"


def _distance(ratio: Estimate | None) -> float:
    return 0.0 if ratio is None else math.log(ratio.value)


def _dots(costs: Sequence[Cost]) -> tuple[Figure, ...]:
    """Costs of requests by model."""
    names = list(dict.fromkeys(one.model for item in costs for one in item.models))[:MODELS_DRAWN]
    keys = {key.name: key for key in Key.each(names, COLOURS, "circle")}
    points = [
        Point(key=keys[one.model], label=noun(item.name, item.label), y=one.cost)
        for item in costs
        if item.name != BASE
        for one in item.models
        if one.model in keys and one.cost.value > 0.0
    ]
    if not points:
        return ()
    series = Series(points, unit="s")
    return (
        Figure(
            name="fleet-costs-figure",
            title="CPU time of one request by model",
            chart=series.dots(series.log_axis("CPU time", "s"), named=("request", "model", "cost")),
            data=series.table("fleet-costs-data", "CPU time of one request by model", "request"),
            alt=f"On {points[0].key.name}: {series.listed()}. Lines are the intervals.",
            keys=series.legend,
        ),
    )


def _cost_caveats(fleet: Fleet) -> Iterator[str]:
    if fleet.other_counters:
        yield (
            f"{shown.count(fleet.other_counters, 'machine')} count other kinds of request than most: their "
            "costs mean another thing, and are left out."
        )
    vague = sum(one.vague for item in fleet.costs for one in item.models)
    if vague:
        yield (
            f"{shown.count(vague, 'cost')} of single machines are left out, since their logs tell them far "
            "less precisely than those of the other machines of their model."
        )
    if any(item.name not in (BASE, INTERACTION) for item in fleet.costs):
        yield (
            "What a request costs includes system work that comes with it and is counted nowhere: where "
            "models run different work, a difference may be of the work. `thinktime report` of a log has "
            "its costs in detail."
        )


def outliers(fleet: Fleet, most: int | None) -> Section:
    """Machines unlike the others of their model."""
    title = "Which machines are unlike the others of their model?"
    found = fleet.outliers
    if not found.tests:
        return Section(
            name="outliers",
            title=title,
            summary=(),
            not_applicable=f"No model has {MEMBERS_LEAST} machines or more whose logs tell costs.",
        )
    rows = found.outliers[:most]
    return Section(
        name="outliers",
        title=title,
        summary=(outlier_sentence(fleet),),
        tables=(
            Table.of(
                rows,
                Col("machine", lambda item: item.machine),
                Col("model", lambda item: item.model),
                Col("what", lambda item: noun(item.name, item.label)),
                Col("here", lambda item: item.value),
                Col("usual", lambda item: shown.quantity(item.usual, item.value.unit)),
                Col("p", lambda item: item.p, unit="p"),
                name="fleet-outliers",
                caption=_cut("Machines unlike their model", len(rows), len(found.outliers)),
            ),
        )
        if rows
        else (),
        caveats=(f"Too few machines to compare: {names_of(found.small)}.",) if found.small else (),
        method=(
            "Distance from the median of the model, by its median absolute deviation and, where a log "
            f"tells less than most, its own error; {shown.count(found.tests, 'comparison')}, probabilities "
            f"adjusted for all of them (Holm): of fleets without an outlier, at most {percent(ALPHA)} show "
            "one or more, as far as machines of a model differ normally."
        ),
    )


def outlier_sentence(fleet: Fleet) -> str:
    """How many machines are outliers, and the first of them."""
    found = fleet.outliers.outliers
    if not found:
        tests = shown.count(fleet.outliers.tests, "comparison")
        return f"No machine is unlike the others of its model ({tests})."
    machines = list(dict.fromkeys(item.machine for item in found))
    verb = "is" if len(machines) == 1 else "are"
    first = min(found, key=lambda item: item.p)
    return (
        f"{shown.count(len(machines), 'machine')} {verb} unlike the others of "
        f"{'its' if verb == 'is' else 'their'} model: {names_of(machines)}. {_unlike(first)}"
    )


def _unlike(item: Outlier) -> str:
    what = noun(item.name, item.label)
    return (
        f"On {item.machine}, {what}: {shown.estimate(item.value)}, where "
        f"{shown.quantity(item.usual, item.value.unit)} is usual for {item.model}."
    )


def logs(fleet: Fleet, most: int | None) -> Section:
    """Logs that could not be used, and clocks and units that may be wrong."""
    noted = [(machine, note) for machine in fleet.machines for note in machine.notes]
    rows: list[tuple[str, str, str]] = [(item.path, KINDS[item.kind], item.reason) for item in fleet.unusable]
    rows += [(machine.name, "used, with a doubt", NOTES[note]) for machine, note in noted]
    versions = listed([f"{count} of version {version}" for version, count in fleet.versions.items()])
    summary = [
        f"{shown.count(fleet.logs, 'log')} {'was' if fleet.logs == 1 else 'were'} read"
        + (f", of those used {versions}." if fleet.versions else "; none could be used."),
        *([unusable_sentence(fleet.unusable)] if fleet.unusable else []),
        *(
            [
                f"Clocks or units of {shown.count(len({machine.name for machine, _ in noted}), 'machine')} "
                "may be wrong."
            ]
            if noted
            else []
        ),
    ]
    return Section(
        name="logs",
        title="Which logs say too little?",
        summary=tuple(summary),
        tables=(
            Table.of(
                rows[:most],
                Col("log or machine", lambda row: row[0]),
                Col("state", lambda row: row[1]),
                Col("reason", lambda row: row[2]),
                name="fleet-logs",
                caption=_cut("Logs that were not used, and doubts", len(rows[:most]), len(rows)),
            ),
        )
        if rows
        else (),
        method=(
            "The bytes of every log are compared with its checksums. The clock of a machine is compared "
            "with that of its intervals, which is monotonic, and with the dates of the rest of the fleet; "
            "its CPU time with its number of CPUs; the units of its columns with those that all logs have."
        ),
    )


def unusable_sentence(unusable: Sequence[Unusable]) -> str:
    """How many logs could not be used, and why."""
    kinds = [kind for kind in KINDS if any(item.kind == kind for item in unusable)]
    counts = [f"{sum(item.kind == kind for item in unusable)} {KINDS[kind]}" for kind in kinds]
    verb = "was" if len(unusable) == 1 else "were"
    return (
        f"{shown.count(len(unusable), 'log')} {verb} not used, {listed(counts)}: "
        f"{names_of([item.path for item in unusable])}."
    )
