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
    """Words of each kind of caveat, from every section of a question."""
    modules = [
        import_module(f"thinktime.analyses.{question}.{path.stem}")
        for path in (ANALYSES / question).glob("*section*.py")
    ]
    return {
        kind: text
        for module in modules
        for name in ("WORDS", "REASONS")
        for kind, text in getattr(module, name, {}).items()
    }


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_caveat_has_words_for_its_values(question):
    words = worded(question)
    for kind, values in given(question):
        assert kind in words, kind
        inspect.signature(words[kind]).bind(**dict.fromkeys(values))


def test_caveats_are_found_where_there_are_some():
    assert dict(given("overhead"))["few_intervals"] == {"n", "costs"}
    with pytest.raises(TypeError):
        inspect.signature(worded("overhead")["few_intervals"]).bind(n=None)
