"""Every caveat that an analysis can give has words in a section of its question, for all of its values."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

ANALYSES = Path(__file__).parents[2] / "python" / "thinktime" / "analyses"
QUESTIONS = sorted(path.parent.name for path in ANALYSES.glob("*/analysis.py"))


def given(question):
    """Kind of each caveat made in the folder of a question, with the names of its values."""
    for path in sorted((ANALYSES / question).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Caveat":
                yield node.args[0].value, {keyword.arg for keyword in node.keywords}


def worded(question):
    """Words of each kind of caveat, of every section of a question; a kind may have several."""
    words = {}
    folder = ANALYSES / question
    for path in (*folder.glob("*section*.py"), *folder.glob("caveats.py")):
        module = import_module(f"thinktime.analyses.{question}.{path.stem}")
        for name in ("WORDS", "REASONS", "DOUBTS"):
            for kind, text in getattr(module, name, {}).items():
                words.setdefault(kind, []).append(text)
    return words


def binds(text, values):
    try:
        inspect.signature(text).bind(**dict.fromkeys(values))
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_caveat_has_words_for_its_values(question):
    words = worded(question)
    for kind, values in given(question):
        assert any(binds(text, values) for text in words.get(kind, ())), (kind, values)


def test_caveats_are_found_where_there_are_some():
    assert dict(given("overhead"))["few_intervals"] == {"n", "costs"}
    text, *_ = worded("overhead")["few_intervals"]
    assert binds(text, {"n", "costs"})
    assert not binds(text, {"n"})
