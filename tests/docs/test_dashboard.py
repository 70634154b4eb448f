"""The dashboard for Grafana asks for metrics that the recorder has, and shows each of them somewhere."""

import itertools
import json
import re
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
def panels():
    return json.loads(DASHBOARD.read_text())["panels"]


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
