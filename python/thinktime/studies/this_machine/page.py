"""The page of a study of this machine: the answer, the figures of 1969 and of today, and the limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thinktime.analyses.cpu_per_interaction import section as cpu_section
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Cols, Document, Figure, Finding, Section, Table
from thinktime.documents.wording import listed, refused, share, users
from thinktime.predictions.size import words
from thinktime.sources.scripts import read
from thinktime.stats.difference import ratio
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.studies.estimates import scaled
from thinktime.studies.sekino_1969.loads import PAPER, SUMMARY, fact
from thinktime.studies.this_machine import charts, prediction

if TYPE_CHECKING:
    from thinktime.studies.this_machine.analysis import Level, MachineStudy

TITLE = "How many users does this machine hold, and what does one more cost?"
RESPONSE, COST, CAPACITY, THEN, LIMITS = (
    "machine-response",
    "machine-cost",
    "machine-capacity",
    "machine-1969",
    "machine-limits",
)
SATURATED = 0.95
"""Share of the CPU capacity from which on the CPUs are called saturated."""
ALIKE = 1.25
"""Ratio within which the interval of a change must lie for there to be hardly any."""
OTHERS = 0.1
"""Share of the CPU capacity from which on other work disturbs a study."""
OTHERS_MOST = 0.5
"""Share from which on nothing is said of how many users fit."""
FEW_S = 20.0
"""Time at one number of users below which a play is only a trial."""


def document(study: MachineStudy) -> Document:
    """Page of a study: the answer first, then the figures of 1969."""
    sections = (
        _response(study),
        _cost(study),
        _capacity(study),
        prediction.section(study),
        _then(study),
        _limits(study),
    )
    return Document(
        title=TITLE,
        subtitle=f"The figures that Sekino drew of Multics in 1969, for {study.machine or 'this machine'}: "
        f"{study.design.script} typed to real shells by {_range(study)} users, one number after the other.",
        findings=tuple(_findings(study)),
        sections=sections,
        facts=tuple(_facts(study)),
        facts_title="How was it measured?",
        origin="Made by thinktime from the logs of this study alone: the same logs give the same page.",
    )


def not_applicable(reason: NotApplicable) -> Document:
    """Page of a study from which nothing follows: why, and what to do."""
    section = refused(prediction.NAME, TITLE, reason)
    return Document(
        title=TITLE,
        subtitle="The figures that Sekino drew of Multics in 1969, for this machine.",
        findings=(Finding(section.not_applicable, section=prediction.NAME, tone="warning"),),
        sections=(section,),
    )


def _range(study: MachineStudy) -> str:
    return f"{study.levels[0].users} to {study.levels[-1].users}"


def _findings(study: MachineStudy) -> Iterator[Finding]:
    """The answer in three sentences, and what the reader must beware of."""
    yield from _disturbed(study)
    if not _is_hidden(study):
        yield Finding(next(iter(words.sentences(study.size.found))), section=RESPONSE)
    yield Finding(_what_limits(study), section=CAPACITY)
    yield Finding(prediction.how_well(study.checked), section=prediction.NAME)
    refused_ = [level for level in study.levels if level.problem and level.response is None]
    if refused_:
        numbers = users(listed([str(level.users) for level in refused_]))
        yield Finding(
            f"With {numbers} the driver of the play was the load ({refused_[0].problem}): their response "
            "times are left out.",
            section=RESPONSE,
            tone="warning",
        )
    if study.design.settled_s < FEW_S:
        yield Finding(
            f"A trial: {shown.quantity(study.design.settled_s, 's')} for each number of users. Intervals are "
            "wide, and what is said to agree may do so because of them; the full study takes 20 minutes.",
            tone="warning",
        )
    yield from _drifted(study)


def _is_hidden(study: MachineStudy) -> bool:
    """True if others, for whom users wait, used so much that the study's users were a part of the load."""
    return study.measured.machine.background > OTHERS_MOST * study.design.cpus


def _disturbed(study: MachineStudy) -> Iterator[Finding]:
    """First, because it bears on every figure: others were at work meanwhile."""
    others = study.measured.machine.others
    if others <= OTHERS * study.design.cpus:
        return
    means = (
        "so how many users fit is not told"
        if _is_hidden(study)
        else "so these are the figures of what they left"
    )
    yield Finding(
        f"Other work used {shown.number(others)} of {shown.count(study.design.cpus, 'CPU')} meanwhile: "
        f"the machine was not free, {means}. Run the study where nobody else is at work.",
        section=CAPACITY,
        tone="warning",
    )


def _what_limits(study: MachineStudy) -> str:
    """Sentence on what an interaction takes, and on what was busy with the most users."""
    last = study.levels[-1]
    costs = [level for level in study.levels if level.cost is not None]
    taken = ""
    if costs:
        first, most = costs[0], costs[-1]
        assert first.cost is not None
        assert most.cost is not None
        change = ratio(first.cost.cpu, most.cost.cpu)
        taken = (
            f"An interaction takes {shown.estimate(first.cost.cpu)} of CPU time with {_users(first)} and "
            f"{shown.estimate(most.cost.cpu)} with {most.users}, {shown.estimate(change)} times as much; "
        )
    if last.busy is None:
        return f"{taken}how busy the CPUs were was not recorded."
    done = (
        ""
        if last.throughput is None
        else f" and complete {shown.estimate(last.throughput.with_unit(''))} interactions per second"
    )
    among = "other work among it, " if any(_disturbed(study)) else ""
    limit = (
        f"{among}they are what limits"
        if last.busy >= SATURATED
        else "they are not saturated, so their highest throughput was not reached"
    )
    return (
        f"{taken}with {_users(last)} the CPUs are busy for {shown.quantity(last.busy, 'share')} of their "
        f"time{done}: {limit}."
    )


def _drifted(study: MachineStudy) -> Iterator[Finding]:
    drift = study.drift
    if drift is None or drift.low is None or drift.high is None:
        return
    first = study.design.plays[0].users
    if not drift.low <= 1.0 <= drift.high:
        yield Finding(
            f"The machine changed meanwhile: the first play, of {users(str(first))}, was repeated at the "
            f"end, and its mean response was then {shown.estimate(drift)} times as long. Other differences "
            "may be due to that as well.",
            section=LIMITS,
            tone="warning",
        )


def _users(level: Level) -> str:
    return users(str(level.users))


def _label(level: Level) -> str:
    return str(level.users)


# Response


def _response(study: MachineStudy) -> Section:
    found = study.size.found
    if _is_hidden(study):
        summary = [finding.text for finding in _disturbed(study)]
    else:
        # What other rules would say is the question of `thinktime size`.
        summary = [*words.sentences(replace(found, rules=())), *_at_thirty_seconds(study)]
    table = Table.of(
        study.levels,
        Col("users", _label),
        Col("mean response", lambda level: level.response),
        Col("90 % within", lambda level: level.p90),
        Col("throughput", lambda level: level.throughput),
        Col("interactions", lambda level: level.n, scaled=False),
        Col("part", lambda level: "second half" if level.held_out else "first half"),
        name="machine-response-table",
        caption="Response time and throughput, measured",
    )
    return Section(
        name=RESPONSE,
        title="How long do users wait?",
        summary=tuple(summary),
        tables=(table,),
        figures=(charts.responses(study), charts.throughputs(study)),
        caveats=tuple(words.caveats(found, study.size.unknown, study.measured)),
        method="Response time: from the last key of a line to the end of its reply, for the lines whose "
        "reply the script waits for. Means and their intervals allow for correlation in time. The number "
        "that fits is that of the model fitted to all numbers of users.",
        result=study.to_dict(),
        short="response",
    )


def _at_thirty_seconds(study: MachineStudy) -> Iterator[str]:
    """How many users of the think time of the script give the load that fits."""
    at = study.size.found.at
    script = read(study.design.script)
    thinks = [item.think for item in script.interactions if isinstance(item.think, float | int)]
    if at is None or len(thinks) != len(script.interactions):
        return
    # Think times of all lines between two replies that are waited for.
    cycle_s = sum(thinks) / len(script.waiting)
    number = scaled(at.throughput, cycle_s + at.response.value, "user")
    think = sum(thinks) / len(thinks)
    yield (
        f"Think times were shortened to {shown.quantity(study.design.think_s, 's')} before a line, so that "
        f"few users saturate the CPUs. With the {think:g}\N{NO-BREAK SPACE}s of the script, the same "
        f"throughput and response come from {shown.estimate(number)} (Little's law), as far as the CPUs "
        "go: whether there is memory for so many was not tried."
    )


# CPU time


def _cost(study: MachineStudy) -> Section:
    title = "What does an interaction cost?"
    levels = [level for level in study.levels if level.cost is not None]
    if not levels or isinstance(study.cpu, NotApplicable):
        reason = (
            study.cpu if isinstance(study.cpu, NotApplicable) else NotApplicable("no CPU time was measured")
        )
        return refused(COST, title, reason)
    table = Table.of(
        [(level, level.cost) for level in levels if level.cost is not None],
        Col("users", lambda item: _label(item[0])),
        Col("CPU time", lambda item: item[1].cpu),
        Col("user time", lambda item: item[1].user),
        Col("page faults", lambda item: item[1].fault),
        Col("other system time", lambda item: item[1].other),
        Col("faults, number", lambda item: item[1].faults),
        name="machine-cost-table",
        caption="CPU time of an interaction, and its parts",
        notes=_fault_notes(study),
    )
    figures = [charts.costs(study), charts.shares(study), charts.faults(study), *_against_faults(study)]
    return Section(
        name=COST,
        title=title,
        summary=tuple(_cost_sentences(levels)),
        tables=(table,),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=(*cpu_section.section(study.cpu).caveats, *_cost_caveats(study)),
        method=f"{cpu_section.METHOD} Page faults: their number times the cost of one, which was measured "
        "directly before the plays, in a process that touches memory for the first time; other system time "
        "is what is left.",
        short="cost",
    )


def _cost_sentences(levels: Sequence[Level]) -> Iterator[str]:
    first, last = levels[0].cost, levels[-1].cost
    assert first is not None
    assert last is not None
    few, many = _users(levels[0]), _users(levels[-1])
    yield (
        f"An interaction takes {shown.estimate(first.cpu)} of CPU time with {few} and "
        f"{shown.estimate(last.cpu)} with {many}, of which user time is {_part(first.user, first.cpu)} and "
        f"{_part(last.user, last.cpu)}."
    )
    if first.faults is not None and last.faults is not None and first.faults.value > 0.0 < last.faults.value:
        change = ratio(first.faults, last.faults)
        verdict = _change(change)
        yield (
            f"It has {shown.estimate(first.faults)} page faults with {few} and "
            f"{shown.estimate(last.faults)} with {many}: {verdict}."
        )
    if first.fault is not None and last.fault is not None:
        yield (
            "At the cost of a fault that was measured directly, page faults are "
            f"{_part(first.fault, first.cpu)} of the CPU time with {few}, and "
            f"{_part(last.fault, last.cpu)} with {many}."
        )


def _change(change: Estimate) -> str:
    """Words on a ratio of page faults, as far as its interval tells."""
    if change.low is None or change.high is None:
        return "without intervals, whether their number depends on the users is not known"
    if change.low > 1.0 or change.high < 1.0:
        return f"their number is {shown.estimate(change)} times as large"
    if change.low * ALIKE >= 1.0 and change.high <= ALIKE:
        return "their number hardly depends on the users; where users took core from each other, it did"
    return "the intervals are too wide to tell whether their number depends on the users"


def _part(part: Estimate, whole: Estimate) -> str:
    return shown.quantity(part.value / whole.value, "share")


def _fault_notes(study: MachineStudy) -> list[str]:
    cost = next((one for one in study.design.direct_costs if one["request"] == "page_faults_minor"), None)
    if cost is None:
        return ["What a page fault costs was not measured here."]
    value = Estimate(
        value=cost["seconds"],
        unit="s",
        low=cost["low"],
        high=cost["high"],
        n=cost["n"],
        method=cost["method"],
    )
    return [
        f"A page fault costs {shown.estimate(value)}. The intervals of page faults are those of their "
        "number alone."
    ]


def _cost_caveats(study: MachineStudy) -> Iterator[str]:
    yield (
        "Page faults of programs that are started (mapped files, pages copied on write) may cost more or "
        "less than those that were measured: other system time then has the difference."
    )
    if any(
        level.cost is not None and level.cost.other is not None and level.cost.other.value < 0.0
        for level in study.levels
    ):
        yield "The page faults would take more than all system time: they cost less here than where they "
        "were measured."


def _against_faults(study: MachineStudy) -> Iterator[Figure]:
    """Figure 3 of 1969: CPU time and its components against page faults."""
    if not isinstance(study.cpu, NotApplicable):
        yield from (
            figure
            for figure in cpu_section.section(study.cpu).figures
            if figure.name == "cpu-per-interaction-lines"
        )


# Capacity


def _capacity(study: MachineStudy) -> Section:
    title = "Where does the CPU capacity go?"
    known = [
        (level, level.capacity) for level in study.levels if not isinstance(level.capacity, NotApplicable)
    ]
    figure = charts.capacities(study)
    if not known or figure is None:
        reason = next(level.capacity for level in study.levels if isinstance(level.capacity, NotApplicable))
        return refused(CAPACITY, title, reason)
    (first, few), (last, many) = known[0], known[-1]
    summary = [
        f"With {_users(first)} the CPUs are busy for {shown.cell(_busy(few.user, few.system))} of their "
        f"time, with {last.users} for {shown.cell(_busy(many.user, many.system))}: {_percent(many.user)} "
        f"by user programs, {_percent(many.system)} by the system for them."
    ]
    drivers = [level.driver_share for level in study.levels if level.driver_share is not None]
    if drivers:
        summary.append(
            f"The users' hands are part of the load: the driver that types for all of them took at most "
            f"{shown.quantity(max(drivers), 'share')} of one CPU, and is counted in these shares."
        )
    table = Table.of(
        known,
        Col("users", lambda item: _label(item[0])),
        Col("user programs", lambda item: share(item[1].user), unit="share"),
        Col("system", lambda item: share(item[1].system), unit="share"),
        Col("other", lambda item: _rest(item[1].user, item[1].system), unit="share"),
        Col("recorder", lambda item: share(item[1].recorder), unit="share"),
        Col("driver, of one CPU", lambda item: item[0].driver_share, unit="share"),
        name="machine-capacity-table",
        caption=f"Share of the capacity of {shown.count(study.design.cpus, 'CPU')}",
        notes=("Other is idle time, and what a hypervisor gave to other machines.",),
    )
    return Section(
        name=CAPACITY,
        title=title,
        summary=tuple(summary),
        tables=(table,),
        figures=(figure,),
        method="Shares of the CPU time of all processors while all users played, by the kernel's counters "
        "(the breakdown of Sekino 1971, Table 1).",
        short="capacity",
    )


def _busy(user: Estimate, system: Estimate) -> str:
    return shown.quantity(user.value + system.value, "share")


def _percent(value: Estimate) -> str:
    return shown.quantity(value.value, "share")


def _rest(user: Estimate, system: Estimate) -> float:
    # Without the last digit of sums.
    return max(round(1.0 - user.value - system.value, 9), 0.0)


# 1969


def _then(study: MachineStudy) -> Section:
    """The figures of the paper beside those of this machine, with few users and with many."""
    levels = [level for level in study.levels if level.cost is not None and level.response is not None]
    if len(levels) < 2:
        return refused(THEN, "And in 1969?", NotApplicable("CPU and response times were not both measured"))
    first, last = levels[0], levels[-1]
    rows = list(_rows(first, last))
    table = Table.of(
        rows,
        Col("quantity", lambda row: row[0]),
        Cols(("Multics 1969, few users", "Multics 1969, many users"), lambda row: row[1:3]),
        Cols((f"here, {_users(first)}", f"here, {_users(last)}"), lambda row: row[3:5]),
        name="machine-1969-table",
        caption="The script of 1969 and its twin",
        notes=(
            "Multics 3.1.1: CPU time and page faults with 4 and 17 users, the share of user time with 4 and "
            "20, responses with 6 and 17; page faults are their time over that of one; think time "
            f"{fact('think-time').value:g} s before every line, here "
            f"{shown.quantity(study.design.think_s, 's')} on average.",
        ),
    )
    assert first.cost is not None
    assert last.cost is not None
    then = fact("multics-cpu-time-17-users").value / (fact("cpu-time-4-users").value / 1000.0)
    now = ratio(first.cost.cpu, last.cost.cpu)
    summary = (
        f"On Multics, CPU time per interaction grew to {then:.2g} times from 4 to 17 users, by page faults; "
        f"here it is {shown.estimate(now)} times as much with {last.users} users as with {first.users}.",
        "The lines typed are of the same kinds, in the same order and number, with the same waits; "
        "programs, and what they do, are those of today.",
    )
    return Section(
        name=THEN,
        title="And in 1969?",
        summary=summary,
        tables=(table,),
        method=f"{PAPER.citation} The paper's figures are as printed: `thinktime study sekino-1969` has all "
        "of them.",
        short="1969",
    )


def _rows(first: Level, last: Level) -> Iterator[tuple[str, Cell, Cell, Cell, Cell]]:
    few, many = first.cost, last.cost
    assert few is not None
    assert many is not None

    def summary(column: str) -> str:
        return f"{PAPER.printed(SUMMARY, {'statistic': 'average_all'}, column).value:.3g} s"

    yield (
        "CPU time of an interaction",
        f"{fact('cpu-time-4-users').value:g} ms",
        f"{1000 * fact('multics-cpu-time-17-users').value:g} ms",
        few.cpu,
        many.cpu,
    )
    faults = fact("page-fault-time").value / fact("time-per-page-fault").value
    yield "page faults of an interaction", f"{faults:.3g}", None, few.faults, many.faults
    yield (
        "share of user time",
        f"{fact('run-time-share-4-users').value:g} %",
        f"{fact('run-time-share-20-users').value:g} %",
        _part(few.user, few.cpu),
        _part(many.user, many.cpu),
    )
    yield (
        "mean response",
        summary("multics_6_users_s"),
        summary("multics_17_users_s"),
        first.response,
        last.response,
    )


# Limits


def _limits(study: MachineStudy) -> Section:
    drift = study.drift
    first = study.design.plays[0].users
    ahead = all(level.driver_nice is not None and level.driver_nice < 0.0 for level in study.levels)
    driver = (
        "The driver went before the users at the CPUs, as hands wait for none."
        if ahead
        else "The driver had to wait for a CPU like the users, for it had no right to go before them: on a "
        "saturated machine it sends inputs late, and that is a part of the response."
    )
    steady = (
        "The first play was not repeated: whether the machine changed meanwhile is not known."
        if drift is None
        else f"The first play, of {users(str(first))}, was repeated at the end: its mean response was then "
        f"{shown.estimate(drift)} times as long"
        + ("." if drift.low is not None and drift.high is not None else ", which may be chance.")
    )
    return Section(
        name=LIMITS,
        title="What can this not tell?",
        summary=(
            "This is one script: other users, with other programs, take other amounts of CPU time, memory "
            "and disk. Play your own with `thinktime play SCRIPT`.",
            "Users, their driver and the recorder share one machine. What they take is shown above, and "
            f"response times are left out where the driver was the load. {driver} Over a network, the way "
            "there adds to each response.",
            "Think times are far shorter than those of people, so that few shells stand for many users: "
            "memory, caches and the scheduler see fewer processes than so many users would start.",
            "Each number of users was played once: intervals are those within a play. What differs between "
            f"two plays of one load shows in the repetition alone. {steady}",
        ),
        method=f"Order of the plays at random by the seed. Users log in one after the other in the first "
        f"{shown.quantity(study.design.ramp_s, 's')} of a play, so that they do not type the script in "
        "step; that time is left out.",
        short="limits",
    )


def _facts(study: MachineStudy) -> Iterator[tuple[str, str]]:
    design = study.design
    script = read(design.script)
    yield "Machine", f"{study.machine or 'not named'}; {shown.count(design.cpus, 'CPU')}"
    if study.measured.memory is not None:
        yield "Memory", shown.quantity(study.measured.memory.total_bytes, "byte")
    yield "Begin", shown.moment(study.start_us)
    yield (
        "Script",
        f"{script.name}: {len(script.interactions)} lines, {len(script.waiting)} with a wait for the reply",
    )
    yield "Numbers of users", listed([str(level.users) for level in study.levels])
    yield (
        "Each",
        f"{shown.quantity(design.settled_s, 's')} with all users on, after "
        f"{shown.quantity(design.ramp_s, 's')} in which they log in",
    )
    yield "Mean think time", f"{shown.quantity(design.think_s, 's')} before each line, exponential"
    response = None if design.floor is None else design.floor["response_s"]
    if response is not None and response["median"] is not None:
        floor = Estimate(
            value=response["median"],
            unit="s",
            low=response["low"],
            high=response["high"],
            n=response["n"],
            method="median",
        )
        yield "Floor", f"{shown.estimate(floor)} for an empty command: no response below it says anything"
    yield "Seed", str(design.seed)
