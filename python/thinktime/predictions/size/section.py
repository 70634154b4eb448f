"""Document of an answer: sentences, tables and curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Cols, Document, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import listed
from thinktime.models.sizing import ASSUMPTIONS, SOURCE, Fit
from thinktime.predictions import prediction as predicted
from thinktime.predictions.size import cliff, disks, mix, rules, surface, words
from thinktime.predictions.size.answer import ClassPlan, Known, Plan, Size, size
from thinktime.predictions.size.fits import MEASURED as AS_MEASURED
from thinktime.predictions.size.fits import Fits
from thinktime.predictions.size.goals import Goal
from thinktime.predictions.size.measured import Measured
from thinktime.predictions.size.own_error import Checked, from_lower_half, own_error
from thinktime.predictions.size.percentiles import SHARING
from thinktime.stats.estimate import Estimate

TITLE = "How many users fit?"
MEASURED, PREDICTED = (
    Key("measured", colour="system", shape="circle"),
    Key("predicted", colour="user", shape="line"),
)
USED, HELD_OUT = (
    Key("measured, lower half", colour="system", shape="circle"),
    Key("measured, upper half", colour="iowait", shape="circle"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Everything that a page shows."""

    measured: Measured
    fitted: Fit
    sizes: tuple[Size, ...]
    """The first is the plan that was asked for, the others its variants."""
    names: tuple[str, ...]
    """Of the plans."""
    checked: tuple[Checked, ...]
    goals: tuple[Goal, ...]
    asked: tuple[int, ...]
    """Numbers of users that were asked for."""
    command: str
    """Command that was given, without the options that the page varies."""

    @property
    def first(self) -> Size:
        """Answer that was asked for."""
        return self.sizes[0]

    @classmethod
    def of(
        cls,
        measured: Measured,
        fitted: Fit,
        *,
        plans: Sequence[Plan],
        goals: tuple[Goal, ...],
        asked: Sequence[int] = (),
        command: str = "",
        show: Callable[[float], None] | None = None,
    ) -> Answers:
        """Answers for every plan, and the model's own error; `show` gets the number of answers so far."""
        resolved = [mix.resolved(plan, measured) for plan in plans]
        sizes: list[Size] = []
        known = Known(measured, fitted, goals)
        for plan in resolved:
            sizes.append(size(measured, fitted, plan, goals, asked, known=known))
            if show is not None:
                show(len(sizes))
        return cls(
            measured=measured,
            fitted=fitted,
            sizes=tuple(sizes),
            names=tuple(plan_words(plan) for plan in resolved),
            checked=own_error(measured),
            goals=goals,
            asked=tuple(asked),
            command=command,
        )


def document(answers: Answers, show: Callable[[float, float], None] | None = None) -> Document:
    """Page of an answer; `show` is called with the work done and all of it."""
    question = surface.Question(
        known=Known(answers.measured, answers.fitted, answers.goals),
        asked=answers.asked,
        command=answers.command,
    )
    explored = surface.surface(question, answers.first, show)
    details = Section(
        name="size",
        title="Details that no control changes",
        summary=(),
        tables=(*_variants(answers), *_details(answers, answers.first, on_page=True)),
        figures=tuple(halves(answers)),
        method=_method(answers, explored.agreement),
    )
    return Document(
        title=TITLE,
        subtitle=_subtitle(answers),
        findings=(),
        # The page begins with its sentences and figures.
        explorer=replace(explored.explorer, always=tuple(checks(answers))),
        sections=(details,),
        facts=_facts(answers),
        facts_title="What was measured?",
        origin="Made by thinktime: the same log and options give the same page.",
    )


def _subtitle(answers: Answers) -> str:
    measured = answers.measured
    cpus = shown.count(measured.machine.cpus, "CPU")
    memory = (
        ""
        if measured.memory is None
        else f", {shown.quantity(measured.memory.total_bytes, 'byte')} of memory"
    )
    verb = "Measured" if measured.stretches else "Given"
    return f"{verb}: {cpus}{memory}; from {listed(measured.names)}."


def _facts(answers: Answers) -> tuple[tuple[str, str], ...]:
    measured = answers.measured
    if not measured.stretches:
        return ()
    seconds = sum(one.seconds for one in measured.stretches)
    users = [one.users for one in measured.stretches]
    return (
        ("Interactions", f"{measured.n}"),
        ("Time", shown.duration(seconds)),
        ("Numbers of users", listed([str(one) for one in users])),
        ("Background load", _background(measured)),
    )


def _background(measured: Measured) -> str:
    machine = measured.machine
    used = f"{shown.number(machine.others)} CPUs"
    waited_for = f", of which users wait for {shown.number(machine.background)}"
    return used if measured.yielding is None else used + waited_for


def section(answers: Answers) -> Section:
    """Section of an answer."""
    size = answers.first
    return Section(
        name="size",
        title=TITLE,
        summary=(*words.sentences(size.found), *checks(answers)),
        tables=(
            _limits(size),
            *_variants(answers),
            _predictions(size),
            *((cliff.table(size.beyond),) if size.beyond else ()),
            *_details(answers, size, on_page=False),
        ),
        figures=tuple(_figures(answers)),
        caveats=tuple(words.caveats(size.found, size.unknown, answers.measured)),
        method=_method(answers, size.found.agreement),
    )


def _details(answers: Answers, size: Size, *, on_page: bool) -> Iterator[Table]:
    """Tables of what was measured; on a page, the answers of the rules stand among its sentences."""
    if answers.checked:
        yield _checks(answers.checked)
    if size.found.rules:
        yield rules.table(size.found.rules, answers=not on_page)
    found = mix.classes(answers.measured)
    if found:
        yield mix.table(found)
    if size.found.disks:
        yield disks.table(size.found.disks, size.found.number)
    yield _work(answers)
    yield predicted.assumptions_table("size", ASSUMPTIONS)


def checks(answers: Answers) -> Iterator[str]:
    """Sentences on the log itself: which work takes most, and how good the prediction was on it."""
    largest = mix.dominant(mix.classes(answers.measured))
    if largest is not None:
        yield largest
    if answers.checked:
        yield _own_error(answers.checked)
    elif answers.measured.stretches:
        yield (
            "The log has one number of users: how good the prediction is cannot be checked on it. Record at "
            "another number as well."
        )
    else:
        yield (
            "These are figures that were given, not measured: the answer is as good as they are. A log of "
            "the machine, once it has users, checks it."
        )


def _own_error(checked: Sequence[Checked]) -> str:
    worst = max(checked, key=lambda one: abs(one.error))
    held = sum(one.holds for one in checked)
    most = checked[-1]
    text = (
        f"Checked on this log: predicted from the lower numbers of users alone, the mean response with "
        f"{most.users} users is {shown.estimate(most.predicted)}; measured was "
        f"{shown.estimate(most.measured)}"
    )
    if len(checked) > 1:
        text += (
            f". Of {len(checked)} such predictions, {held} agree within both intervals, and the worst is "
            f"{abs(worst.error) * 100:.0f} % off"
        )
    return f"{text}."


def _limits(size: Size) -> Table:
    return Table.of(
        size.found.fits,
        Col("goal", lambda one: one.goal.words),
        Col("users", _users),
        Col("limit", lambda one: words.LIMITS[one.limit]),
        name="size-limits",
        caption="Users that meet each goal",
    )


def _users(one: Fits) -> Estimate | str:
    """Cell of the users who meet a goal."""
    if one.goal.kind == "throughput":
        none = "none measured" if one.limit == AS_MEASURED else "none"
        return f"from {one.at_least}" if one.at_least else none
    return number(one)


def _variants(answers: Answers) -> Iterator[Table]:
    if len(answers.sizes) > 1:
        yield Table.of(
            list(zip(answers.names, answers.sizes, strict=True)),
            Col("plan", lambda item: item[0]),
            Col("users that fit", lambda item: number(item[1].answer)),
            Col("limit", lambda item: words.LIMITS[item[1].answer.limit]),
            name="size-plans",
            caption="What would a change bring?",
        )


def number(best: Fits) -> Estimate | str:
    """Cell of the users who meet a goal."""
    if best.users is not None:
        return best.users
    if best.limit == "unmeasured":
        return "not known"
    if best.at_most is None:
        return f"at least {best.at_least}" if best.at_least or best.limit != AS_MEASURED else "not known"
    return f"{best.at_least} to {best.at_most}" if best.at_least else f"at most {best.at_most}"


def _predictions(size: Size) -> Table:
    return Table.of(
        size.rows,
        Col("users", lambda row: row.users),
        Col("response", lambda row: row.response),
        Col("90 % within", lambda row: row.p90),
        Col("throughput", lambda row: row.throughput),
        Col("CPUs busy", lambda row: row.utilisation, unit="share"),
        Cols(
            ["memory suffices"] if size.rows and size.rows[0].memory is not None else [],
            lambda row: [] if row.memory is None else [row.memory],
            unit="share",
        ),
        name="size-users",
        caption="Predicted by number of users",
    )


def _checks(checked: Sequence[Checked]) -> Table:
    rivals = list(dict.fromkeys(name for one in checked for name in one.rivals))
    return Table.of(
        checked,
        Col("users", lambda one: one.users),
        Col("response, predicted", lambda one: one.predicted),
        Col("measured", lambda one: one.measured),
        Col("error", lambda one: f"{100 * one.error:+.0f} %"),
        Col("throughput, predicted", lambda one: one.throughput_predicted),
        Col("measured, throughput", lambda one: one.throughput_measured),
        Cols(
            [f"error of the {name}" for name in rivals],
            lambda one: [
                f"{100 * (one.rivals[name] / one.measured.value - 1.0):+.0f} %"
                if name in one.rivals
                else None
                for name in rivals
            ],
        ),
        name="size-checked",
        caption="Own error: the upper numbers of users, predicted from the lower ones",
    )


def _work(answers: Answers) -> Table:
    measured, work = answers.measured, answers.fitted
    draws = work.draws

    def of(name: str, values: Sequence[float]) -> tuple[str, Estimate]:
        import numpy as np

        low, middle, high = np.quantile(values, (0.025, 0.5, 0.975))
        return name, Estimate(
            value=float(middle), unit="s", low=float(low), high=float(high), n=measured.n, method="fit"
        )

    rows = [
        of("CPU time of an interaction, idle machine", [one.cpu_s for one in draws]),
        of("one at a time (disk, lock)", [one.serial_s for one in draws]),
        of("other waits", [one.delay_s for one in draws]),
        of("think time", [one.think_s for one in draws]),
    ]
    return Table.of(
        rows,
        Col("quantity", lambda row: row[0]),
        Col("time", lambda row: row[1]),
        name="size-work",
        caption=f"Work of an interaction, {'fitted' if measured.stretches else 'as given'}",
        folded=True,
    )


def _figures(answers: Answers) -> Iterator[Figure]:
    size = answers.first
    measured = [] if not size.found.plan.is_as_measured else list(answers.measured.stretches)
    drawn = [row for row in size.course if row.users <= _shown_to(answers)]
    yield _figure(
        "response",
        "Response time",
        [Point(key=PREDICTED, x=row.users, label=str(row.users), y=row.response) for row in drawn],
        [Point(key=MEASURED, x=one.users, label=str(one.users), y=one.response) for one in measured],
        "response time [s]",
    )
    yield _figure(
        "throughput",
        "Throughput",
        [Point(key=PREDICTED, x=row.users, label=str(row.users), y=row.throughput) for row in drawn],
        [Point(key=MEASURED, x=one.users, label=str(one.users), y=one.throughput) for one in measured],
        "interactions per second",
    )
    yield from halves(answers)


def halves(answers: Answers) -> Iterator[Figure]:
    """Prediction from the lower half of the measured numbers of users, with the upper half drawn on it."""
    found = from_lower_half(answers.measured)
    if not found:
        return
    used = (len(found) + 1) // 2
    points = [Point(key=PREDICTED, x=users, label=str(users), y=response) for users, response in found]
    for at, one in enumerate(answers.measured.stretches):
        key = USED if at < used else HELD_OUT
        points.append(Point(key=key, x=one.users, label=str(one.users), y=one.response))
    series = Series(points, order=(PREDICTED, USED, HELD_OUT))
    title = "Predicted from the lower half of the loads"
    yield Figure(
        name="size-halves",
        title=title,
        chart=series.curves(Axis("users"), Axis.from_zero("response time [s]", series.rows())),
        data=series.table("size-halves-data", title, "users", folded=True),
        alt=f"Mean response, predicted: {series.course(PREDICTED, 'users')}; measured and not used for it: "
        f"{series.course(HELD_OUT, 'users')}.",
        keys=series.legend,
        half=True,
    )


def _shown_to(answers: Answers) -> int:
    """Users up to which curves are drawn."""
    size = answers.first
    fitting = size.found.number
    asked = max((row.users for row in size.rows), default=1)
    if size.found.is_refuted:
        return max(asked, answers.measured.peak)
    return int(max(asked, min(answers.measured.peak, 4 * fitting), 1.5 * fitting, 2))


def _figure(name: str, title: str, curve: list[Point], measured: list[Point], axis: str) -> Figure:
    series = Series([*curve, *measured], order=(PREDICTED, MEASURED) if measured else (PREDICTED,))
    return Figure(
        name=f"size-{name}",
        title=f"{title} by number of users",
        chart=series.curves(Axis("users"), Axis.from_zero(axis, series.rows()), dotted=bool(measured)),
        data=series.table(f"size-{name}-data", f"{title} by number of users", "users", folded=True),
        alt=f"{title}, predicted: {series.course(PREDICTED, 'users')}.",
        keys=series.legend,
        half=True,
    )


def _method(answers: Answers, agreement: float) -> str:
    origin = (
        "CPU time, think time and response time are measured by number of users; what the response has "
        "beyond CPU time and the wait for it is fitted, as a delay and as a station that serves one at a "
        "time. "
        if answers.measured.stretches
        else "Work, think time and memory are those of the file, drawn from their intervals. "
    )
    return (
        f"{origin}Means: exact mean value analysis, with background load as arrivals ({SOURCE}). "
        "Percentiles: simulation with the distribution of CPU times, within "
        f"{100 * agreement:.0f} % of the means. Intervals: over draws from all that agrees with the "
        "figures, the error of the model (5 %) included."
    )


def plan_words(plan: Plan) -> str:
    """Plan in words: ``4 CPUs, 64 GB``."""
    parts = [
        *([shown.count(plan.cpus, "CPU")] if plan.cpus else []),
        *([f"CPUs {plan.cpu_speed:g} times as fast"] if plan.cpu_speed != 1.0 else []),
        *([f"disk {plan.disk_speed:g} times as fast"] if plan.disk_speed != 1.0 else []),
        *([shown.quantity(plan.memory_bytes, "byte")] if plan.memory_bytes else []),
        *([f"swap at {shown.quantity(plan.swap_speed, 'byte')}/s"] if plan.swap_speed else []),
        *([f"think {shown.quantity(plan.think_s, 's')}"] if plan.think_s is not None else []),
        *([f"CPU time x {plan.cpu:g}"] if plan.cpu != 1.0 else []),
        *([f"other time x {plan.rest:g}"] if plan.rest != 1.0 else []),
        *([f"memory of a user x {plan.memory:g}"] if plan.memory != 1.0 else []),
        *(f"class {name} x {factor:g}" if factor else f"no class {name}" for name, factor in plan.mix),
        *(words_ for one in plan.own for words_ in _own_words(one)),
        *([plan.scheduler.words] if plan.scheduler != SHARING else []),
    ]
    return ", ".join(parts) or "as measured"


def _own_words(one: ClassPlan) -> Iterator[str]:
    """Changes of a class of users."""
    if one.users is not None:
        yield f"{one.users} users of {one.name}"
    if one.think_s is not None:
        yield f"think {shown.quantity(one.think_s, 's')} of {one.name}"
    for factor, what in ((one.cpu, "CPU time"), (one.rest, "other time"), (one.memory, "memory of a user")):
        if factor != 1.0:
            yield f"{what} of {one.name} x {factor:g}"
