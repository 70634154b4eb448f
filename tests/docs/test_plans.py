"""The plans in the documentation are read as they stand, and are what the text says."""

import re
from pathlib import Path

from thinktime.analyses.compare.design import read_plan, slots

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "did-the-change-help.md"


def block(kind):
    return re.search(rf"^```{kind}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]


def test_the_plan_in_toml_is_that_of_the_table(tmp_path):
    (tmp_path / "weeks.toml").write_text(block("toml"))
    plan = read_plan(tmp_path / "weeks.toml")
    rows = re.findall(r"^\| week \d \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    table = [cell.strip() for row in rows for cell in row.split("|")]
    assert [plan.treatments[day] for day in slots(plan).labels] == table
    assert plan.control == "old"
    assert plan.blocks == ("week", "weekday")


def test_the_plan_in_csv_has_a_block_of_its_own(tmp_path):
    (tmp_path / "days.csv").write_text(block("text"))
    plan = read_plan(tmp_path / "days.csv")
    assert plan.blocks == ("operator",)
    assert list(plan.treatments.values()) == ["new", "old", "old", "new"]
