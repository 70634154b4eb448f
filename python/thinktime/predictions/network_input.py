"""Networks as users write them: in a TOML or JSON file, and as options that replace its parts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinktime import toml
from thinktime.errors import InputError, offered
from thinktime.models.queueing.customers import Customers
from thinktime.models.queueing.networks import Station
from thinktime.models.queueing.routing import visits
from thinktime.models.uncertain import Known, scaled
from thinktime.predictions.classes import ClassNetwork
from thinktime.predictions.inputs import exact, number, seconds, whole

KEYS = ("stations", "classes", "think_time", "users", "route", "quantiles")
CLASS_KEYS = ("users", "arrivals", "think_time", "priority", "weight", "route")
STATION_KEYS = ("demand", "service", "visits", "servers", "discipline", "variation")


def read(path: Path | None) -> dict[str, Any]:
    """Table of a network in a TOML or JSON file, checked for unknown keys.

    Raises
    ------
    InputError
        The file cannot be read, or has a key that a network does not have.
    """
    if path is None:
        return {}
    table = _json(path) if path.suffix == ".json" else toml.read(path)
    _check_keys(table, KEYS, f"{path}: ", "a network")
    for name in ("stations", "classes"):
        if not isinstance(table.get(name, {}), Mapping):
            raise InputError(f"{path}: {name}: is no table; give [{name}.NAME]")
    return table


def _json(path: Path) -> dict[str, Any]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON: {error}") from None
    if not isinstance(table, dict):
        raise InputError(f"{path}: is no table; give an object with {', '.join(KEYS)}")
    return table


def with_options(table: Mapping[str, Any], stations: Sequence[str], classes: Sequence[str]) -> dict[str, Any]:
    """Table with the stations and classes of options in place of those of the same name."""
    result = dict(table)
    result["stations"] = {**table.get("stations", {}), **dict(_station_text(text) for text in stations)}
    result["classes"] = {**table.get("classes", {}), **dict(_class_text(text) for text in classes)}
    return result


def _station_text(text: str) -> tuple[str, dict[str, Any]]:
    """Name and keys of a station, from NAME=TIME[/TIME..][,KEY=VALUE..]."""
    pairs = _pairs(text, f"--station {text}: give NAME=TIME[,KEY=VALUE..], such as cpu=30ms,servers=2")
    (name, demand), *others = pairs
    given = {key: value.split("/") if "/" in value else value for key, value in [("demand", demand), *others]}
    return name, given


def _class_text(text: str) -> tuple[str, dict[str, Any]]:
    """Name and keys of a class, from NAME,KEY=VALUE.."""
    name, comma, rest = text.partition(",")
    remedy = f"--class {text}: give NAME,KEY=VALUE.., such as editing,users=20,think_time=10s"
    if not name or "=" in name or not comma:
        raise InputError(remedy)
    return name, dict(_pairs(rest, remedy))


def _pairs(text: str, remedy: str) -> list[tuple[str, str]]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(key and equals and value for key, equals, value in pairs):
        raise InputError(remedy)
    return [(key.strip(), value.strip()) for key, _, value in pairs]


def single_class(table: Mapping[str, Any]) -> tuple[Station, ...]:
    """Stations of a network of one class.

    Raises
    ------
    InputError
        A key is unknown, or a value cannot be read.
    """
    routes = {"": table["route"]} if "route" in table else {}
    _check_places(routes, table.get("stations", {}))
    return tuple(_station(name, entry, [""], routes) for name, entry in table.get("stations", {}).items())


def several_classes(table: Mapping[str, Any], quantiles: tuple[float, ...]) -> ClassNetwork:
    """Network of several classes.

    Raises
    ------
    InputError
        A key is unknown, a value cannot be read, or numbers of users are given outside of the classes.
    """
    for name in ("users", "think_time", "route"):
        if name in table:
            raise InputError(f"{name}: is given beside classes; give it to each class")
    customers, routes = [], {}
    for name, entry in table["classes"].items():
        place = f"class {name}: "
        if not isinstance(entry, Mapping):
            raise InputError(f"{place}is no table; give users or arrivals")
        _check_keys(entry, CLASS_KEYS, place, "a class")
        if "route" in entry:
            routes[name] = entry["route"]
        customers.append(_customers(name, entry, place))
    _check_places(routes, table["stations"])
    stations = tuple(
        _station(name, entry, list(table["classes"]), routes) for name, entry in table["stations"].items()
    )
    return ClassNetwork(
        stations=stations,
        customers=tuple(customers),
        quantiles=quantiles,
        routes={name: route for name, route in routes.items() if isinstance(route, Mapping)},
    )


def _customers(name: str, entry: Mapping[str, Any], place: str) -> Customers:
    readers: dict[str, tuple[str, Callable[[object, str], Any]]] = {
        "users": ("users", whole),
        "arrivals": ("arrivals_per_s", number),
        "think_time": ("think_s", seconds),
        "priority": ("priority", lambda given, item: int(exact(number, given, item))),
        "weight": ("weight", lambda given, item: exact(number, given, item)),
    }
    given = {
        field: read_(entry[key], f"{place}{key}") for key, (field, read_) in readers.items() if key in entry
    }
    return Customers(name, **given)


def _station(name: str, entry: object, classes: Sequence[str], routes: Mapping[str, Any]) -> Station:
    """Station with the demands of the classes in their order."""
    place = f"station {name}: "
    keys = dict(entry) if isinstance(entry, Mapping) else {"demand": entry}
    if isinstance(entry, Mapping) and entry and set(entry) <= set(classes):
        keys = {"demand": entry}
    _check_keys(keys, STATION_KEYS, place, "a station")
    if ("demand" in keys) == ("service" in keys):
        remedy = "give demand, such as 40ms, or service, the time of a visit"
        kind = (
            "neither its demand nor its service is" if "demand" not in keys else "both demand and service are"
        )
        raise InputError(f"{place}{kind} given; {remedy}")
    numbers = _visits(name, keys, classes, routes, place)
    item = f"{place}{'demand' if 'demand' in keys else 'service'}"
    times = _each(keys.get("demand", keys.get("service")), classes, seconds, item)
    if "service" in keys:
        times = [
            scaled(time, number_) if number_ else 0.0 for time, number_ in zip(times, numbers, strict=True)
        ]
    given: dict[str, Any] = {}
    if "servers" in keys:
        given["servers"] = (
            math.inf if keys["servers"] == "delay" else whole(keys["servers"], f"{place}servers")
        )
    if "discipline" in keys:
        given["discipline"] = str(keys["discipline"])
    if "variation" in keys:
        given["variation"] = exact(number, keys["variation"], f"{place}variation")
    visited = tuple(number_ or 1.0 for number_ in numbers)
    return Station(name, tuple(times) if len(classes) > 1 else times[0], visits=visited, **given)


def _visits(
    name: str, keys: Mapping[str, Any], classes: Sequence[str], routes: Mapping[str, Any], place: str
) -> list[float]:
    """Visits of each class to a station: as given, by its route, or one."""
    if "visits" in keys:
        if routes:
            raise InputError(f"{place}visits: is given beside a route; give one of them")
        given = _each(keys["visits"], classes, number, f"{place}visits")
        return [exact(lambda value, _: value, value, f"{place}visits") for value in given]  # type: ignore[arg-type,return-value]
    return [_by_route(routes[one], one).get(name, 0.0) if one in routes else 1.0 for one in classes]


def _by_route(route: object, customer: str) -> dict[Any, float]:
    """Visits to each station by a route: a list of stations in order, or a table of probabilities."""
    item = f"class {customer}: route" if customer else "route"
    if isinstance(route, list):
        return {name: float(route.count(name)) for name in route}
    if not isinstance(route, Mapping) or "start" not in route:
        raise InputError(
            f"{item} is {route!r}; give a list of stations, or a table with start and probabilities"
        )
    table = {name: after for name, after in route.items() if name != "start"}
    try:
        return visits(table, route["start"])
    except (InputError, TypeError) as error:
        raise InputError(f"{item}: {error}") from None


def _check_places(routes: Mapping[str, Any], stations: Mapping[str, Any]) -> None:
    """Refuse a route to a station that there is not: its time would be missing from every figure."""
    for customer, route in routes.items():
        item = f"class {customer}: route" if customer else "route"
        for place in _by_route(route, customer):
            if place not in stations:
                raise InputError(f"{item}: {place}: is no station; {offered(str(place), stations)}")


def _each(
    given: Any, classes: Sequence[str], read_: Callable[[object, str], Known], item: str
) -> list[Known]:
    """Value for each class: of one for all, a list in their order, or a table by name."""
    if isinstance(given, Mapping):
        if unknown := set(given) - set(classes):
            raise InputError(f"{item}: {min(unknown)}: is no class; the classes are {', '.join(classes)}")
        return [read_(given[name], f"{item}: {name}") if name in given else 0.0 for name in classes]
    if isinstance(given, (list, tuple)):
        if len(given) != len(classes):
            wanted = "one" if len(classes) == 1 else f"one, or {len(classes)}, one per class"
            raise InputError(f"{item} has {len(given)} values; give {wanted}")
        return [read_(one, f"{item}: {name}") for one, name in zip(given, classes, strict=True)]
    return [read_(given, item)] * len(classes)


def _check_keys(table: Mapping[str, Any], allowed: Sequence[str], place: str, kind: str) -> None:
    for key in table:
        if key not in allowed:
            raise InputError(f"{place}{key}: is not a key of {kind}; give {', '.join(allowed)}")
