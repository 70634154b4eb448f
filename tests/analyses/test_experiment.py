"""The analysis of an experiment: known effects, blocks, gaps, transformations, and what it refuses."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from thinktime.analyses.experiment import sentences, words
from thinktime.analyses.experiment.analysis import Model, analyse
from thinktime.analyses.experiment.section import section
from thinktime.documents import format as shown
from thinktime.documents.render import render_section
from thinktime.errors import InputError
from thinktime.sources.simulated import systems
from thinktime.stats.designs.factorial import full_factorial
from thinktime.stats.designs.transformations import Transformation
from thinktime.stats.estimate import Caveat, NotApplicable

FACTORS = {"scheduler": ["modified", "fb2", "fb_inf"], "slice": [0.1, 0.2], "regions": [3, 4]}


def runs(make, replications=8, factors=FACTORS):
    """A row a cell and replication; `make(cell, replication)` is the response."""
    return pl.DataFrame(
        [
            {**cell, "replication": number, "response_s": float(make(cell, number))}
            for cell in full_factorial(factors)
            for number in range(replications)
        ]
    )


@pytest.fixture(scope="module")
def frame():
    """fb_inf is 1 s faster, 0.2 s slices are 0.3 s slower with four regions only; workloads differ by 1 s."""
    random = np.random.default_rng(1974)
    workloads = random.normal(size=8)

    def make(cell, number):
        together = 0.3 if cell["slice"] == 0.2 and cell["regions"] == 4 else 0.0
        return 5.0 - (cell["scheduler"] == "fb_inf") + together + workloads[number] + 0.05 * random.normal()

    return runs(make)


@pytest.fixture(scope="module")
def result(frame):
    return analyse(frame, response="response_s", factors=list(FACTORS), blocks="replication", unit="s")


def test_effects_that_are_there_and_those_that_are_not(result):
    """At 1 in 10 000 no effect is seen that is not there; those that are have ten errors' size and more."""
    by_name = {source.name: source for source in result.sources}
    there = {"scheduler", "slice", "regions", "slice × regions"}
    assert {name for name, source in by_name.items() if source.p < 1e-4} == there
    assert all(by_name[name].counts for name in there)
    assert [factor.levels for factor in result.factors] == [tuple(levels) for levels in FACTORS.values()]
    assert sum(source.degrees for source in result.sources) == 11
    assert (result.n, result.replications, result.blocks.degrees, result.error.degrees) == (96, (8, 8), 7, 77)
    assert {source.name for source in result.sources if source.per_effect_error.p < 1e-4} == there
    squares = [source.squares for source in (*result.sources, result.blocks, result.error)]
    assert sum(squares) == pytest.approx(result.total_squares)


def test_the_differences_hold_the_true_ones(result):
    """95 % intervals, doubled: wrong less than once in a thousand for seven degrees of freedom."""
    truth = {("modified", "fb2"): 0.0, ("modified", "fb_inf"): -1.0, ("fb2", "fb_inf"): -1.0}
    truth |= {(0.1, 0.2): 0.15, (3, 4): 0.15}
    assert len(result.differences) == 5
    for item in result.differences:
        half = (item.estimate.high - item.estimate.low) / 2
        assert abs(item.estimate.value - truth[item.first, item.second]) < 2 * half
    assert {item.significant for item in result.differences if item.factor != "scheduler"} == {True}


def test_blocks_left_in_hide_what_blocks_taken_out_show(result):
    left = {source.name: source for source in result.without_blocks}
    assert left["error"].degrees == 84
    assert left["error"].mean_square > 50 * result.error.mean_square
    assert not left["slice × regions"].significant
    assert result.efficiency > 50


def test_contrasts_are_paired_within_blocks_too(result):
    by_name = {item.name: item for item in result.contrasts}
    assert by_name["scheduler linear"].coefficients == (("scheduler", (-1.0, 0.0, 1.0)),)
    linear = by_name["scheduler linear"]
    assert linear.paired.value == pytest.approx(linear.estimate.value)
    assert linear.paired.n == 8
    assert linear.paired.low < -1.0 < linear.paired.high
    together = by_name["slice × regions"]
    assert together.estimate.value == pytest.approx(0.3, abs=0.1)
    assert result.contrasts_unknown == ()


def test_cells_and_levels_are_in_the_unit_of_the_response(result, frame):
    cell = result.cells[0]
    values = frame.filter(
        pl.all_horizontal(*(pl.col(name) == level for name, level in zip(FACTORS, cell.levels, strict=True)))
    )
    assert cell.mean.value == pytest.approx(values["response_s"].mean())
    assert cell.deviation == pytest.approx(values["response_s"].std())
    assert cell.mean.unit == "s"
    assert len(result.cells) == 12
    assert len(result.levels) == 7
    fast = next(item for item in result.levels if item.level == "fb_inf")
    assert fast.mean.value == pytest.approx(
        frame.filter(pl.col("scheduler") == "fb_inf")["response_s"].mean()
    )


def test_interactions_are_pointed_out(result):
    assert Caveat("interactions", sources=("slice × regions",)) in result.caveats
    assert Caveat("named_levels", factors=("scheduler",)) in result.caveats


def test_incomplete_runs_are_analysed_as_far_as_they_go(frame):
    """The last cell was under way when the power went: three of its replications are there."""
    result = analyse(frame[:-5], response="response_s", factors=list(FACTORS), blocks="replication")
    assert result.replications == (3, 3)
    assert Caveat("incomplete_blocks", blocks=5) in result.caveats
    never = analyse(frame[:-8], response="response_s", factors=list(FACTORS), blocks="replication")
    assert Caveat("missing_cells", missing=1, cells=12) in never.caveats
    assert "type II" in never.squares
    assert never.differences == ()
    assert never.contrasts_unknown
    assert all("regions = 4" in reason for _, reason in never.contrasts_unknown)


def test_a_layout_with_gaps_and_no_replications_has_its_main_effects(frame):
    """As where combinations make no sense: an additive model, one run a cell, cells missing."""
    factors = {"memory": [650, 1000, 1280], "processes": [4, 5, 6, 8], "size": [157, 314]}
    effects = {650: 3.0, 1000: 1.0, 1280: 0.0, 4: 0.0, 5: 1.0, 6: 2.0, 8: 4.0, 157: 0.0, 314: 5.0}
    random = np.random.default_rng(3)
    table = runs(
        lambda cell, _: sum(effects[level] for level in cell.values()) + 0.01 * random.normal(), 1, factors
    )
    gaps = table.filter(~((pl.col("memory") == 1280) & (pl.col("processes") < 6) & (pl.col("size") == 157)))
    result = analyse(gaps, response="response_s", factors=list(factors), model=Model(order=1))
    assert gaps.height == 22
    assert [source.degrees for source in result.sources] == [2, 3, 1]
    assert result.error.degrees == 22 - 7
    assert all(source.p < 1e-10 for source in result.sources)
    columns = [np.ones(22)] + [
        (gaps[name] == level).to_numpy().astype(float)
        for name, levels in factors.items()
        for level in levels[1:]
    ]
    residual_squares = np.linalg.lstsq(np.column_stack(columns), gaps["response_s"].to_numpy(), rcond=None)[1]
    assert result.error.squares == pytest.approx(residual_squares[0], rel=1e-9)
    assert result.normality.n == 22
    assert isinstance(result.equal_variances, NotApplicable)


def test_the_logarithm_is_offered_where_errors_grow_with_the_mean_and_changes_what_is_said():
    """Times multiply: on the scale of seconds there is an interaction, on that of logarithms none."""
    random = np.random.default_rng(4)
    speeds = {"modified": 4.0, "fb2": 2.0, "fb_inf": 1.0}
    table = runs(
        lambda cell, _: speeds[cell["scheduler"]] * (10 * cell["slice"]) * math.exp(0.25 * random.normal()),
        12,
    )
    plain = analyse(table, response="response_s", factors=list(FACTORS), unit="s")
    assert plain.box_cox.offered == Transformation(0.0)
    assert plain.equal_variances.rejected()
    assert plain.transformed.name == "log10(y)"
    assert "scheduler × slice" in plain.transformed.lost
    assert "unequal_variances" in {caveat.kind for caveat in plain.caveats}
    on_logs = analyse(table, response="response_s", factors=list(FACTORS), transformation=Transformation(0.0))
    by_name = {item.name: item for item in on_logs.contrasts}
    assert by_name["slice"].estimate.value == pytest.approx(math.log10(2), abs=0.05)
    assert on_logs.transformed is None
    assert on_logs.cells[0].mean.value == pytest.approx(plain.cells[0].mean.value)


def test_what_cannot_be_analysed_says_why(frame):
    def answer(table, **options):
        return analyse(table, **{"response": "response_s", "factors": list(FACTORS)} | options)

    assert "no degrees of freedom" in answer(frame.filter(pl.col("replication") == 0)).reason
    assert "does not vary" in answer(runs(lambda cell, _: 3.0)).reason
    assert "does not vary" in answer(runs(lambda cell, _: 10 * cell["slice"] + 0.1)).reason
    assert "only one level" in answer(frame.filter(pl.col("slice") == 0.1)).reason
    assert "not measured" in answer(frame.with_columns(pl.lit(None, pl.Float64).alias("response_s"))).reason
    assert "no factor" in answer(frame, factors=[]).reason
    with pytest.raises(InputError, match="respons: there is no such column; did you mean response_s"):
        answer(frame, response="respons")
    with pytest.raises(InputError, match="must be a number"):
        answer(frame, response="scheduler")
    with pytest.raises(InputError, match="level 'fb2'"):
        answer(frame, factors={"scheduler": ["modified", "fb_inf"]})
    with pytest.raises(InputError, match=r"log10\(y\) needs positive values.*shift"):
        answer(frame.with_columns(pl.col("response_s") - 5), transformation=Transformation(0.0))


def test_runs_without_a_figure_are_left_out_and_counted(frame):
    gone = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("response_s")).alias("response_s")
    )
    result = analyse(gone, response="response_s", factors=list(FACTORS))
    assert result.n == 95
    assert "type III" in result.squares
    assert Caveat("not_measured", runs=1, response="response_s") in result.caveats


@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_rendered(result, form):
    text = render_section(section("response_s", result), form)
    last = "Assumptions of the F tests" if form == "text" else "Shapiro"
    for word in ("scheduler", "slice × number of regions of memory", last):
        assert word in text
    if form == "csv":
        row = next(line for line in text.splitlines() if ",scheduler,p," in line and "-anova," in line)
        assert float(row.split(",")[6]) == result.sources[0].p


def test_rendered_where_there_is_no_answer(frame):
    refused = analyse(frame[:1], response="response_s", factors=["slice"])
    assert "Not applicable" in render_section(section("response_s", refused), "text")


def test_the_better_level_is_named_with_its_gain_and_interval(result):
    """The true gains: 1 s by fb_inf; modified and fb2 are alike; 0.15 s by slices of 0.1 s."""
    said = sentences.findings(replace(result, response="mean_response_s"))
    first = next(item for item in result.differences if (item.first, item.second) == ("modified", "fb_inf"))
    gain = shown.apart(replace(first.estimate, value=-first.estimate.value))[0]
    assert f"Fb inf answers {gain} sooner" in " ".join(said)
    assert any(
        "cannot be told apart" in text and "to" in text for text in by_levels(result, "modified", "fb2")
    )
    assert any(
        text.startswith("With slice 0.1, the mean response time is") and "shorter" in text for text in said
    )
    assert "lowest with fb inf, slice 0." in said[-1]


def by_levels(result, one, other):
    pairs = [item for item in result.differences if {item.first, item.second} == {one, other}]
    return [sentences.compared(result, item, one) for item in pairs]


def test_a_canary_of_the_direction(result):
    """With the sign of every difference turned, the better level answers later: the sentence must change."""
    turned = [
        replace(
            item,
            estimate=replace(
                item.estimate, value=-item.estimate.value, low=-item.estimate.high, high=-item.estimate.low
            ),
        )
        for item in result.differences
    ]
    before, after = (
        sentences.findings(item) for item in (result, replace(result, differences=tuple(turned)))
    )
    assert any("longer" in text for text in after)
    assert not any("longer" in text for text in before)


def test_the_difference_at_each_level_of_an_interacting_factor_holds_the_true_one(result):
    """Slices differ by 0.3 s with four regions only; ten errors' width leaves no chance."""
    inside = {item.within[0][1]: item for item in result.simple if item.factor == "slice"}
    assert inside[4].estimate.low < 0.3 < inside[4].estimate.high
    assert inside[4].significant
    assert inside[3].estimate.low < 0.0 < inside[3].estimate.high
    assert not inside[3].significant


def test_a_ratio_is_said_where_logarithms_were_analysed(frame):
    result = analyse(
        frame, response="response_s", factors=["scheduler"], transformation=Transformation.parse("log10")
    )
    said = sentences.findings(result)
    assert any(" times (" in text for text in said)
    assert not any("shorter" in text for text in said)


def test_units_of_factors_are_those_of_the_simulated_systems():
    """Words give units that the analysis cannot know: they must not drift from the parameters."""
    units = {(item.name, item.unit) for system in systems() for item in system.parameters}
    symbols = {"Kwords": "Kword", "clicks of 64 bytes": "click"}
    for name, quantity in words.FACTORS.items():
        if quantity.unit and any(name == parameter for parameter, _ in units):
            assert (name, symbols.get(quantity.unit, quantity.unit)) in units
    assert words.given("users", 20) == "with 20\N{NO-BREAK SPACE}users"
    assert words.given("time_slice", 0.1) == "with a time slice of 0.1 s"
    assert words.given("overlapped_seeks", False) == "without overlapped seeks"
    assert words.factor("stations.processor.discipline") == "discipline of the processor"
