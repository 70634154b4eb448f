"""Metrics of Prometheus: scrapes in the text formats, and the JSON of a range query.

Scrapes are the text that an exporter answers (Prometheus's text format or OpenMetrics), several in one file
or in the files of a folder. The time of a scrape is that of a line ``# time SECONDS`` before it, of its
samples where they have one, of node_exporter's ``node_time_seconds``, or that of the file. From the JSON of
``/api/v1/query_range`` come series of raw counters; what is computed from them (``rate``) has lost its
name, and is not read.

node_exporter fills `samples`, `cpus`, `disks` and `interfaces`; cAdvisor `groups`; process-exporter
`commands`; vLLM columns of its own in `samples`.

**Limitations.**
Users, exact CPU time and single requests are not among these metrics: their columns are null.
process-exporter names no user. cAdvisor's counters of a container have other times than the scrape, so that
single intervals are off where it has no time stamps of its own. A histogram gives its number and its sum,
no quantile. Where a counter fell it was reset, and the amount of that interval is null. A total over
devices is null in the interval in which one comes or goes, but for interfaces called veth. Metrics of
cAdvisor and vLLM are read as their documentation describes them: no file that these two wrote was at hand.
"""

from __future__ import annotations

import re

from thinktime.sources.importers.importer import Head, Importer, Opened, Source

__all__ = ["PrometheusImporter"]

_TYPE = re.compile(rb"^# (?:TYPE|HELP|UNIT|time) \S+", re.MULTILINE)
_SERIES = re.compile(
    rb"^[a-zA-Z_:][a-zA-Z0-9_:]*(?:\{[^\n]*\})? +[-+0-9.eEInfaN]+(?: +[-0-9.eE]+)?\s*$", re.MULTILINE
)


class PrometheusImporter(Importer):
    """Scrapes of exporters, and range queries."""

    name = "prometheus"
    help = (
        "scrapes of exporters (Prometheus text or OpenMetrics), in one file or a folder of files, or the "
        "JSON of a "
        "range query"
    )
    folders = True

    def detect(self, head: Head, *, asked: bool) -> str | None:
        """``text`` for scrapes, ``json`` for a range query; None if it is neither."""
        text = head.text
        if text.startswith(b"{"):
            is_query = b'"resultType"' in head.data or b'"__name__"' in head.data
            return "json" if (asked or is_query) and not head.folder else None
        if asked and not head.data.startswith((b"PAR1", b"\x7fELF")):
            return "text"
        return "text" if _TYPE.search(text) and _SERIES.search(text) else None

    def open(self, source: Source) -> Opened:
        """Opened scrapes, or the answer of a query."""
        if source.form == "json":
            from thinktime.sources.importers.prometheus.query import opened
        else:
            from thinktime.sources.importers.prometheus.scrapes import opened
        return opened(source.path, source.problems)
