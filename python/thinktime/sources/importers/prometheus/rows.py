"""Series of the exporters, each with its place in the log, and what they say of the machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thinktime.errors import InputError
from thinktime.sources.importers.interval import Row
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.prometheus.rules import BOOT, PREFIXES, RULES, TIME, UNAME
from thinktime.sources.importers.readings import Rows, Scrape, Series, group_names

SERIES_MAX = 200_000
"""Most series of a scrape that are kept."""
KEY_MAX = 400
"""Longest name of a device, group or command."""
_KEYS = {
    "cpus": ("cpu",),
    "disks": ("device",),
    "interfaces": ("device",),
    "groups": ("id",),
    "commands": ("groupname",),
}
_CPU = re.compile(r"\d{1,6}", re.ASCII)


@dataclass(slots=True, kw_only=True)
class Known:
    """Series seen so far, each read once, and what they say of the machine."""

    problems: Problems
    machine: dict[str, Any] = field(default_factory=dict)
    series: dict[str, Series | None] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)
    """Instance of each exporter."""
    metrics: set[str] = field(default_factory=set)
    """Names of the metrics that are read."""
    kept: int = 0

    def of(self, name: str, labels: Mapping[str, str], label: str) -> Series | None:
        """Place of a series; None if it is not read.

        Raises
        ------
        InputError
            It is of another machine than a series of the same exporter before it.
        """
        rule = RULES.get(name)
        if name == UNAME:
            self._instance(name, labels)
            self._uname(labels)
        if rule is None:
            return None
        self._instance(name, labels)
        column = rule.columns.get(labels.get(rule.by, ""), "") if rule.by else rule.column
        key = "".join(labels.get(item, "") for item in _KEYS.get(rule.table, ()))
        if not column or (rule.table in _KEYS and not key):
            return None
        if len(key) > KEY_MAX or (rule.table == "cpus" and not _CPU.fullmatch(key)):
            self.problems.add("damaged_record", f"{label[:KEY_MAX]}: is no name of one of {rule.table}")
            return None
        if self.kept >= SERIES_MAX:
            self.problems.add(
                "unread_series",
                f"there are more than {SERIES_MAX} series that could be read; the others are left out",
            )
            return None
        self.kept += 1
        self.metrics.add(name)
        names = _group(key, labels) if rule.table == "groups" else {}
        return Series(rule=rule, column=column, key=key, label=label[:KEY_MAX], names=names)

    def _instance(self, name: str, labels: Mapping[str, str]) -> None:
        prefix = next(item for item in PREFIXES if name.startswith(item))
        instance = labels.get("instance", "")
        first = self.instances.setdefault(prefix, instance)
        if first != instance:
            raise InputError(
                f"{name}: is of {instance or 'no instance'} and of {first or 'no instance'}; a log is of "
                f"one machine: "
                f'ask for one, as in {name}{{instance="{first or instance}"}}'
            )

    def _uname(self, labels: Mapping[str, str]) -> None:
        facts = {"nodename": "hostname", "sysname": "system", "release": "kernel", "machine": "architecture"}
        self.machine.update(
            {facts[name]: text[:200] for name, text in labels.items() if name in facts and text}
        )


def _group(path: str, labels: Mapping[str, str]) -> Row:
    """Texts of a control group by the labels of cAdvisor: with the kubelet's, of pod and container."""
    pod = labels.get("pod") or labels.get("pod_name") or labels.get("container_label_io_kubernetes_pod_name")
    container = labels.get("container") or labels.get("container_name") or labels.get("name")
    if container and container != "POD":
        name, kind = f"{pod}/{container}" if pod else container, "container"
    elif pod:
        name, kind = pod, "pod"
    else:
        return {name: text[:KEY_MAX] for name, text in group_names(path).items()}
    return {"name": name[:KEY_MAX], "kind": kind}


__all__ = ["BOOT", "SERIES_MAX", "TIME", "Known", "Rows", "Scrape", "Series"]
