"""Throughput and response of a machine with demand paging, and the best number of eligible processes."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from thinktime.documents import format as shown
from thinktime.documents import palette
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Cell, Col, Cols, Document, Figure, Finding, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import capital
from thinktime.models.paging import eligible_limit, throughput
from thinktime.predictions import prediction as predicted
from thinktime.predictions.prediction import modelled
from thinktime.predictions.simulated_multics import SYSTEM, of_parameters
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.models.prediction import Prediction, Quantity

KINDS = ("page_fault", "getwork", "drum_interrupt", "interrupt", "segment_fault", "gate_fault")
LABELS = {
    "throughput_per_s": "interactions per second",
    "response_s": "response time, from input to the end of the work",
    "useful_share": "fraction of the processors' time in user programs",
    "idle_share": "fraction in which they are idle",
    "lock_wait_share": "fraction in which they spin for a lock",
    "eligible_mean": "mean number of eligible processes",
    "active_mean": "mean number of interactions in progress",
    "page_wait_mean_s": "mean time from the request for a page until it is in core",
    "drum_utilisation": "utilisation of the drum",
    "disk_utilisation": "utilisation of a disk arm",
    "page_faults_per_interaction": "page faults per interaction",
    "lifetime_s": "useful time between page faults",
    "pages_held": "pages that an eligible process holds",
    **{f"{kind}_share": f"fraction of the time in {kind.replace('_', ' ')} paths" for kind in KINDS},
    **{f"{kind}_between_s": f"real time between {kind.replace('_', ' ')}s, per processor" for kind in KINDS},
    **{f"{kind}_overhead_s": f"cost of one {kind.replace('_', ' ')}" for kind in KINDS},
}
SIMULATED = {"throughput_per_s": "interactions_per_s"}
"""Quantities of the model whose name in the simulation differs."""
CURVES = {
    "useful_share": palette.state("useful", "line"),
    "idle_share": palette.state("idle", "line"),
}
OBSERVED = {
    "useful_share": palette.state("useful, simulated", "diamond"),
    "idle_share": palette.state("idle, simulated", "diamond"),
}
SHARES = Axis("share of the processors' time", format=".0%", low=0.0, high=1.0)
COMPARED = {
    "useful_share": "useful",
    "idle_share": "idle",
    "page_fault_between_s": "between page faults",
    "throughput_per_s": "interactions",
}
ALONE = {**COMPARED, "response_s": "response", "pages_held": "pages held"}
PAGE_WAIT_ONLY = (
    "The simulation's page wait ends when the interrupt has been handled, the model's when the page has "
    "arrived."
)
"""Note below the table that compares both."""
VARIED = {
    "core": "core (Kwords)",
    "users": "number of users",
    "cpus": "number of processors",
    "max_eligible": "largest number of eligible processes",
}
"""Parameters that may have a range of values, and their names in sentences."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Machine:
    """Prediction of one machine, and its simulation for comparison."""

    value: float
    """Value of the parameter that is varied; nan where none is."""
    prediction: Prediction
    simulated: Mapping[str, Estimate | NotApplicable] | None = None
    """Responses of the simulation by name; None where nothing was simulated."""

    def predicted(self, name: str) -> Estimate:
        """Predicted quantity."""
        return predicted.estimate(self.prediction.quantity(name))

    def observed(self, name: str) -> Estimate | None:
        """The same quantity as simulated; None where the simulation does not have it."""
        response = (self.simulated or {}).get(SIMULATED.get(name, name))
        if not isinstance(response, Estimate):
            return None
        return replace(response, unit=self.prediction.quantity(name).unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Simulation of every predicted machine, for comparison."""

    replications: int
    seed: int


def document(
    parameters: Mapping[str, Any],
    ranges: Mapping[str, Sequence[float]],
    *,
    levels: int = 16,
    simulation: Simulation | None = None,
    show: Callable[[int], None] | None = None,
) -> Document:
    """Document on one machine, its number of eligible processes, and each range of a parameter.

    Parameters
    ----------
    parameters : mapping
        Parameters of the simulated Multics that differ from the defaults.
    ranges : mapping
        Values of parameters among `VARIED`; each range leaves the others unchanged.
    levels : int
        Largest number of eligible processes to search.
    simulation : Simulation, optional
        By default nothing is simulated.
    show : callable, optional
        Called with the number of machines predicted so far.

    Raises
    ------
    InputError
        A parameter is not allowed, or needs something that the model does not have.
    """
    done = itertools.count(1)

    def one(given: Mapping[str, Any], value: float = math.nan) -> Machine:
        found = predict(given, value, simulation=simulation)
        if show is not None:
            show(next(done))
        return found

    multics = of_parameters(parameters)
    facts = [(name, _written(value)) for name, value in multics.parameters.items()]
    warnings = [
        f"The model has no {name}, which the simulation has: {name} = {multics.parameters[name]}."
        for name in multics.ignored
    ]
    sections = [
        machine(one(parameters), facts, warnings),
        eligible(eligible_limit.levels(multics.machine, levels)),
    ]
    for name, values in ranges.items():
        machines = [one({**parameters, name: value}, value) for value in values]
        sections.append(sweep(name, machines))
    replicated = (
        ()
        if simulation is None
        else (
            ("Replications", str(simulation.replications)),
            ("Seed", str(simulation.seed)),
        )
    )
    return Document(
        title="Demand paging: throughput and overhead",
        subtitle=f"The system {SYSTEM}, predicted{', and simulated' if simulation else ''}.",
        findings=tuple(Finding(section.summary[0], section=section.name) for section in sections),
        sections=tuple(sections),
        facts=replicated,
        facts_title="How was it simulated?",
        origin="Made by thinktime: the same parameters and seed give the same page.",
    )


def predict(
    parameters: Mapping[str, Any], value: float = math.nan, *, simulation: Simulation | None = None
) -> Machine:
    """Prediction of one machine, and its simulation; `value` is that of the varied parameter.

    Raises
    ------
    InputError
        A parameter is not allowed, or needs something that the model does not have.
    WorkError
        A conservation law does not hold in the simulation: a defect.
    """
    prediction = throughput.predict(of_parameters(parameters).machine)
    if simulation is None:
        return Machine(value=value, prediction=prediction)
    ran = simulate(SYSTEM, parameters, seed=simulation.seed, replications=simulation.replications)
    responses = {name: ran.estimate(name) for name in ran.units}
    return Machine(value=value, prediction=prediction, simulated=responses)


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def machine(result: Machine, parameters: Sequence[tuple[str, str]], warnings: Sequence[str] = ()) -> Section:
    """Section of one machine, with the names and values of its `parameters`."""
    useful, idle = (shown.estimate(result.predicted(f"{name}_share")) for name in ("useful", "idle"))
    between = shown.estimate(result.predicted("page_fault_between_s"))
    table = Table.of(
        parameters,
        Col("parameter", lambda item: item[0]),
        Col("value", lambda item: item[1]),
        name="paging-machine",
        caption="The machine",
        folded=True,
    )
    return predicted.section(
        "paging",
        "How does the machine spend its time?",
        result.prediction,
        LABELS,
        summary=[
            f"Of the processors' time {useful} is useful work and {idle} idle, the rest overhead; each "
            f"processor has a page fault every {between}."
        ],
        tables=[table] if result.simulated is None else [table, _simulated(result)],
        warnings=warnings,
    )


def _simulated(result: Machine) -> Table:
    """Table of the quantities that prediction and simulation both have."""

    def difference(quantity: Quantity) -> Estimate:
        observed = result.observed(quantity.name)
        assert observed is not None
        value = float(quantity.value) - observed.value
        return Estimate(value=value, unit=observed.unit, n=observed.n, method="difference")

    return Table.of(
        [
            quantity
            for quantity in result.prediction.quantities
            if quantity.name in LABELS and result.observed(quantity.name) is not None
        ],
        Col("quantity", lambda quantity: quantity.name),
        Col("meaning", lambda quantity: LABELS[quantity.name]),
        Col("predicted", predicted.estimate),
        Col("simulated", lambda quantity: result.observed(quantity.name)),
        Col("predicted minus simulated", difference),
        name="paging-simulated",
        caption="Predicted and simulated",
        notes=(PAGE_WAIT_ONLY,),
    )


def eligible(prediction: Prediction) -> Section:
    """Section on the number of processes that are always eligible."""
    best = shown.count(int(prediction.number("optimum")), "process")
    share = shown.quantity(prediction.number("optimum_share"), "share")
    low, high, thrashing = (prediction[name] for name in ("good_from", "good_to", "thrashing_from"))
    return Section(
        name="paging-levels",
        title="How many processes should be eligible?",
        summary=(
            "If a fixed number of processes is always eligible, and each begins with none of its pages in "
            f"core, throughput is greatest with {best}: {share} of the processors' time is useful then. "
            f"From {low:g} to {high:g} processes it is nearly as high (at least 95 % of that).",
            f"The machine thrashes from {thrashing:g} on: its throughput is less than half."
            if math.isfinite(thrashing)
            else "It does not thrash within the range searched.",
        ),
        tables=(
            _levels(prediction),
            _criteria(prediction),
            predicted.assumptions("paging-levels", prediction),
        ),
        figures=(_levels_figure(prediction),),
        method=f"{capital(prediction.method)}. {prediction.source}.",
    )


def _levels(prediction: Prediction) -> Table:
    headings = {
        "useful_share": "useful",
        "idle_share": "idle",
        **{f"{kind}_share": kind.replace("_", " ") for kind in KINDS},
        "page_fault_between_s": "between page faults",
        "throughput_per_s": "interactions",
        "lifetime_s": "lifetime",
        "pages_held": "pages held",
        "page_wait_mean_s": "page wait",
    }

    def cells(number: int) -> list[Cell]:
        values = [
            (float(prediction.array(name)[number - 1]), prediction.quantity(name).unit) for name in headings
        ]
        return [modelled(value, unit) if math.isfinite(value) else None for value, unit in values]

    return Table.of(
        range(1, len(prediction.array("throughput_per_s")) + 1),
        Col("eligible", lambda number: str(number)),
        Cols(tuple(headings.values()), cells),
        name="paging-levels",
        caption="By number of processes that are always eligible",
    )


def _criteria(prediction: Prediction) -> Table:
    throughput = prediction.array("throughput_per_s")
    transfer = shown.quantity(prediction.number("transfer_s"), "s")
    rules = {
        "optimum": "greatest throughput, by search",
        "lifetime_criterion": f"lifetime at least the time of a page's transfer, {transfer} (L = S)",
        "half_criterion": "drum busy at most half the time (50 %)",
        "knee_criterion": "knee of the lifetime function: L(m)/m greatest",
    }

    def reached(name: str) -> Estimate | None:
        number = int(prediction.number(name))
        return modelled(throughput[number - 1] / float(throughput.max()), "share") if number else None

    return Table.of(
        rules,
        Col("rule", lambda name: rules[name]),
        Col("processes", lambda name: str(int(prediction.number(name)) or "none")),
        Col("of the greatest throughput", reached),
        name="paging-criteria",
        caption="Number of eligible processes by each rule",
    )


def _levels_figure(prediction: Prediction) -> Figure:
    numbers = range(1, len(prediction.array("useful_share")) + 1)
    series = Series(
        [
            Point(
                key=key, x=number, label=str(number), y=modelled(prediction.array(name)[number - 1], "share")
            )
            for name, key in CURVES.items()
            for number in numbers
        ]
    )
    useful, last = (
        shown.quantity(float(value), "share")
        for value in (prediction.number("optimum_share"), prediction.array("useful_share")[-1])
    )
    return Figure(
        name="paging-levels-chart",
        title="Useful and idle time against the number of eligible processes",
        chart=series.curves(Axis("eligible processes"), SHARES),
        data=series.table(
            "paging-levels-chart-data", "Useful and idle time by eligible, predicted", "eligible", folded=True
        ),
        alt=(
            f"Useful time is greatest, {useful}, with {int(prediction['optimum'])} "
            f"eligible processes, and is {last} with {numbers[-1]}."
        ),
        keys=series.legend,
    )


def sweep(name: str, machines: Sequence[Machine]) -> Section:
    """Section on machines that differ in the parameter `name`, one of `VARIED`."""
    title = VARIED[name]
    best = max(machines, key=lambda item: float(item.prediction["throughput_per_s"]))
    share = shown.estimate(best.predicted("useful_share"))
    summary = [f"Throughput is greatest where the {title} is {best.value:g}: {share} of the time is useful."]
    if deviations := _deviations(machines):
        worst = max(deviations, key=lambda item: abs(deviations[item]))
        summary.append(
            f"The predicted useful share is at most {100 * abs(deviations[worst]):.1f} points "
            f"{'above' if deviations[worst] > 0 else 'below'} the simulated one, with {title} {worst:g}."
        )
    return Section(
        name=f"paging-{name.replace('_', '-')}",
        title=f"What is the effect of the {title}?",
        summary=tuple(summary),
        tables=(_machines(name, machines),),
        figures=(_sweep_figure(name, machines),),
    )


def _deviations(machines: Sequence[Machine]) -> dict[float, float]:
    """Predicted minus simulated useful share, by value of the parameter that is varied."""
    return {
        item.value: float(item.prediction["useful_share"]) - observed.value
        for item in machines
        if (observed := item.observed("useful_share")) is not None
    }


def _machines(name: str, machines: Sequence[Machine]) -> Table:
    simulated = any(item.simulated is not None for item in machines)
    columns: list[Col[Machine]] = [Col(VARIED[name], lambda item: f"{item.value:g}")]
    for quantity, heading in (COMPARED if simulated else ALONE).items():
        columns.append(Col(heading, partial(Machine.predicted, name=quantity)))
        if simulated:
            columns.append(Col(f"{heading}, simulated", partial(Machine.observed, name=quantity)))
    caption = f"By {VARIED[name]}"
    return Table.of(machines, *columns, name=f"paging-{name.replace('_', '-')}", caption=caption)


def _sweep_figure(name: str, machines: Sequence[Machine]) -> Figure:
    """Figure of the shares against the varied parameter: lines of the model, and simulated points."""
    title, chart = VARIED[name], f"paging-{name.replace('_', '-')}-chart"
    lines = Series(
        [
            Point(
                key=key,
                x=item.value,
                label=f"{item.value:g}",
                y=modelled(item.prediction.number(quantity), "share"),
            )
            for quantity, key in CURVES.items()
            for item in machines
        ]
    )
    points = Series(
        [
            Point(key=key, x=item.value, y=item.observed(quantity))
            for quantity, key in OBSERVED.items()
            for item in machines
            if item.observed(quantity) is not None
        ]
    )
    first, last = machines[0], machines[-1]
    return Figure(
        name=chart,
        title=f"Useful and idle time against {title}",
        chart=lines.curves(Axis(title), SHARES, over=points),
        data=lines.table(f"{chart}-data", f"Useful and idle time by {title}, predicted", title, folded=True),
        alt=(
            f"Predicted useful time is {shown.estimate(first.predicted('useful_share'))} with {title} "
            f"{first.value:g} and {shown.estimate(last.predicted('useful_share'))} with {last.value:g}."
        ),
        keys=(*lines.keys, *points.keys),
    )
