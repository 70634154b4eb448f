"""One list of points gives the chart, the data table and the words of a figure."""

import pytest

from thinktime.documents.charts import estimated
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Cols, Column, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import worded
from thinktime.escape import escaped
from thinktime.stats.estimate import Caveat, Estimate

OURS = Key("by regression", colour="regression", shape="circle")
THEIRS = Key("measured directly", colour="direct", shape="diamond")


def cost(value, unit="s"):
    return Estimate(
        value=value, unit=unit, n=30, method="mean", low=value - abs(value) / 5, high=value + abs(value) / 5
    )


def marks(chart):
    """Data of every layer of a chart, by the fields that they have."""
    spec = chart()
    sets = [layer["data"]["values"] for layer in spec["layer"] if "values" in layer.get("data", {})]
    return sets or [spec["data"]["values"]]


def dots():
    return Series(
        [
            Point(key=OURS, label="fork", y=cost(400e-6)),
            Point(key=THEIRS, label="fork", y=cost(380e-6)),
            Point(key=OURS, label="page fault", y=cost(-2e-6)),
            Point(key=THEIRS, label="page fault", y=None),
        ],
        unit="s",
    )


def test_table_has_a_row_for_each_place_and_a_column_for_each_key():
    table = dots().table("costs-data", "Costs", "request")
    assert table.columns == (
        Column("request"),
        Column("by regression", unit="s"),
        Column("measured directly", unit="s"),
    )
    assert table.rows == (("fork", cost(400e-6), cost(380e-6)), ("page fault", cost(-2e-6), None))


def test_words_list_the_places_of_one_key():
    assert (
        escaped(dots().listed()).replace("\N{NO-BREAK SPACE}", " ")
        == "fork 400 ± 80 µs and page fault −2.00 ± 0.40 µs"
    )
    assert (
        dots().listed(OURS, interval=False).replace("\N{NO-BREAK SPACE}", " ")
        == "fork 400 µs and page fault −2.00 µs"
    )


def test_logarithmic_chart_leaves_out_what_is_not_positive_and_cuts_intervals_at_its_end():
    axis = Axis("cost", log=True, low=350e-6, high=1e-3)
    drawn = dots().dots(axis)().__str__()
    assert "page fault" not in drawn
    rows = dots().rows()
    assert [row["low"] for row in rows[:2]] == pytest.approx([320e-6, 304e-6])
    assert "0.00032" not in drawn


def test_points_are_drawn_relative_to_another_and_cut():
    series = Series([Point(key=OURS, label="fork", y=cost(8.0), relative_to=2.0)], unit="s")
    (row,) = series.rows()
    assert (row["value"], row["low"], row["high"]) == pytest.approx((4.0, 3.2, 4.8))
    assert row["shown"].startswith("8.0")
    drawn = str(series.dots(Axis("relative"), cut=(-2.0, 4.0))())
    assert "4.8" not in drawn
    assert series.table("t", "T", "request").rows == (("fork", cost(8.0)),)


def test_bars_are_stacked_and_filled_on_demand():
    parts = (Key("user", colour="user"), Key("idle", colour="other"))
    series = Series([Point(key=key, label="log", y=0.25) for key in parts], unit="share")

    def ends(chart):
        (rows,) = [values for values in marks(chart) if "start" in values[0] and "middle" not in values[0]]
        return [(row["start"], row["end"]) for row in rows]

    assert ends(series.bars("share")) == [(0.0, 0.25), (0.25, 0.5)]
    assert ends(series.bars("share", filled=True)) == [(0.0, 0.5), (0.5, 1.0)]


def test_curves_carry_points_laid_over_them():
    line = Series([Point(key=OURS, x=x, y=cost(x)) for x in (1.0, 2.0)])
    over = Series([Point(key=THEIRS, x=1.5, y=1.6)])
    y = Axis.from_zero("time [s]", line.rows())
    assert (
        len(line.curves(Axis("users"), y, over=over)()["layer"])
        == len(line.curves(Axis("users"), y)()["layer"]) + 1
    )
    counted = Axis("users", ticks=(1.0, 2.0), format=",d")
    assert line.curves(Axis("users"), y)() == estimated.curves(line.rows(), line.keys, counted, y)


def test_course_of_a_curve_skips_points_with_little_data():
    points = [Point(key=OURS, label=f"{x} users", x=x, y=float(x), few=x == 9) for x in (2, 5, 9)]
    words = Series(points, unit="s").course(OURS).replace("\N{NO-BREAK SPACE}", " ")
    assert words == "2.00 s with 2 users, 5.00 s with 5 users"


def test_table_of_records_reads_each_cell_by_its_column():
    table = Table.of(
        [("cp67", (1, 2)), ("ctss", (3, 4))],
        Col("log", lambda item: item[0]),
        Cols(["first", "second"], lambda item: item[1], unit="s"),
        name="t",
        caption="T",
    )
    assert table.columns == (Column("log"), Column("first", unit="s"), Column("second", unit="s"))
    assert table.rows == (("cp67", 1, 2), ("ctss", 3, 4))


def test_caveats_are_put_into_the_words_of_their_kind():
    words = {"few": lambda n: f"only {n}", "wide": lambda: "wide"}
    assert worded([Caveat("wide"), Caveat("few", n=3)], words) == ("wide", "only 3")
    with pytest.raises(KeyError):
        worded([Caveat("unheard of")], words)


def test_counts_on_an_axis_have_no_decimals_and_other_numbers_keep_their_labels():
    def labels(*places):
        points = [Point(key=OURS, x=float(place), y=0.5) for place in places]
        spec = Series(points).curves(Axis("users"), Axis("s", low=0.0, high=1.0))()
        axis = spec["layer"][0]["encoding"]["x"]["axis"]
        return axis.get("values"), axis.get("format")

    assert labels(1, 2, 4) == ([1.0, 2.0, 4.0], ",d")
    assert labels(1, 2.5, 4) == (None, None)
    assert labels(*range(100)) == (None, None)
