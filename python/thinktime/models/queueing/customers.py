"""Classes of customers of a network: users who think between interactions, or arrivals from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.models.prediction import SaturatedError, at_least_zero, count, positive
from thinktime.models.queueing.networks import Station
from thinktime.models.uncertain import Known, point
from thinktime.stats import arguments

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Customers:
    """Class of customers of a network.

    Raises
    ------
    InputError
        A number is out of range, or the class has neither users nor arrivals, or both.
    TypeError
        An argument is of the wrong kind.
    """

    name: str
    """Name, for messages."""
    _: KW_ONLY
    users: int | None = None
    """Number of users, who think and then interact: a closed class."""
    think_s: Known = 0.0
    """Mean think time of a user [s]."""
    arrivals_per_s: Known | None = None
    """Rate of a Poisson stream of interactions from outside, which leave when done [1/s]: an open class."""
    priority: int = 0
    """Priority at stations that have priorities; 0 is the most urgent."""
    weight: float = 1.0
    """Weight at stations that are shared by weights."""

    def __post_init__(self) -> None:
        """Check every field."""
        if not isinstance(self.name, str):
            raise TypeError(f"name is {arguments.shown(self.name)}; give the name of the class")
        place = f"class {self.name}:"
        if (self.users is None) == (self.arrivals_per_s is None):
            given = "neither users nor" if self.users is None else "both users and"
            raise InputError(f"{place} it has {given} arrivals_per_s; give one of them")
        at_least_zero(f"{place} think_s", self.think_s)
        if self.users is not None:
            count(f"{place} users", self.users, 0)
        if self.arrivals_per_s is not None:
            positive(f"{place} arrivals_per_s", self.arrivals_per_s)
            if point(self.think_s) > 0.0:
                raise InputError(f"{place} it has arrivals and think_s; users alone think")
        count(f"{place} priority", self.priority, 0)
        positive(f"{place} weight", self.weight)

    @property
    def open(self) -> bool:
        """True if the customers come from outside."""
        return self.users is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Network in arrays: rows are stations, columns classes."""

    stations: Sequence[Station]
    customers: Sequence[Customers]
    demands: Array
    """Service time of an interaction, over all its visits [s]."""
    visits: Array
    """Visits of an interaction."""
    open: NDArray[np.bool_]
    """True for a class that comes from outside."""
    users: Array
    """Users of each class; 0 for an open class."""
    think: Array
    """Think time of each class [s]."""
    arrivals: Array
    """Arrival rate of each class [1/s]; 0 for a closed one."""

    @classmethod
    def of(cls, stations: Sequence[Station], customers: Sequence[Customers]) -> Network:
        """Network of the arguments of a model, checked against each other.

        Raises
        ------
        InputError
            No station or class, a station whose demands or visits are not one for each class, two of the
            same name, or a class that takes no time.
        TypeError
            An argument is of the wrong kind.
        """
        stations = arguments.records(stations, Station, "stations", least=1)
        customers = arguments.records(customers, Customers, "customers", least=1)
        classes = len(customers)
        for kind, names in (
            ("stations", [one.name for one in stations]),
            ("classes", [one.name for one in customers]),
        ):
            if len(set(names)) < len(names):
                raise InputError(f"{kind} {', '.join(names)}: two have the same name")
        for station in stations:
            if len(station.demands) not in (1, classes):
                given = len(station.demands)
                raise InputError(
                    f"station {station.name}: demand_s has {given} values; give {classes}, one per class"
                )
        demands = np.array([station.demands * (classes // len(station.demands)) for station in stations])
        think = np.array([point(one.think_s) for one in customers])
        for one, total in zip(customers, think + demands.sum(axis=0), strict=True):
            if total == 0.0:
                raise InputError(
                    f"class {one.name}: it has neither demand nor think time; give a time above 0"
                )
        return cls(
            stations=stations,
            customers=customers,
            demands=demands,
            visits=np.array([station.visits_of(classes) for station in stations]),
            open=np.array([one.open for one in customers], dtype=np.bool_),
            users=np.array([one.users or 0.0 for one in customers]),
            think=think,
            arrivals=np.array(
                [0.0 if one.arrivals_per_s is None else point(one.arrivals_per_s) for one in customers]
            ),
        )

    @property
    def offered(self) -> Array:
        """Work that open classes bring to each station per second: busy servers, if it is not saturated."""
        return self.demands @ self.arrivals

    @property
    def capacity(self) -> Array:
        """Largest number of seconds of work per second at each station; infinite at a delay."""
        return np.array([station.capacity for station in self.stations])

    def check_unsaturated(self) -> None:
        """Refuse open classes that bring more work than a station can do.

        Raises
        ------
        SaturatedError
            A station is saturated: there is no steady state.
        """
        for station, offered, capacity in zip(self.stations, self.offered, self.capacity, strict=True):
            if offered >= capacity:
                loads = (self.offered / self.capacity).tolist()
                raise SaturatedError(
                    f"station {station.name}: arrivals bring {offered:g} s of work per second, and it can do "
                    f"{capacity:g}; give fewer arrivals, less demand or more servers",
                    {one.name: load for one, load in zip(self.stations, loads, strict=True)},
                )
