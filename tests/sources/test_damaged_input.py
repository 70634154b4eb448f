"""Any text as a design, workload, script, parameter or quantity: what it describes, or an InputError."""

import contextlib
import json
import math
import tempfile
from pathlib import Path

import pytest
from damage import SEEDS, damaged, effort
from hypothesis import given
from hypothesis import strategies as st

from thinktime import toml
from thinktime.cli import parameters
from thinktime.errors import InputError
from thinktime.log import design
from thinktime.quantity import parse_bytes, parse_seconds
from thinktime.sources import experiments, plans, scripts, simulated

ROOT = Path(__file__).parents[2]
DESIGNS = sorted((ROOT / "docs").glob("**/designs/*.toml"))
SCRIPTS = sorted((ROOT / "crates/script/scripts").glob("*.toml"))
SYSTEMS = [system.name for system in simulated.systems()]
NAMES = sorted({item.name for system in simulated.systems() for item in system.parameters})
WORDS = st.sampled_from(
    [
        "1",
        "-1",
        "0.5",
        "1e999",
        "-0",
        "nan",
        "inf",
        "true",
        '"a"',
        "''",
        "9" * 400,
        "9" * 5000,
        "\u202e",
        "{}",
        "1979-05-27",
        "1979-05-27T07:32:00Z",
        "07:32:00",
    ]
)
KINDS = [
    "exponential",
    "hyperexponential",
    "erlang",
    "uniform",
    "discrete",
    "mixture",
    "geometric",
    "nothing",
]
HEAD = 'system = "ctss"\nseed = 1\n'
FIELDS = ["mean", "max", "means", "weights", "shape", "low", "high", "values", "of", "kind"]


def lists(inner):
    """Lists, tables, and distributions in short form of what is inside."""
    listed = st.lists(inner, max_size=4)
    fields = st.lists(st.tuples(st.sampled_from(FIELDS), inner), max_size=3)
    return st.one_of(
        listed.map(lambda items: f"[{', '.join(items)}]"),
        fields.map(lambda pairs: "{" + ", ".join(f'"{name}": {item}' for name, item in pairs) + "}"),
        fields.map(lambda pairs: "{" + ", ".join(f"{name} = {item}" for name, item in pairs) + "}"),
        st.tuples(st.sampled_from(KINDS), fields).map(
            lambda both: f"{both[0]}({', '.join(f'{name}={item}' for name, item in both[1])})"
        ),
    )


VALUES = st.recursive(WORDS | st.text(max_size=8), lists, max_leaves=12)
NUMBERS = st.from_regex(r"[-+]?[0-9.]{0,6}(e[-+]?[0-9]{1,4})? ?[a-zA-Z]{0,4}", fullmatch=True)


def are_finite(value):
    """Whether every number in a JSON tree is one."""
    if isinstance(value, dict):
        return all(are_finite(item) for item in value.values())
    if isinstance(value, list):
        return all(are_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)


@contextlib.contextmanager
def file_of(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        yield path


def is_a_design_or_refused(text):
    with file_of(text) as path, contextlib.suppress(InputError):
        read = design.read(path)
        experiments.check(read)
        return True
    return False


@pytest.mark.parametrize("path", DESIGNS, ids=lambda path: path.stem)
@given(seed=SEEDS)
@effort(30)
def test_damaged_designs(path, seed):
    is_a_design_or_refused(damaged(path.read_bytes(), seed, longest=20))


@given(key=st.sampled_from(sorted(design.KEYS)), name=st.sampled_from(NAMES), value=VALUES)
@effort(150)
def test_designs_with_any_value(key, name, value):
    head = "".join(line for line in HEAD.splitlines(keepends=True) if not line.startswith(key))
    is_a_design_or_refused(f"{head}{key} = {value}\n[factors]\n{name} = {value}\n")


def test_the_damage_leaves_something_to_read():
    """Damage that is refused at the door tests the door alone."""
    sound = DESIGNS[0].read_bytes()
    assert sum(is_a_design_or_refused(damaged(sound, seed, longest=20)) for seed in range(200)) >= 5


def test_a_design_of_more_cells_than_memory_is_refused():
    levels = "".join(f"a{number} = [1, 2, 3, 4]\n" for number in range(40))
    with file_of(f"{HEAD}[factors]\n{levels}") as path, pytest.raises(InputError, match="cells"):
        design.read(path)


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 5000, ".".join(["a"] * 1000) + " = [1, 2]"], ids=["brackets", "dotted keys"]
)
@pytest.mark.parametrize("head", ["", f"{HEAD}[factors]\n"])
def test_nesting_that_no_stack_holds_is_refused(head, text):
    with file_of(head + text) as path:
        with pytest.raises(InputError):
            toml.read(path)
        with pytest.raises(InputError):
            design.read(path)


@given(system=st.sampled_from(SYSTEMS), name=st.sampled_from(NAMES), value=VALUES)
@effort(300)
def test_values_of_parameters(system, name, value):
    with contextlib.suppress(InputError):
        resolved = simulated.resolve(system, parameters.read(None, [f"{name}={value}"]))
        assert are_finite(json.loads(json.dumps(resolved)))


@given(system=st.sampled_from(SYSTEMS), name=st.sampled_from(NAMES), value=VALUES)
@effort(150)
def test_values_in_a_file_of_parameters(system, name, value):
    with file_of(f"{name} = {value}\n") as path:
        try:
            assert are_finite(simulated.resolve(system, parameters.read(path, [])))
        except InputError as error:
            # The message finds its line in the file without another exception.
            parameters.located(error, system, path, [])


@pytest.mark.parametrize("date", ["1979-05-27", "1979-05-27T07:32:00Z", "07:32:00"])
@pytest.mark.parametrize("place", ["{}", "[1, {}]", "{{ kind = {} }}"])
def test_dates_are_refused_by_name(date, place):
    with (
        file_of(f"think = {place.format(date)}\n") as path,
        pytest.raises(InputError, match=r"think.*: .* is a date or a time of day; give a number, or a text"),
    ):
        parameters.read(path, [])


@pytest.mark.parametrize("value", ["9" * 5000, f"[1, {'9' * 5000}]"])
def test_numbers_of_thousands_of_digits_are_refused(value):
    with file_of(f"think = {value}\n") as path, pytest.raises(InputError, match="thousands of digits"):
        parameters.read(path, [])
    with pytest.raises(InputError, match=r"digits|whole number"):
        simulated.resolve("ctss", parameters.read(None, [f"users={value}"]))


def test_a_date_among_the_values_of_a_list_is_refused_by_name():
    with pytest.raises(InputError, match=r"-p levels: value\[1\]: 1979-05-27 is a date or a time of day"):
        parameters.read(None, ["levels=[1, 1979-05-27]"])


@given(seed=SEEDS)
@effort(100)
@pytest.mark.parametrize("name", ["prototype", "mixed", "empty"])
def test_damaged_workloads(name, seed):
    sound = json.dumps(plans.workload(name)).encode()
    with file_of(damaged(sound, seed, longest=20)) as path, contextlib.suppress(InputError):
        assert are_finite(plans.read_workload(path))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
@given(seed=SEEDS)
@effort(50)
def test_damaged_scripts(path, seed):
    with (
        file_of(damaged(path.read_bytes(), seed, longest=20)) as damaged_path,
        contextlib.suppress(InputError),
    ):
        scripts.resolve(str(damaged_path), "ctss")


@given(text=NUMBERS | st.text(max_size=30))
@effort(300)
def test_quantities(text):
    with contextlib.suppress(InputError):
        assert 0 <= parse_seconds(text, "--interval") < math.inf
    with contextlib.suppress(InputError):
        assert 0 <= parse_bytes(text, "--keep-bytes") < 2**64


@pytest.mark.parametrize("text", ["1e308k", "1e308", "1e308d"])
def test_quantities_beyond_every_range_are_refused(text):
    for parse in (parse_bytes, parse_seconds):
        with pytest.raises(InputError):
            parse(text, "--keep-bytes")
