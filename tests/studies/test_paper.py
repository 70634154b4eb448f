"""A paper is read from its `study.toml` strictly, and its rules decide how cells and claims are judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinktime.errors import InputError
from thinktime.stats.estimate import Estimate
from thinktime.studies.estimates import rounded
from thinktime.studies.paper import Paper
from thinktime.studies.published import Printed

TOML = """
study = "paper"
title = "Is it fast?"
citation = "A. Author, A Paper (1970)."
question = "It is measured and simulated."
replications = 4

[trust]
machine = "APL"
fitted = "26 users"
predicted = "35 users"
missed = "swaps"
in_sight = "nothing"

[[parts]]
name = "speed"
title = "How fast is it?"
tables = ["times", "facts"]

[[tables]]
name = "times"
place = "Table 1"
title = "times"
keys = ["system", "users"]
quantities = { time_s = "s", swaps = "" }
[[tables.cells]]
where = { users = [26] }
kind = "fitted"
within = { absolute = 0.1 }
[[tables.cells]]
quantities = ["swaps"]
published_at_most = 100
kind = "predicted"
within = { total = 0.5 }
[[tables.cells]]
kind = "predicted"
within = { relative = 0.2 }

[[tables]]
name = "facts"
[[tables.cells]]
kind = "predicted"

[[doubts]]
table = "times"
where = { users = 26 }
quantities = ["time_s"]
reason = "a slip"
kinds = ["arithmetic"]

[[claims]]
id = "faster"
source = "Table 1"
text = "it is faster"
holds_if = "high(value) < amount"
amount = 1.0
"""
TIMES = "system,users,time_s,swaps\napl,26,2.0,\napl,35,3.0,80\napl,40,4.0,800\n"
FACTS = "id,name,quantity,value,unit,context\nX-F01,slice,time slice,0.1-0.2,s,\n"


def paper(folder: Path, text: str = TOML) -> Paper:
    (folder / "published").mkdir(exist_ok=True)
    (folder / "study.toml").write_text(text)
    (folder / "published" / "times.csv").write_text(TIMES)
    (folder / "published" / "facts.csv").write_text(FACTS)
    return Paper.read(folder)


def value(number: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value=number, n=4, method="given", low=low, high=high)


def test_the_first_rule_that_a_cell_meets_judges_it(tmp_path: Path) -> None:
    read = paper(tmp_path)
    fitted = read.simulated("times", {"system": "apl", "users": 26}, "time_s", value(2.09))
    assert (fitted.kind, fitted.verdict, fitted.unit) == ("fitted", "agrees", "s")
    few = read.simulated("times", {"system": "apl", "users": 35}, "swaps", value(100.0), total=30.0)
    assert few.tolerance is not None
    assert (few.tolerance.way, few.tolerance.amount, few.verdict) == ("absolute", 15.0, "misses")
    many = read.simulated("times", {"system": "apl", "users": 40}, "swaps", value(900.0))
    assert (many.kind, many.verdict) == ("predicted", "agrees")


def test_recomputed_cells_must_meet_the_printed_digits(tmp_path: Path) -> None:
    read = paper(tmp_path)
    row = {"system": "apl", "users": 35}
    assert read.recomputed("times", row, "time_s", value(3.04)).verdict == "agrees"
    assert read.recomputed("times", row, "time_s", value(3.06)).verdict == "misses"


def test_a_doubt_excuses_only_its_kinds(tmp_path: Path) -> None:
    read = paper(tmp_path)
    row = {"system": "apl", "users": 26}
    assert read.recomputed("times", row, "time_s", value(9.0)).verdict == "doubtful"
    assert read.simulated("times", row, "time_s", value(9.0)).verdict == "misses"


def test_an_end_of_a_stated_range_is_compared(tmp_path: Path) -> None:
    cell = paper(tmp_path).fact("slice", value(0.2), end="high")
    assert (cell.published, cell.label, cell.tolerance) == (0.2, "time slice, to [s]", None)


def test_a_claim_is_judged_by_its_condition(tmp_path: Path) -> None:
    claim = paper(tmp_path).claim("faster", {"value": value(0.5, 0.2, 0.9)}, "half the time")
    assert (claim.holds, claim.source, claim.text) == (True, "Table 1", "it is faster")


def test_conditions_may_name_what_the_text_states(tmp_path: Path) -> None:
    text = TOML.replace("high(value) < amount", "fact('slice', 'low') <= value <= fact('slice', 'high')")
    assert [paper(tmp_path, text).claim("faster", {"value": x}, "").holds for x in (0.15, 0.25)] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"high(value) <', '"highest(value) <', "Statement faster: .* there is no function highest"),
        ('place = "Table 1"', 'plaec = "Table 1"', "Shape times: has plaec"),
        ('source = "Table 1"\n', "", "Statement faster: lacks source"),
        ("replications = 4\n", "", "lacks replications"),
        ('in_sight = "nothing"\n', "", "Trust: lacks in_sight"),
        ("kind = ", "knid = ", "has knid"),
    ],
)
def test_a_misspelt_paper_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        paper(tmp_path, TOML.replace(old, new, 1))


def test_a_cell_that_no_rule_judges_is_a_mistake(tmp_path: Path) -> None:
    text = TOML.replace('[[tables.cells]]\nkind = "predicted"\nwithin = { relative = 0.2 }\n', "")
    with pytest.raises(KeyError, match="does not say how time_s"):
        paper(tmp_path, text).simulated("times", {"system": "apl", "users": 35}, "time_s", value(3.0))


def test_rounding_of_inputs_bounds_the_result() -> None:
    share = rounded(lambda part, whole: part / whole, [Printed(1.0, 1), Printed(4.0, 0)])
    assert (share.value, share.n) == (0.25, 2)
    assert share.low == pytest.approx(0.25 - 0.05 / 4 - (1 / 3.5 - 0.25))
    assert share.high == pytest.approx(0.25 + 0.05 / 4 + (1 / 3.5 - 0.25))
