"""What recorded users would have got, as a section."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Cols, Section, Table
from thinktime.predictions.replay.answer import QUANTUM_S, SCHEDULERS, SLICED, Outcome, Replayed, ReplayPlan
from thinktime.stats.estimate import Estimate

NEAR = 0.2
"""Relative error of the mean response as recorded up to which a simulation is said to describe the log."""
LARGE = 0.05
"""Share of the interactions, or of a CPU, from which something is worth a caveat."""

CANNOT = (
    "What this cannot tell: delays other than waits for a CPU stay as they were, so that more contention "
    "for memory, disks, networks and others' locks is not seen, nor less. The CPUs take from one queue and "
    "switch at no cost; caches and clock rates stay as they were. Users think as long as they did, however "
    "long replies take, and none gives up."
)


def section(found: Replayed) -> Section:
    """Section of a result."""
    return Section(
        name="replay",
        title="What would have changed for these users?",
        summary=tuple(_summary(found)),
        tables=tuple(_tables(found)),
        caveats=tuple(_caveats(found)),
        method=_method(found),
        result=found.to_dict(),
    )


def _per_cent(value: float) -> str:
    return f"{100 * abs(value):.0f} %"


def _machine(outcome: Outcome, plan: ReplayPlan) -> str:
    """Scheduler and CPUs of the changed machine."""
    name = plan.scheduler
    slices = QUANTUM_S if plan.quantum_s is None else plan.quantum_s
    sliced = f" with slices of {shown.quantity(slices, 's')}" if name in SLICED else ""
    first = f" ({', '.join(plan.urgent)} first)" if plan.urgent else ""
    return f"{name}{sliced}{first} on {shown.count(outcome.cpus, 'CPU')}"


def _summary(found: Replayed) -> Iterator[str]:
    real, base, last = found.outcomes[0], found.outcomes[1], found.outcomes[-1]
    if found.change is not None:
        before = found.outcomes[-2]
        change = found.change
        sure = change.low is not None and change.high is not None and not change.low <= 1.0 <= change.high
        way = "shorter" if change.value < 1.0 else "longer"
        factor = f"{_per_cent(change.value - 1.0)} {way}"
        if change.value > 2.0:
            factor = f"{shown.number(change.value)} times as long"
        users = f", with {shown.count(last.users, 'user')}" if last.users != before.users else ""
        yield (
            f"Under {_machine(last, found.plan)}{users}, the mean response would have been "
            f"{shown.estimate(last.mean)} in place of {shown.estimate(before.mean)}: {factor}"
            + ("." if sure or change.low is None else ", which these users do not tell from no change.")
        )
    else:
        yield "Nothing is changed: the simulation is compared with the log."
    error = found.error
    yield (
        f"{'Checked' if found.waited_for is None else 'Fitted'} on this log: simulated as recorded, the mean "
        f"response is {shown.estimate(base.mean)}, {_per_cent(error.value)} "
        f"{'below' if error.value < 0.0 else 'above'} the recorded {shown.estimate(real.mean)}."
    )


def _tables(found: Replayed) -> Iterator[Table]:
    def cells(of: str) -> tuple[Cell, ...]:
        return tuple(getattr(one, of) for one in found.outcomes)

    change = (found.change,) if found.change is not None else ()
    rows: list[tuple[Cell, ...]] = []
    for label, of in (
        ("mean response", "mean"),
        ("median response", "median"),
        ("90 % of responses within", "p90"),
        ("95 % of responses within", "p95"),
        ("mean wait for a CPU", "wait"),
        ("throughput", "throughput"),
        ("CPUs at work", "utilisation"),
    ):
        values = cells(of)
        ratio: tuple[Cell, ...] = ()
        if change:
            ratio = change if of == "mean" else (_divided(values[-1], values[-2]),)
        rows.append((label, *values, *ratio))
    names = [one.name for one in found.outcomes]
    heads = [*names, "changed / unchanged"] if change else names
    yield Table.of(
        rows,
        Cols(("quantity", *heads), lambda row: row),
        name="replay-figures",
        caption="Recorded and simulated",
    )
    if len(found.classes) > 1:
        yield Table.of(
            range(len(found.classes)),
            Col("class", lambda kind: found.classes[kind] or "(none)"),
            Col("n", lambda kind: found.outcomes[0].by_class[kind].n),
            Cols(heads, lambda kind: _of_class(found, kind)),
            name="replay-classes",
            caption="Mean response by class",
        )
    yield Table.of(
        [(name, what) for name, (_, what) in SCHEDULERS.items()],
        Cols(("scheduler", "who gets a CPU"), lambda row: row),
        name="replay-schedulers",
        caption="Schedulers",
        folded=True,
    )


def _of_class(found: Replayed, kind: int) -> Iterator[Cell]:
    """Mean responses of a class, and their ratio where something is changed."""
    means = [one.by_class[kind] for one in found.outcomes]
    yield from means
    if found.change is not None:
        yield _divided(means[-1], means[-2])


def _divided(first: Cell, second: Cell) -> Cell:
    if isinstance(first, Estimate) and isinstance(second, Estimate) and second.value > 0.0:
        return first.value / second.value
    return None


def _caveats(found: Replayed) -> Iterator[str]:
    data = found._recorded
    n = len(data.response)
    if abs(found.error.value) > NEAR:
        yield (
            "The simulation does not describe this log: as recorded it is "
            f"{_per_cent(found.error.value)} off. Something that it does not have decides the responses; do "
            "not rely on what it says of changes."
        )
    if not found.waits_counted:
        yield (
            "The kernel did not count waits for a CPU in this log: what a response has beyond CPU time and "
            "block I/O is taken as such a wait, and a delay of another kind is thus left out."
        )
    if data.parallel > LARGE * n:
        yield (
            f"{data.parallel} of {n} interactions used more CPU time than their response lasted, on several "
            "CPUs at once. They are simulated on one CPU at a time: their responses come out too long, and "
            "of more CPUs they gain less than they would."
        )
    if data.unfinished > LARGE * n:
        yield (
            f"{data.unfinished} inputs have no completion in the log and are left out, while {n} have one: "
            "the longest are missing."
        )
    if data.without_cpu:
        yield f"{data.without_cpu} completed interactions have no CPU time in the log and are left out."
    if found.background is None:
        yield "The log does not say what else used the CPUs: nothing is taken to have."
    elif found.background > LARGE:
        yield from _others(found.background, found.waited_for)
    if data.low_priority > LARGE:
        yield (
            f"Work at low priority used {shown.number(data.low_priority, 2)} CPUs on average; it is left "
            "out, as if it gave way at once."
        )
    if found.plan.scheduler == "fcfs" or found.plan.urgent:
        yield (
            "Each interaction is simulated as one piece of CPU time, then its delay. Under a scheduler that "
            "lets it run to the end, real ones that wait in between would give others a CPU more often."
        )
    yield CANNOT


def _others(used: float, waited_for: float | None) -> Iterator[str]:
    """Caveats about the background load."""
    text = f"Others than these interactions used {shown.number(used, 2)} CPUs on average"
    how = (
        "as work that comes at random in pieces of 10 ms and shares the CPUs on equal terms; what others "
        "would take of more CPUs, or of fewer, the log does not tell."
    )
    if waited_for is None:
        yield f"{text}. They are simulated {how}"
        return
    yield (
        f"{text}. By their measured waits, users waited for {shown.number(waited_for, 2)} of that only: the "
        f"rest gave way to them, or ran elsewhere. As much is simulated, {how}"
    )
    yield (
        "That part was chosen so that the simulated waits for a CPU are those that were measured: that the "
        "mean response agrees as recorded is then no check."
    )


def _method(found: Replayed) -> str:
    drawn = "in the order of the log, the first of each user when it was due"
    if found.plan.draws:
        drawn += "; resampled, each user, present throughout, draws from those of one recorded user"
    blocks = "stretches of time" if found._recorded.by_time else "users of a session"
    return (
        f"{shown.count(found.interactions, 'interaction')} with recorded think times, CPU times and other "
        f"delays, {drawn}. What ran as recorded is taken to be round robin with slices of "
        f"{shown.quantity(QUANTUM_S, 's')}. Intervals: Student's t over {blocks} as blocks, which take the "
        "waits of others as given; percentiles, throughputs, and figures by class that are simulated have "
        f"none. At most {found.replications} replications each, seed {found.seed}; system `timesharing`, "
        "whose laws were checked in each."
    )
