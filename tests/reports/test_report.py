"""The report of whole logs: of the synthetic machine, and of logs in which nearly everything is missing."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import synthetic_machine
from test_renderers import Page

from thinktime import reports
from thinktime.analyses import QUESTIONS, Question
from thinktime.documents.document import Document
from thinktime.documents.render import render
from thinktime.log import Log, LogWriter, vocabulary

GOLDEN = Path(__file__).parent / "golden"
FORMS: tuple[reports.Form, ...] = ("text", "json", "csv", "html")


@pytest.fixture(scope="module")
def parsed(report: Document) -> dict[str, Any]:
    return json.loads(render(report, "json"))


def table(parsed: dict[str, Any], name: str) -> list[dict[str, Any]]:
    for section in parsed["sections"]:
        for item in (*section["tables"], *(figure["data"] for figure in section["figures"])):
            if item["name"] == name:
                heads = [column["name"] for column in item["columns"]]
                return [dict(zip(heads, row, strict=True)) for row in item["rows"]]
    raise AssertionError(f"no table {name}")


@pytest.mark.parametrize(
    ("label", "request_name"), [("fork", "forks"), ("minor page fault", "page_faults_minor")]
)
def test_the_report_recovers_what_the_synthetic_machine_charges(
    parsed: dict[str, Any], label: str, request_name: str
) -> None:
    """The seed is fixed, so this cannot fail by chance; 5 % holds the noise that the machine adds (3 %)."""
    cost = next(row for row in table(parsed, "overhead-table") if row["request"] == label)["cost"]
    assert cost["value"] == pytest.approx(synthetic_machine.COSTS[request_name], rel=0.05)


def test_shares_of_the_capacity_add_up(parsed: dict[str, Any]) -> None:
    assert sum(row["share"] for row in table(parsed, "capacity-total-data")) == pytest.approx(1.0, abs=0.005)


def test_users_and_samples_agree_on_the_cpu_time(parsed: dict[str, Any], log: Log) -> None:
    by_user = sum(row["CPU time"] for row in table(parsed, "users-amounts"))
    assert by_user == pytest.approx(log.samples().collect()["cpu_exact_s"].sum(), rel=1e-6)


def test_every_analysis_has_its_section(parsed: dict[str, Any]) -> None:
    names = [section["name"] for section in parsed["sections"]]
    # The synthetic machine writes no events: that about a trace of the scheduler is then left out altogether.
    assert names == [item.name for item in QUESTIONS if item.in_report and item.name != "scheduling"]
    refused = {section["name"] for section in parsed["sections"] if section["not_applicable"]}
    assert refused == {"waits"}


@pytest.fixture(scope="module")
def twice(report: Document, log: Log) -> tuple[Document, Document]:
    return report, reports.build([Log.open(log.path)])


# That a page has the same bytes is shown by that of the study of a machine too.
@pytest.mark.parametrize(
    "form", [pytest.param(form, marks=pytest.mark.thorough) if form == "html" else form for form in FORMS]
)
def test_the_same_log_gives_the_same_bytes(form: reports.Form, twice: tuple[Document, Document]) -> None:
    first, again = (render(report, form) for report in twice)
    assert first == again


def test_golden(report: Document, request: pytest.FixtureRequest) -> None:
    """Did it change? Whether it is right is asked by the other tests. `--update-golden` writes it anew."""
    made = render(report, "text")
    path = GOLDEN / "synthetic.txt"
    if request.config.getoption("--update-golden"):
        path.write_text(made, encoding="utf-8")
    assert path.exists(), f"{path}: run pytest {__file__} --update-golden"
    assert made == path.read_text(encoding="utf-8")


def samples(rows: int, **columns: list[Any]) -> pl.DataFrame:
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    types = {"u64": pl.UInt64(), "i64": pl.Int64(), "f64": pl.Float64(), "text": pl.String()}
    kinds = {
        column.name: types.get(column.type, pl.Datetime("us", "UTC")) for column in vocabulary("samples")
    }
    data = {
        "start": [start + timedelta(seconds=number) for number in range(rows)],
        "length_s": [1.0] * rows,
        **columns,
    }
    return pl.DataFrame(data, schema={name: kinds[name] for name in data})


def write(path: Path, frame: pl.DataFrame | None, **session: Any) -> Log:
    with LogWriter.open(path, source="test", start_us=0, **session) as writer:
        if frame is not None:
            writer.write("samples", frame)
    return Log.open(path)


HUGE = 2**63
ALL = [column.name for column in vocabulary("samples") if column.name not in {"start", "length_s"}]
STRANGE = {
    "nothing at all": None,
    "no rows": samples(0),
    "one row": samples(1, forks=[3], user_s=[0.5], idle_s=[0.5]),
    "two rows": samples(2, forks=[3, 4], user_s=[0.5, 0.4], idle_s=[0.5, 0.6]),
    "all null": samples(40, **{name: [None] * 40 for name in ALL}),
    "all zero": samples(40, **{name: [0] * 40 for name in ALL}),
    "constant": samples(40, user_s=[0.25] * 40, idle_s=[0.75] * 40, forks=[7] * 40, active_users=[3] * 40),
    "huge": samples(40, **{name: [HUGE + number for number in range(40)] for name in ALL}),
    "nothing but time": samples(40),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_log_gives_a_report(name: str, tmp_path: Path) -> None:
    log = write(tmp_path / "log", STRANGE[name])
    document = reports.build([log])
    for form in FORMS:
        text = render(document, form)
        assert "nan" not in text.split("<script", 1)[0].lower().replace("tenant", "").split()
        if form == "json":
            json.loads(text)
        if form == "html":
            Page(text)
    assert document.findings


@pytest.mark.parametrize("asked", [item for item in QUESTIONS if item.in_report], ids=lambda item: item.name)
def test_every_question_says_of_an_empty_log_why_it_has_no_answer(asked: Question, tmp_path: Path) -> None:
    assert asked.answer([write(tmp_path / "log", None)]).not_applicable


def test_names_in_a_log_are_only_names(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\x1b[2J"
    frames = synthetic_machine.make(users=2)
    path = tmp_path / "log"
    machine = {**synthetic_machine.MACHINE, "hostname": hostile, "cpu_model": hostile}
    with LogWriter.open(path, source=hostile, machine=machine, options={"by": hostile}, start_us=0) as writer:
        writer.write("samples", frames.samples)
        writer.write("users", frames.users.with_columns(user=pl.lit(hostile)))
        writer.write("interactions", frames.interactions.with_columns(pl.lit(hostile).alias("class")))
        writer.incident("damaged_block", hostile)
        writer.set("recorder", {"method": hostile, hostile: [hostile]})
    document = reports.build([Log.open(path)])
    page = render(document, "html")
    assert "<script>alert" not in page
    assert Page(page)
    for form in FORMS[:1]:
        assert "\x1b" not in render(document, form)


def test_users_asked_for_started_and_active_are_told_apart(tmp_path: Path) -> None:
    frames = synthetic_machine.make(users=4)
    sessions = {f"user:{number}": f"uid:{1000 + number}" for number in range(3)}
    frames.session["terminals"] |= {"users": "1..4", "outcome": {"sessions": sessions}}
    log = Log.open(synthetic_machine.write(tmp_path / "log", frames))
    active = [
        sum(row["user"] in sessions.values() and row["user_s"] + row["system_s"] > 0 for row in rows)
        for rows in frames.users.partition_by("start", as_dict=False)
        for rows in [rows.to_dicts()]
    ]
    mean = sum(active) / sum(count > 0 for count in active)
    document = reports.build([log])
    words = f"4 users asked for, 3 started, {mean:.2f} active on average while any was"
    assert words in document.subtitle.replace("\N{NO-BREAK SPACE}", " ")
    assert any(
        "4 users were asked for and 3 started" in " ".join(item.text.split()) for item in document.findings
    )


def test_incidents_and_dropped_intervals_are_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with LogWriter.open(path, source="test", start_us=0) as writer:
        writer.write("samples", samples(40, user_s=[0.5] * 40))
        for _ in range(3):
            writer.incident("interval_dropped", "spans a suspend")
        writer.incident("killed", "the recorder was killed")
        writer.incident("exits_lost", "processes ended faster than their ends could be read")
    document = reports.build([Log.open(path)])
    text = render(document, "text")
    assert "3 intervals were dropped" in text
    assert "the recorder was killed" in text
    assert "In 1 interval, more processes ended than the kernel could" in " ".join(text.split())


def test_ticks_that_disagree_with_exact_time_are_told(tmp_path: Path) -> None:
    """A load in step with the tick: 40 s of exact CPU time of which the tick saw 0.4 s."""
    frame = samples(40, user_s=[0.01] * 40, system_s=[0.0] * 40, idle_s=[1.99] * 40, cpu_exact_s=[1.0] * 40)
    document = reports.build([write(tmp_path / "log", frame, machine={"cpus": 2})])
    assert any(item.tone == "warning" and "differs by −99.0" in item.text for item in document.findings)


def test_ticks_within_chance_are_not_complained_of(tmp_path: Path) -> None:
    """40 s of exact time, sampled by ticks of 10 ms: the standard deviation is at most 0.63 s; 1 s is "
    "chance."""
    frame = samples(40, user_s=[1.025] * 40, system_s=[0.0] * 40, idle_s=[0.975] * 40, cpu_exact_s=[1.0] * 40)
    document = reports.build([write(tmp_path / "log", frame, machine={"cpus": 2})])
    assert not any("clock tick" in item.text for item in document.findings)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Log:
    path = tmp_path_factory.mktemp("other") / "log"
    return write(path, samples(40, user_s=[0.5] * 40, idle_s=[0.5] * 40))


@pytest.fixture(scope="module")
def both(log: Log, other: Log) -> Document:
    """Report of two logs."""
    return reports.build([log, other])


def test_several_logs_stand_beside_each_other(both: Document) -> None:
    names = [section.name for section in both.sections]
    assert len(names) == len(set(names))
    groups = {section.group.split(":")[0] for section in both.sections}
    assert groups - {"The logs compared"} == {"Log 1", "Log 2"}
    page = Page(render(both, "html"))
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_a_comparison_begins_with_what_was_compared(both: Document, other: Log, tmp_path: Path) -> None:
    """Then what was found in each log, what is true of both once; next steps last, each with its place."""
    compared = [section for section in both.sections if section.group == "The logs compared"]
    assert compared
    said = [item.text for item in both.findings]
    assert said[: len(compared)] == [section.summary[0] for section in compared]
    assert all(text.startswith(("Log 1: ", "Log 2: ", "Both logs: ")) for text in said[len(compared) :])
    steps = [item.tone == "next" for item in both.findings]
    assert steps == sorted(steps)
    places = {section.name for section in both.sections}
    assert {item.section for item in both.findings if item.section} <= places
    same = reports.build([other, write(tmp_path / "same", samples(40, user_s=[0.5] * 40, idle_s=[0.5] * 40))])
    of_logs = [item.text for item in same.findings if item.text.startswith(("Log ", "Both "))]
    assert of_logs
    assert all(text.startswith("Both logs: ") for text in of_logs)


def test_every_chart_is_what_its_schema_wants(report: Document) -> None:
    """Pages are written without this check, which takes longer than all else.

    The looks of all charts are left out: no background, and colours by names of the page, are beyond it.
    """
    import altair

    for section in report.sections:
        for figure in section.figures:
            altair.TopLevelSpec.validate({**figure.chart(), "config": {}})


def test_a_report_needs_a_log() -> None:
    with pytest.raises(ValueError, match="at least one"):
        reports.build([])
