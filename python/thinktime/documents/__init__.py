"""Documents: sections of sentences, tables and figures, and their output formats.

A section turns the result of one question into a `Section`. It declares each thing once:

- a table from records, with columns that define their cells (`Table.of`, `Col`, `Cols`);
- a figure from its points (`Series`): chart, data table and words follow from one list;
- caveats as a table of words, one entry for each kind of `Caveat` in the result (`wording.worded`).

Examples
--------
>>> from thinktime.documents.charts.axis import Axis
>>> from thinktime.documents.document import Col, Figure, Key, Section, Table
>>> from thinktime.documents.series import Point, Series
>>> from thinktime.documents.wording import worded
>>> from thinktime.stats.estimate import Caveat, Estimate
>>> costs = {"fork": Estimate(value=377e-6, unit="s", low=365e-6, high=389e-6, n=60, method="mean")}
>>> key = Key("by regression", colour="regression", shape="circle")
>>> series = Series([Point(key=key, label=name, y=cost) for name, cost in costs.items()], unit="s")
>>> WORDS = {"few_intervals": lambda n: f"Only {n} intervals: record longer."}
>>> section = Section(
...     name="overhead",
...     title="What does each request cost?",
...     summary=(f"CPU time of one request: {series.listed()}.",),
...     tables=(
...         Table.of(
...             costs.items(),
...             Col("request", lambda item: item[0]),
...             Col("cost", lambda item: item[1], unit="s"),
...             name="overhead-costs",
...             caption="System time by request",
...         ),
...     ),
...     figures=(
...         Figure(
...             name="overhead-chart",
...             title="What one request costs",
...             chart=series.dots(Axis.logarithmic("CPU time", series.values("value", "high"), "s")),
...             data=series.table("overhead-chart-data", "CPU time of one request", "request"),
...             alt=f"{series.listed()}. Lines are the intervals.",
...             keys=series.legend,
...         ),
...     ),
...     caveats=worded([Caveat("few_intervals", n=12)], WORDS),
... )
>>> section.caveats
('Only 12 intervals: record longer.',)
>>> section.figures[0].data.rows == section.tables[0].rows
True
"""
