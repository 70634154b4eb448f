"""The reference names everything public, and comes from the registry and the code."""

import importlib
import inspect
import pkgutil
import sys
from pathlib import Path

import pytest

import thinktime
from thinktime.analyses import QUESTIONS
from thinktime.cli import COMMANDS
from thinktime.questions.definition import options_of
from thinktime.studies import STUDIES, load
from thinktime.studies.verdict import committed

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import pages  # noqa: E402


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Text of each page, by its path below the reference."""
    folder = tmp_path_factory.mktemp("reference")
    pages.write(folder)
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.md")}


def missing(text: str, module: str) -> list[str]:
    """Public functions and classes of a module that its page does not document."""
    loaded = importlib.import_module(module)
    names = [
        name
        for name, value in vars(loaded).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module
    ]
    return [name for name in names if f":: {module}.{name}\n" not in text]


@pytest.mark.parametrize("room", pages.ROOMS)
def test_everything_public_of_a_room_is_documented(written, room):
    package = importlib.import_module(f"thinktime.{room}")
    modules = [package.__name__]
    modules += [item.name for item in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    absent = {}
    for module in modules:
        text = written.get(f"python/{module}.md", "")
        if names := missing(text, module):
            absent[module] = names
        if text:
            assert f"python/{module}\n" in written["python.md"], module
    assert not absent


def test_a_thing_that_is_missing_is_noticed(written):
    module = "thinktime.stats.estimate"
    text = written[f"python/{module}.md"].replace(f".. autoclass:: {module}.Estimate\n", "")
    assert missing(text, module) == ["Estimate"]


def test_a_type_has_its_place_with_what_it_stands_for(written):
    text = written["python/thinktime.stats.estimate.md"]
    assert ".. py:type:: thinktime.stats.estimate.Plain\n   :canonical: bool | int" in text
    assert "Values that JSON has" in text
    # A name without words, or in capitals, is no type that a reader is offered.
    assert "py:type:: thinktime.stats.arguments.Array" not in written["python/thinktime.stats.arguments.md"]


def test_errors_and_the_base_of_results_have_their_place(written):
    for module, name in (("errors", "InputError"), ("results", "Result")):
        assert f".. autoclass:: thinktime.{module}.{name}\n" in written[f"python/thinktime.{module}.md"]
        assert f"python/thinktime.{module}\n" in written["python.md"]


def test_every_question_and_command_has_its_place(written):
    for question in QUESTIONS:
        assert f"\n## {question.name}\n" in written["questions.md"]
        for item in options_of(question.options).values():
            assert f"`{item.flag}`" in written["questions.md"]
        assert f"### thinktime analyse {question.name}\n" in written["commands.md"]
    for name in COMMANDS:
        assert f"## thinktime {name}\n" in written["commands.md"]


def test_every_key_of_a_machine_has_its_place(written):
    for key in ("cpus", "meters[].time", "decomposition.event.count", "ceilings[].per_s", "in_force"):
        assert f"| `{key}` |" in written["machine.md"]
    assert written["machine.md"].count("a column of `samples`") == str(thinktime.log.machine_schema()).count(
        "'columnOf'"
    )


def test_every_column_has_its_place(written):
    for table in thinktime.log.tables():
        for column in thinktime.vocabulary(table):
            assert f"| `{column.name}` |" in written["columns.md"]


def test_every_simulated_machine_stands_beside_the_others(written):
    """The page on trust has of each study what its own page has, with the counts of its verdict."""
    rows = [line.split(" | ") for line in written["trust.md"].splitlines() if line.startswith("| ")][2:]
    papers = [load(name).paper for name in STUDIES]
    assert sorted(row[1] for row in rows) == sorted(paper.trust.machine for paper in papers)
    for paper in papers:
        (row,) = (row for row in rows if row[1] == paper.trust.machine)
        counts = committed(load(paper.study))["cells"]["predicted"]
        assert row[3] == f"{paper.trust.predicted} ({counts['agree']} of {counts['judged']} cells)"
