"""The kinds of chart in a report, as Vega-Lite specifications built with Altair.

- `wholes`: parts of a whole, over time, in bars or in a grid;
- `estimated`: estimates with their intervals;
- `scatters`: clouds of points, and frontiers;
- `distributions`: empirical distribution functions and histograms;
- `timelines`: quantities over time, below each other.

They are put together from an `axis`, the `channels` that map fields of the rows, and a `frame` that is the
same for all. A colour is the name of a meaning (`user`, `system`, `disk`) and becomes the CSS variable of
that name, so that one specification serves all pages. The page, or `frame.at_width` without a browser, fills
in widths.
"""
