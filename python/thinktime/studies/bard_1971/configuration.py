"""The simulated installation: every parameter with its value, its unit and its source."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.documents.document import Col, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.bard_1971.records import DERIVED, PAPER, RECORDED, SYSTEM
from thinktime.studies.cells import Cell
from thinktime.studies.common_sections import calibrated, parameters
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

PAGE_BYTES = 4096.0
"""Page of the simulated system, that of the System/360 Model 67 [byte]."""
LOGGED = {
    "date": "start",
    "time_of_day": "start",
    "wait_time": "wait_s",
    "cp_time": "cp_s",
    "dispatch": "dispatch_s",
    "n_users": "users_signed_on",
    "vsio": "vsio",
    "vmio": "vmio",
    "rio": "rio",
    "p_in": "page_ins",
    "p_out": "page_outs",
    "p_steal": "page_steals",
    "free_fret": "free_calls, fret_calls, free_s, fret_s",
    "user_id": "users: user",
    "user_tot_time": "users: user_s and system_s",
    "user_prob_time": "users: user_s",
    "delta_t": "length_s",
    "problem_state_time": "problem_s",
    "page_io": "page_ios",
    "spool_io": "spool_ios",
    "active_users": "active_users",
}
"""Columns of the simulated log by the variables of Tables 1 and 2."""


def chapter(laboratory: Laboratory) -> Chapter:
    """The simulated system: every parameter with its source."""
    described = laboratory.system(SYSTEM)
    summary = (
        f"{described.summary.removesuffix('.')}. The three periods differ in version, core boxes, shifts, "
        "users and their programs' environment, the experiment in its days and its algorithm only.",
        calibrated(described),
    )
    return Chapter(
        cells=(*_stated(), *_logged()),
        summary=summary,
        tables=(_variables(), parameters(described, laboratory.defaults(SYSTEM))),
    )


def _stated() -> Iterator[Cell]:
    """Numbers of the text that the machine was built with."""
    ours = Estimate(value=PAGE_BYTES, unit="bytes", n=1, method="page of the simulated system")
    yield PAPER.fact("page-size", ours)


def _logged() -> Iterator[Cell]:
    """The columns of the log for each variable of Tables 1 and 2; the paper has words there."""
    for name in (RECORDED, DERIVED):
        for row in PAPER.tables[name].rows:
            columns = float(len(LOGGED[str(row["variable"])].split(",")))
            yield Cell(
                study=PAPER.study,
                table=name,
                row=row,
                quantity="log_columns",
                unit="columns",
                published=None,
                ours=columns,
                low=None,
                high=None,
                n=1,
                kind="fitted",
                places=0,
            )


def _variables() -> Table:
    """Tables 1 and 2: what DUSETIMR recorded, and where it stands in the log."""
    return Table.of(
        [
            (str(row["variable"]), row, PAPER.tables[table], words)
            for table, words in ((RECORDED, "description"), (DERIVED, "definition"))
            for row in PAPER.tables[table].rows
        ],
        Col("variable", lambda item: item[0]),
        Col("published", lambda item: item[2].shape.place),
        Col("what it is", lambda item: item[2].remark(item[1], item[3])),
        Col("unit", lambda item: item[2].remark(item[1], "unit")),
        Col("in the log", lambda item: LOGGED[item[0]]),
        name="variables",
        caption="What DUSETIMR recorded (Table 1), what follows (Table 2), and the columns of the log",
        notes=("The log holds amounts in an interval, where DUSETIMR wrote sums since start-up.",),
        folded=True,
    )
