"""Two treatments compared: known effects are found, none is seen where there is none."""

import math

import changed_logs
import numpy as np
import pytest
from changed_logs import BARD, DAYS, LENGTH_S
from scipy import stats

from thinktime import cli
from thinktime.analyses import question
from thinktime.analyses.compare import analysis as compare
from thinktime.analyses.compare.design import Plan, TreatmentColumn, read_plan
from thinktime.analyses.compare.result import NotCompared
from thinktime.analyses.compare.unit_means import Cell
from thinktime.errors import InputError
from thinktime.log import Column
from thinktime.stats.estimate import Caveat, NotApplicable
from thinktime.stats.randomisation.assignments import Assignments
from thinktime.stats.randomisation.permutation import Reassignment

NAMES = [f"1970-05-{4 + day:02d}" for day in DAYS]
NEW = [name for name, treated in zip(NAMES, BARD, strict=True) if treated]
OLD = [name for name, treated in zip(NAMES, BARD, strict=True) if not treated]


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """Bard's eight days: a VSIO costs 1.8 ms less on new ones, and nothing else differs."""
    return changed_logs.write(tmp_path_factory.mktemp("changed") / "log", changed_logs.days(saved=0.0018))


@pytest.fixture(scope="module")
def result(changed):
    return compare.analyse(changed, TreatmentColumn("new"))


def plan(**options):
    return Plan(dict.fromkeys(NEW, "new") | dict.fromkeys(OLD, "old"), **options)


def covers(estimate, truth):
    return estimate.low <= truth <= estimate.high


def test_the_design_is_recognised(result):
    assert [unit.label for unit in result.units] == NAMES
    assert [unit.treatment for unit in result.units] == [str(treated) for treated in BARD]
    assert result.blocks == ("week", "weekday")
    assert result.units[0].blocks == ("week 1", "Monday")
    assert result.units[-1].blocks == ("week 2", "Thursday")
    assert result.randomisation == "counterbalanced"
    assert [(item.assignments, item.degrees) for item in result.allowed] == [
        (6, 2),
        (36, 5),
        (70, 6),
        (254, 6),
    ]
    assert result.allowed[0].statement == (
        "2 of the 4 days of each week were treated, 1 of the 2 days of each weekday was treated"
    )
    assert Caveat("few_assignments", assignments=6, smallest_p=pytest.approx(2 / 6)) in result.caveats


def test_the_saving_is_found_at_equal_work_and_in_the_costs(result, changed):
    work = result.effect("system_time", "work")
    rate = result.effect("vsio").control.value
    assert covers(work.difference, -0.0018 * rate)
    assert work.t_test.p < 0.05
    # As it is, the day-to-day differences of the load hide it.
    assert result.effect("system_time").t_test.p > 0.05
    costs = {item.request: item for item in result.costs}
    for way in (costs["vsio"].difference, costs["vsio"].by_unit.difference):
        assert covers(way, -0.0018)
        assert not covers(way, 0.0)
    for name in ("page_ios", "user_time"):
        assert covers(costs[name].by_unit.difference, 0.0)
    assert costs["vsio"].control.value == pytest.approx(changed_logs.COSTS["vsio"], rel=0.03)
    assert costs["vsio"].treated.value == pytest.approx(changed_logs.COSTS["vsio"] - 0.0018, rel=0.03)


def test_means_are_those_of_the_days(result, changed):
    rows = changed.samples().collect()
    seen = (rows["problem_s"] / LENGTH_S).to_numpy().reshape(8, -1).mean(axis=1)
    assert result.effect("user_time").values == pytest.approx(seen.tolist())
    treated = np.array(BARD, dtype=bool)
    assert result.effect("user_time").treated.value == pytest.approx(seen[treated].mean())
    reach = stats.sem(seen[treated]) * stats.t.ppf(0.975, 3)
    assert result.effect("user_time").treated.high == pytest.approx(seen[treated].mean() + reach)


def test_the_adjustment_is_the_regression_with_a_level_for_each_day(result, changed):
    """Oracle: least squares on all observations with indicators of the days (equal lengths)."""
    rows = changed.samples().collect()
    load = rows["active_users"].to_numpy()
    y = (rows["problem_s"] / LENGTH_S).to_numpy()
    x = np.column_stack([np.kron(np.eye(8), np.ones((100, 1))), load, load**2])
    slopes = np.linalg.lstsq(x, y, rcond=None)[0][-2:]
    means = np.column_stack([load, load**2]).reshape(8, 100, 2).mean(axis=1)
    expected = y.reshape(8, 100).mean(axis=1) - (means - means.mean(axis=0)) @ slopes
    assert result.effect("user_time", "load").values == pytest.approx(expected.tolist(), rel=1e-9)


def test_a_difference_of_load_is_taken_out(tmp_path):
    """Four users more on new days, who do what users do: more work, but not at equal load.

    Days differ with a deviation of 0.004 by construction; four standard errors, false-alarm rate 1e-4.
    """
    log = changed_logs.write(
        tmp_path / "log", changed_logs.days(loaded=4.0, day_sd=0.002, follows=0.5, seed=3)
    )
    found = compare.analyse(log, TreatmentColumn("new", randomisation="complete", blocks=()), requests=())
    raw, equal = found.effect("user_time"), found.effect("user_time", "load")
    assert raw.difference.value == pytest.approx(0.012 * 4.0, rel=0.8)
    error = math.sqrt((0.02**2 * 3 / 100 + 0.002**2) / 2)
    assert abs(equal.difference.value) < 4 * error < 0.3 * raw.difference.value


def test_a_plan_says_the_same_as_a_column(result, changed):
    found = compare.analyse(changed, plan(control="old"))
    for one, other in zip(result.effects, found.effects, strict=True):
        assert one.values == other.values
        assert one.test == other.test
    assert (found.control, found.treated) == ("old", "new")
    turned = compare.analyse(changed, plan(control="new"), requests=())
    assert turned.effects[0].difference.value == pytest.approx(-found.effects[0].difference.value)


def test_the_chance_of_the_difference_that_was_asked_about(changed):
    part = compare.analyse(changed, TreatmentColumn("new"), difference=0.1, requests=()).effect("user_time")
    assert part.power.difference == pytest.approx(0.1 * part.control.value)
    named = compare.analyse(changed, TreatmentColumn("new"), difference={"user_time": 0.05}, requests=())
    assert named.effect("user_time").power.difference == 0.05
    load = named.effect("active_users")
    assert load.power.difference == load.difference.value
    assert named.effect("user_time").power.by_permutation == 0.0
    loose = compare.analyse(
        changed, TreatmentColumn("new", randomisation="complete", blocks=()), requests=()
    ).effects[0]
    assert loose.power.detectable_by_permutation > loose.power.detectable_by_t


def test_hours_of_a_switchback(tmp_path):
    """Treatments that change every two hours, and an effect of 0.05 s/s that a coin for each finds."""
    coins = np.random.default_rng(5).integers(0, 2, 14)
    columns = changed_logs.days(coins, range(14), per_day=24, lift=0.05, day_sd=0.0, seed=6, follows=0.0)
    # Put the fourteen stretches of two hours one after another.
    step = np.arange(14 * 24) * int(LENGTH_S * 1e6)
    columns["start"] = changed_logs.MONDAY_US + step
    log = changed_logs.write(tmp_path / "log", columns)
    found = compare.analyse(
        log, TreatmentColumn("new", unit="2h", randomisation="switchback", blocks=()), requests=()
    )
    assert len(found.units) == 14
    assert found.allowed[-1].assignments == 2**14 - 2
    equal = found.effect("user_time", "load")
    assert equal.test.p < 0.01
    assert covers(equal.inverted, 0.05)
    runs = compare.analyse(log, TreatmentColumn("new", unit="run", blocks=()), requests=())
    assert len(runs.units) == 1 + int(np.count_nonzero(np.diff(coins)))
    assert isinstance(compare.analyse(log, TreatmentColumn("new")), NotApplicable)


def test_days_before_1970(tmp_path):
    columns = changed_logs.days()
    columns["start"] = columns["start"] - 28 * 7 * changed_logs.DAY_US
    found = compare.analyse(
        changed_logs.write(tmp_path / "log", columns), TreatmentColumn("new"), requests=()
    )
    assert found.units[0].label == "1969-10-20"
    assert found.blocks == ("week", "weekday")


def test_replications_of_a_simulation_keep_their_days(tmp_path):
    """The second begins when the first has ended, in the middle of a Thursday: its Mondays are Mondays."""
    first, second = changed_logs.days(seed=1), changed_logs.days(seed=2)
    last = int(first["start"][-1]) + int(LENGTH_S * 1e6)
    second["start"] = second["start"] + last - int(second["start"][0])
    changed_logs.write(tmp_path / "log", first, replication={"number": 0})
    log = changed_logs.write(tmp_path / "log", second, replication={"number": 1}, mode="resume")
    found = compare.analyse(log, TreatmentColumn("new"), requests=(), quantities=["user_time"])
    assert [unit.n for unit in found.units] == [100] * 16
    assert [unit.treatment for unit in found.units] == [str(treated) for treated in BARD] * 2
    assert [unit.blocks[1] for unit in found.units[8:]] == [unit.blocks[1] for unit in found.units[:8]]
    assert [unit.blocks[0] for unit in found.units[8::4]] == ["week 3", "week 4"]
    # Margins of two a week and two a weekday: 90 tables of 4 by 4.
    assert found.allowed[0].assignments == 90


def test_false_alarms_of_days_and_of_observations():
    """Nothing was changed: the tests on days keep their rate, that on observations does not (canary).

    250 experiments; p <= 0.05 has probability 2/70 by complete randomisation, 0.05 by Student's t on
    days; binomial intervals with false-alarm rate 1e-4 each.
    """
    runs, by_days, by_student, by_observation = 250, 0, 0, 0
    design = Reassignment(Assignments(BARD, ((0,) * 8,)))
    treated = np.repeat(np.array(BARD, dtype=bool), 100)
    for seed in range(runs):
        y = changed_logs.days(seed=seed)["problem_s"] / LENGTH_S
        means = y.reshape(8, 100).mean(axis=1)
        by_days += design.test(means).p <= 0.05
        by_student += design.p_of_t(means) <= 0.05
        by_observation += stats.ttest_ind(y[treated], y[~treated]).pvalue <= 0.05
    for found, rate in ((by_days, 2 / 70), (by_student, 0.05)):
        low, high = stats.binom.ppf([5e-5, 1 - 5e-5], runs, rate)
        assert low <= found <= high
    assert by_observation > 0.5 * runs


def test_moments_join_exactly():
    random = np.random.default_rng(7)
    values, weights = 1e6 + random.standard_normal((500, 3)), random.uniform(1, 2, 500)
    whole, pieces = Cell(), Cell()
    whole.absorb(values, weights, 0)
    for rows in np.array_split(np.arange(500), 7):
        pieces.absorb(values[rows], weights[rows], 0)
    assert pieces.mean == pytest.approx(whole.mean, rel=1e-14)
    assert pieces.products == pytest.approx(whole.products, abs=1e-9 * whole.products.max() * 10)
    centred = values - np.average(values, axis=0, weights=weights)
    assert whole.products == pytest.approx((centred * weights[:, None]).T @ centred, abs=1e-5)


def refused(log, *design, **options):
    with pytest.raises(InputError) as said:
        compare.analyse(log, *design, **options)
    return str(said.value)


def test_bad_input_says_what_would_be_right(changed):
    with pytest.raises(InputError, match="--treatment COLUMN or --design FILE"):
        question("compare").answer([changed])
    assert "has no numeric column 'newer'" in refused(changed, TreatmentColumn("newer"))
    assert "active_users, new" in refused(changed, TreatmentColumn("newer"))
    missing = Plan(dict.fromkeys(NEW, "new") | dict.fromkeys([*OLD, "1970-06-01"], "old"), name="plan.csv")
    said = refused(changed, missing)
    assert said.startswith("plan.csv: 1970-06-01 has no usable observation in ")
    assert "1970-05-04T08:00" in said
    assert "1970-05-14T16:15" in said
    assert "is not a quantity of this log" in refused(changed, TreatmentColumn("new"), quantities=["vmio"])
    with pytest.raises(InputError, match="no blocking factor 'month'; there are week"):
        TreatmentColumn("new", blocks=("month",))
    assert "control 'off' is not a treatment; the treatments are 0, 1" in refused(
        changed, TreatmentColumn("new", control="off")
    )
    with pytest.raises(InputError, match="not day, run or a length"):
        TreatmentColumn("new", unit="fortnight")


@pytest.mark.parametrize(
    ("treatments", "options", "said"),
    [
        ({"1970-05-04": "a"}, {}, "has 1 treatments"),
        ({"1970-05-04": "a", "1970-05-05": "b", "1970-05-06": "c"}, {}, "has 3 treatments"),
        ({"1970-05-04": "a", "1970-05-05": "b"}, {"control": "c"}, "control 'c' is not a treatment"),
        (
            {"1970-05-04": "a", "1970-05-05": "b"},
            {"randomisation": "tossed"},
            "is not one of counterbalanced",
        ),
        ({"1970-05-04": "a", "1970-05-05": "b"}, {"blocks": ("moon",)}, "no blocking factor 'moon'"),
    ],
)
def test_a_plan_that_is_none(treatments, options, said):
    with pytest.raises(InputError, match=said):
        Plan(treatments, **options)


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ("04.05.1970", "is neither a day"),
        ("1970-05-04T08:00", "is neither a day"),
        ("1970-05-04T08:00/1970-05-04T07:00", "ends before it begins"),
        ("1970-05-05T08:00/1970-05-05T09:00", "overlap"),
    ],
)
def test_a_unit_that_is_none(changed, unit, said):
    wrong = Plan({"1970-05-04": "a", "1970-05-05": "b", unit: "a"}, name="plan")
    assert said in refused(changed, wrong)


def test_what_cannot_be_compared_is_an_answer(tmp_path, changed):
    never = changed_logs.write(tmp_path / "never", changed_logs.days((0,) * 8))
    found = compare.analyse(never, TreatmentColumn("new"))
    assert isinstance(found, NotApplicable)
    assert "1 values in this log (0)" in found.reason
    one = changed_logs.write(tmp_path / "one", changed_logs.days((1, *(0,) * 7)))
    found = compare.analyse(one, TreatmentColumn("new"))
    assert isinstance(found, NotApplicable)
    assert "only 1 day:" in found.reason
    columns = changed_logs.days()
    columns["new"][50:100] = 0
    mixed = changed_logs.write(tmp_path / "mixed", columns)
    found = compare.analyse(mixed, TreatmentColumn("new"))
    assert isinstance(found, NotApplicable)
    assert "changed within the unit 1970-05-04" in found.reason
    whole = compare.analyse(
        changed, Plan(dict.fromkeys(NAMES[:4], "a") | dict.fromkeys(NAMES[4:], "b"), blocks=("week",))
    )
    assert isinstance(whole, NotApplicable)
    assert "confounded with week" in whole.reason


def test_weeks_one_after_the_other_are_named_a_trend(changed):
    found = compare.analyse(changed, Plan(dict.fromkeys(NAMES[:4], "a") | dict.fromkeys(NAMES[4:], "b")))
    assert found.blocks == ()
    assert found.randomisation == "complete"
    assert "trend" in {caveat.kind for caveat in found.caveats}
    without = compare.analyse(changed, plan(), requests=())
    assert "trend" not in {caveat.kind for caveat in without.caveats}


def test_a_column_that_was_measured_at_times_only_is_left_out_with_the_reason(tmp_path):
    columns = changed_logs.days()
    columns["spool"] = np.where(np.arange(800) % 3 == 0, 1.0, np.nan)
    schema = (
        *changed_logs.SCHEMA,
        Column(
            name="spool", type="f64", unit="request", kind="counter", description="spool I/O", role="request"
        ),
    )
    log = changed_logs.write(tmp_path / "log", columns, schema)
    found = compare.analyse(log, TreatmentColumn("new"))
    assert NotCompared(name="spool", reason=Caveat("rarely_measured")) in found.left_out
    assert sum(unit.n for unit in found.units) == 800


DESIGN_TOML = f"""\
control = "old"
randomisation = "counterbalanced"
blocks = ["week", "weekday"]

[treatments]
new = {NEW}
old = [{", ".join(OLD)}]
"""


def test_designs_in_files(tmp_path, changed, result, capsys):
    (tmp_path / "weeks.toml").write_text(DESIGN_TOML)
    rows = [f"{day},{'new' if day in NEW else 'old'},{place}" for place, day in enumerate(NAMES)]
    (tmp_path / "days.csv").write_text("\n".join(["day,treatment", *(r.rpartition(",")[0] for r in rows)]))
    for name in ("weeks.toml", "days.csv"):
        read = read_plan(tmp_path / name)
        assert set(read.treatments) == set(NAMES)
        options = ["--control", "old", "--quantity", "user_time", "--format", "csv"]
        status = cli.run(
            ["analyse", "compare", str(changed.path), "--design", str(tmp_path / name), *options]
        )
        assert status == 0
        printed = capsys.readouterr().out
        assert f"{result.effect('user_time').difference.value:.6g}"[:7] in printed
    own = [f"{row.rpartition(',')[0]},{'odd' if place % 2 else 'even'}" for place, row in enumerate(rows)]
    (tmp_path / "own.csv").write_text("\n".join(["day,treatment,parity", *own]))
    found = compare.analyse(changed, read_plan(tmp_path / "own.csv"), requests=())
    assert found.blocks == ("parity",)
    assert found.randomisation == "blocks"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a.csv",
            "date,way\n",
            "line 1: has the columns date, way; the columns day and treatment are required",
        ),
        ("a.csv", "day,treatment\n1970-05-04,\n", "line 2: does not have one value per column"),
        ("a.csv", "day,treatment\n1970-05-04,a\n1970-05-04,b\n", "line 3: 1970-05-04 is given twice"),
        ("a.toml", "treatment = 1\n", "has no key 'treatment'; the keys are control"),
        ("a.toml", "[treatments]\na = 1\n", "must give each treatment a list of days"),
        ("a.toml", "[treatments]\na = ['x']\nb = ['x']\n", "x is given to a and to b"),
        ("a.toml", "[treatments\n", "is not TOML"),
    ],
)
def test_a_design_file_that_is_wrong(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as found:
        read_plan(tmp_path / name)
    assert said in str(found.value)
    assert str(tmp_path / name) in str(found.value)


def test_the_command_writes_a_page_with_its_charts(tmp_path, changed, capsys):
    page = tmp_path / "page.html"
    asked = ["analyse", "compare", str(changed.path)]
    chosen = ["--treatment", "new", "--quantity", "user_time", "--difference", "10%"]
    assert cli.run([*asked, *chosen]) == 0
    printed = capsys.readouterr().out
    assert cli.run([*asked, *chosen, "-o", str(page)]) == 0
    assert "6 assignments were possible" in printed
    assert "Beware:" in printed
    assert "Differences by chance alone" in page.read_text()
    for options, said in (
        ([], "name the change"),
        (["--treatment", "new", "--design", "x.csv"], "give one of them"),
        (["--treatment", "new", "--difference", "much"], "give a percentage such as 10%"),
    ):
        assert cli.run([*asked, *options]) == 2
        assert said in capsys.readouterr().err
