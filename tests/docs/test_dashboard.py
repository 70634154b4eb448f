"""The dashboard for Grafana: what Grafana's own types say of it, and which metrics it asks for.

Its queries are put to a real Prometheus in `tests/recorder/test_prometheus.py`.
"""

import copy
import enum
import itertools
import json
import re
import sys
import types
import typing
from pathlib import Path

import pytest

from thinktime.log import vocabulary

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "packaging" / "grafana-dashboard.json"
PAGE = ROOT / "docs" / "how-to" / "watch-with-prometheus.md"
SUBJECTS = {
    "samples": "machine",
    "users": "user",
    "commands": "command",
    "cpus": "cpu",
    "disks": "disk",
    "interfaces": "interface",
    "groups": "group",
}
COLUMNS = 24
"""Width of a dashboard."""


@pytest.fixture(scope="module")
def dashboard():
    return json.loads(DASHBOARD.read_text())


@pytest.fixture(scope="module")
def panels(dashboard):
    """Those with queries, also in rows that are closed."""
    return [one for panel in dashboard["panels"] for one in panel.get("panels", [panel])]


def metrics():
    """Name of every metric, with its labels."""
    found = {}
    for table, subject in SUBJECTS.items():
        columns = vocabulary(table)
        labels = {column.name for column in columns if column.kind == "label"}
        for column in columns:
            if column.kind in ("counter", "gauge"):
                stem = column.name[:-2] + "_seconds" if column.name.endswith("_s") else column.name
                end = "_total" if column.kind == "counter" else ""
                found[f"thinktime_{subject}_{stem}{end}"] = labels
    return found


def asked(text):
    """Metrics and the labels by which sums are made of them."""
    return set(re.findall(r"\bthinktime_(?!recorder)\w+", text))


@pytest.mark.parametrize("path", [DASHBOARD, PAGE], ids=lambda path: path.name)
def test_every_metric_that_is_named_is_one(path):
    text = path.read_text()
    names = {name for name in asked(text) if not name.endswith("_")}
    assert len(names) >= 3
    assert names <= metrics().keys(), names - metrics().keys()


def test_sums_are_by_labels_that_the_metric_has(panels):
    known = metrics()
    for target in (target for panel in panels for target in panel["targets"]):
        labels = {
            label.strip() for by in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in by.split(",")
        }
        shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        for name in asked(target["expr"]):
            assert labels <= known[name], target["expr"]
        assert shown <= labels


def test_counters_are_rates_and_gauges_are_not(panels):
    for target in (target for panel in panels for target in panel["targets"]):
        for name in asked(target["expr"]):
            is_rate = bool(re.search(rf"rate\({name}\b", target["expr"]))
            assert is_rate == name.endswith("_total"), target["expr"]


def test_panels_are_told_apart_and_do_not_overlap(panels):
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["description"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= COLUMNS
    for one, other in itertools.combinations((panel["gridPos"] for panel in panels), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below


@pytest.fixture(scope="module")
def judge():
    """What is wrong with a dashboard, by the types that Grafana publishes for its dashboards."""
    if sys.version_info < (3, 11):
        pytest.skip("Grafana's types need Python 3.11")
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models import dashboard as grafana

    register_default_plugins()

    def judged(dashboard):
        read = grafana.Dashboard.from_json(copy.deepcopy(dashboard))
        written = json.loads(JSONEncoder().encode(read))
        return [*lost(dashboard, written, ""), *wrong(read, grafana.Dashboard, "")]

    return judged


def lost(given, written, place):
    """Places of what Grafana's types do not know: they pass over it when they read."""
    if isinstance(given, dict) and isinstance(written, dict):
        for key, value in given.items():
            yield from lost(value, written[key], f"{place}.{key}") if key in written else [f"{place}.{key}"]
    elif isinstance(given, list) and isinstance(written, list) and len(given) == len(written):
        for at, (one, other) in enumerate(zip(given, written, strict=True)):
            yield from lost(one, other, f"{place}[{at}]")
    elif given != written:
        yield place


def wrong(value, hint, place):
    """Places of values of another type than `hint`; reading does not check them."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        choices = [choice for choice in arguments if choice is type(value)] or arguments
        choices = [choice for choice in choices if (choice is type(None)) == (value is None)]
        yield from min((list(wrong(value, choice, place)) for choice in choices), key=len, default=[place])
    elif origin is typing.Literal:
        yield from [] if value in arguments else [place]
    elif origin is list and isinstance(value, list):
        for at, item in enumerate(value):
            yield from wrong(item, arguments[0], f"{place}[{at}]")
    elif origin is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from wrong(item, arguments[1], f"{place}.{key}")
    elif isinstance(hint, enum.EnumMeta):
        yield from [] if value in {member.value for member in hint} else [place]
    elif type(value).__module__.startswith("grafana_foundation_sdk.models"):
        yield from wrong_members(value, place) if hint is object or isinstance(value, hint) else [place]
    elif hint is float:
        yield from [] if isinstance(value, float | int) and not isinstance(value, bool) else [place]
    elif hint is object:
        # What belongs to a panel of unknown type stays a dictionary.
        yield from [place] if isinstance(value, dict) else []
    elif type(value) is not hint:
        yield place


def wrong_members(model, place):
    for name, hint in typing.get_type_hints(type(model)).items():
        yield from wrong(getattr(model, name), hint, f"{place}.{name}")


def test_grafana_knows_every_member_and_the_type_of_every_value(judge, dashboard):
    assert judge(dashboard) == []


def broken(dashboard, *keys, value, name=None):
    """The dashboard with another value at the place of `keys`, under another name if one is given."""
    other = copy.deepcopy(dashboard)
    held = other
    for key in keys[:-1]:
        held = held[key]
    held.pop(keys[-1], None)
    held[name or keys[-1]] = value
    return other


@pytest.mark.parametrize(
    ("keys", "value", "name", "place"),
    [
        (("refresh",), "30s", "refesh", ".refesh"),
        (("panels", 4, "gridPos", "w"), 12, "width", ".panels[4].gridPos.width"),
        (("panels", 4, "fieldConfig", "defaults", "custom", "drawStyle"), "line", "style", "custom.style"),
        (("panels", 4, "fieldConfig", "defaults", "custom", "drawStyle"), "lines", None, "draw_style"),
        (("panels", 0, "options", "graphMode"), "aera", None, ".panels[0].options.graph_mode"),
        (("panels", 0, "type"), "statistic", None, ".panels[0].options"),
        (("panels", 0, "id"), "first", None, ".panels[0].id_val"),
        (("panels", 0, "datasource", "type"), "promtheus", None, ".panels[0].targets[0]"),
        (("panels", 0, "targets", 0, "expr"), "1", "query", ".panels[0].targets[0].query"),
        (("panels", -1, "panels", 0, "options", "legend", "placement"), "left", None, "legend.placement"),
        (("templating", "list", 1, "refresh"), 7, None, ".templating.list_val[1].refresh"),
    ],
)
def test_a_mistake_in_the_dashboard_is_found(judge, dashboard, keys, value, name, place):
    found = judge(broken(dashboard, *keys, value=value, name=name))
    assert any(one.endswith(place) for one in found), found


def test_units_are_those_of_grafana(judge, panels):
    from grafana_foundation_sdk.models import units

    known = {value for value in vars(units).values() if isinstance(value, str)}
    assert {panel["fieldConfig"]["defaults"]["unit"] for panel in panels} <= known
