"""Charts that several studies draw: values with intervals by name, and curves."""

from __future__ import annotations

from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Column, Figure
from thinktime.documents.series import Series


def dots(
    name: str,
    title: str,
    series: Series,
    *,
    axis: str,
    headings: tuple[str, str, str],
    alt: str,
    half: bool = False,
) -> Figure:
    """Chart of values with their intervals, one line per label and one colour per key.

    Parameters
    ----------
    name, title : str
    series : Series
    axis : str
        Name of the values, with their unit.
    headings : (str, str, str)
        Names of label, key and value where the pointer rests on a point; the first two head the data table.
    alt : str
        Description of what the chart shows.
    half : bool
        True for half the width of a page.
    """
    label, key, _ = headings
    return Figure(
        name=name,
        title=title,
        chart=series.dots(Axis(axis), named=headings),
        data=series.list_table(f"{name}-data", title, label, key, Column(axis, scaled=False)),
        alt=alt,
        keys=series.keys,
        half=half,
    )


def curves(
    name: str,
    title: str,
    series: Series,
    *,
    x: Axis,
    y: str,
    headings: tuple[Column, str, Column | str],
    alt: str,
    half: bool = False,
) -> Figure:
    """Chart with a curve of each key through its values, from zero upwards.

    Parameters
    ----------
    name, title : str
    series : Series
    x : Axis
    y : str
        Name of the values, with their unit.
    headings : (Column, str, Column or str)
        Of x, key and value in the data table.
    alt : str
        Description of what the chart shows.
    half : bool
        True for half the width of a page.
    """
    return Figure(
        name=name,
        title=title,
        chart=series.curves(x, Axis.from_zero(y, series.rows())),
        data=series.list_table(f"{name}-data", title, *headings),
        alt=alt,
        keys=series.keys,
        half=half,
    )
