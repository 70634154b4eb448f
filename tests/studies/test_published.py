"""Published tables are read strictly: a silent mistake would be blamed on the paper."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from thinktime.errors import InputError
from thinktime.studies import STUDIES, load
from thinktime.studies.published import Fact, Shape, read, read_facts

SHAPE = Shape(
    name="t", place="Table 1", title="a table", keys=("system", "users"), quantities={"time_s": "s"}
)
HEAD = "system,users,time_s\n"


def written(folder: Path, text: str) -> Path:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return folder


def test_cells_keep_their_printed_digits(tmp_path: Path) -> None:
    table = read(written(tmp_path, HEAD + "apl,26,0.40\napl,35,1.5e-3\ncp,35,\n"), SHAPE)
    assert [dict(row) for row in table.rows] == [
        {"system": "apl", "users": 26},
        {"system": "apl", "users": 35},
        {"system": "cp", "users": 35},
    ]
    first, second, third = (table.cell(row, "time_s") for row in table.rows)
    assert (first.value, first.places, first.half) == (0.4, 2, 0.005)
    assert (second.value, second.places) == (0.0015, 4)
    assert third is None


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("system,users\napl,26\n", "columns"),
        ("system,users,time_s,more\napl,26,1,2\n", "columns"),
        (HEAD + "apl,26\n", "cells"),
        (HEAD + "apl,26,1\napl,26,2\n", "before"),
        (HEAD + "apl,26,fast\n", "not a number"),
        (HEAD + "apl,26,nan\n", "not finite"),
        (HEAD + ",26,1\n", "no name"),
        (HEAD + 'apl,26,"1\n', "t.csv"),
        ("", "columns"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(tmp_path: Path, text: str, item: str) -> None:
    with pytest.raises(InputError, match=item) as refusal:
        read(written(tmp_path, text), SHAPE)
    assert "t.csv" in str(refusal.value)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t\.csv: there is no such table"):
        read(tmp_path, SHAPE)


@pytest.mark.parametrize("name", STUDIES)
def test_every_published_file_is_read_and_has_its_place(name: str) -> None:
    study = load(name)
    folder = study.paper.folder / "published"
    files = {path.stem for path in folder.glob("*.csv")}
    assert files == set(study.tables)
    for shape in study.paper.shapes:
        table = read(folder, shape)
        assert table.rows
        with (folder / f"{shape.name}.csv").open(encoding="utf-8", newline="") as file:
            assert len(table.rows) == sum(1 for _ in csv.reader(file)) - 1
        for row in table.rows:
            assert shape.words.format(**row) or not shape.words
    assert read_facts(folder)


@pytest.mark.parametrize("name", STUDIES)
def test_every_table_belongs_to_a_part(name: str) -> None:
    study = load(name)
    given = {table for part in study.paper.parts for table in part.tables}
    assert given == set(study.tables)
    assert set(study.chapters) == {part.name for part in study.paper.parts}


def test_published_tables_go_into_the_wheel() -> None:
    """Maturin packs what stands in the package's folder and git does not ignore."""
    import subprocess

    root = Path(__file__).parents[2]
    files = sorted((root / "python" / "thinktime" / "studies").glob("*/published/*.csv"))
    ignored = subprocess.run(
        ["git", "check-ignore", *map(str, files)], cwd=root, capture_output=True, text=True
    )
    assert files
    assert ignored.stdout == ""


def test_a_misspelt_study_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"did you mean anderson-sargent-1974\?"):
        load("anderson_sargent_74")


def test_a_range_that_is_stated_has_two_ends() -> None:
    fact = Fact(id="X-F01", name="rate", quantity="paging rate", printed="75-80", unit="pages/s", context="")
    assert [(end.value, end.places) for end in fact.ends] == [(75.0, 0), (80.0, 0)]
    with pytest.raises(InputError, match="F2"):
        _ = Fact(id="X-F02", name="F2", quantity="divisor", printed="n-m", unit="", context="").ends
    with pytest.raises(InputError, match="F3"):
        _ = Fact(id="X-F03", name="F3", quantity="no range", printed="75", unit="", context="").ends
