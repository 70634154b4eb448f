"""Verdicts of the studies at full length, as committed: `make verdicts` computes them anew.

Run as a module, every study is run with the committed seed and replications; the exit status is 1 if a
verdict differs from `verdict.json`. With ``--update`` the files and the READMEs are written instead; with
``--on ADDRESS``, the workers of a Dask cluster simulate; with ``--keep DIR``, what was interrupted goes on.
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from thinktime.errors import InputError
from thinktime.studies import STUDIES, load
from thinktime.studies.cells import KINDS, Cell, tally
from thinktime.studies.laboratory import Settings
from thinktime.studies.study import Outcome, Study, run
from thinktime.tasks import Pool, PoolError
from thinktime.tasks.cluster import Cluster
from thinktime.tasks.kept import Kept

FILE_NAME = "verdict.json"
BEGIN, END = "<!-- verdict.json, by `make verdicts` -->\n", "<!-- end of verdict.json -->\n"
"""Lines of a README between which the verdict stands."""
HOLDS = {True: "holds", False: "does not hold", None: "undecided"}


def verdict(outcome: Outcome) -> dict[str, Any]:
    """Verdict of a study that was run: cells that agree by kind, those that miss by name, and claims."""
    return {
        "study": outcome.study.name,
        "seed": outcome.settings.seed,
        "replications": outcome.settings.replications,
        "cells": {
            item.kind: {
                "agree": item.agree,
                "judged": item.judged,
                "doubtful": item.doubtful,
                "not_printed": item.empty,
            }
            for item in tally(outcome.cells)
        },
        "tables": {table: counts for table in outcome.study.tables if (counts := _counts(outcome, table))},
        "misses": [_name(cell) for cell in outcome.cells if cell.verdict == "misses"],
        "claims": {claim.id: HOLDS[claim.holds] for claim in outcome.claims},
    }


def _counts(outcome: Outcome, table: str) -> dict[str, str]:
    """Cells of a published table that agree, of those judged, by kind."""
    cells = [cell for cell in outcome.cells if cell.table == table]
    return {item.kind: f"{item.agree} of {item.judged}" for item in tally(cells) if item.judged}


def _name(cell: Cell) -> str:
    row = " ".join(f"{key}={value}" for key, value in cell.row.items())
    return f"{cell.table} {row}: {cell.quantity} ({cell.kind})"


def committed(study: Study) -> dict[str, Any]:
    """Verdict of a study as committed."""
    text = (study.paper.folder / FILE_NAME).read_text(encoding="utf-8")
    result: dict[str, Any] = json.loads(text)
    return result


def written(computed: Mapping[str, Any]) -> str:
    """Text of `verdict.json`."""
    return json.dumps(computed, ensure_ascii=False, indent=2) + "\n"


def in_words(computed: Mapping[str, Any], study: Study) -> str:
    """Verdict of a study as its README has it.

    Parameters
    ----------
    computed : mapping
        As of `verdict`.
    study : Study
    """
    claims, statements = computed["claims"], study.paper.statements
    held = sum(holds == "holds" for holds in claims.values())
    lines = [
        f"At full length, with seed {computed['seed']} and {computed['replications']} replications:",
        "",
        "| cells | agree | of | doubtful | not printed |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind in KINDS:
        if kind in computed["cells"]:
            values = (computed["cells"][kind][key] for key in ("agree", "judged", "doubtful", "not_printed"))
            lines.append(f"| {kind} | {' | '.join(map(str, values))} |")
    lines += ["", f"| cells that agree | {' | '.join(KINDS)} |", "| --- | --- | --- | --- |"]
    for table, counts in computed["tables"].items():
        lines.append(f"| {study.place(table)} | {' | '.join(counts.get(kind, '') for kind in KINDS)} |")
    lines += ["", f"{held} of {len(claims)} claims hold. The others:", ""]
    lines += [f"- {holds}: {statements[name].text}" for name, holds in claims.items() if holds != "holds"]
    if held == len(claims):
        lines[-2:] = [f"All {held} claims hold."]
    return "\n".join(lines) + "\n"


def in_readme(readme: str) -> str:
    """Verdict that a README states.

    Raises
    ------
    ValueError
        It has no place for one.
    """
    return readme[readme.index(BEGIN) + len(BEGIN) : readme.index(END)]


def _with_verdict(readme: str, words: str) -> str:
    return readme.replace(f"{BEGIN}{in_readme(readme)}{END}", f"{BEGIN}{words}{END}")


def _computed(
    names: Sequence[str], pool: Pool | None, kept: Kept | None
) -> Iterator[tuple[Outcome, dict[str, Any]]]:
    for name in names:
        study = load(name)
        outcome = run(study, Settings(replications=study.paper.replications, pool=pool, kept=kept))
        yield outcome, verdict(outcome)


def _update(outcome: Outcome, computed: Mapping[str, Any]) -> None:
    folder = outcome.study.paper.folder
    (folder / FILE_NAME).write_text(written(computed), encoding="utf-8")
    words = in_words(computed, outcome.study)
    readme = folder / "README.md"
    readme.write_text(_with_verdict(readme.read_text(encoding="utf-8"), words), encoding="utf-8")


def difference(path: Path, computed: Mapping[str, Any]) -> str:
    """Lines in which the computed verdict differs from the committed one; empty if none."""
    lines = path.read_text(encoding="utf-8").splitlines(), written(computed).splitlines()
    return "\n".join(difflib.unified_diff(*lines, f"{path} as committed", "as computed now", lineterm=""))


def main() -> None:
    """Compute all verdicts, and compare them with the committed ones or write them anew."""
    parser = argparse.ArgumentParser(prog="make verdicts", description=__doc__)
    parser.add_argument("studies", nargs="*", help="by default all")
    parser.add_argument("--update", action="store_true", help="write verdicts and READMEs anew")
    parser.add_argument("--on", metavar="ADDRESS", help="a Dask cluster: tcp://host:8786 of its scheduler")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep runs in DIR, and take those there")
    arguments = parser.parse_args()
    try:
        kept = None if arguments.keep is None else Kept(arguments.keep)
        with nullcontext() if arguments.on is None else Cluster(arguments.on, said=_said) as pool:
            differs = _judge(arguments.studies or list(STUDIES), pool, kept, update=arguments.update)
    except (InputError, PoolError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    sys.exit(differs)


def _said(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _judge(names: Sequence[str], pool: Pool | None, kept: Kept | None, *, update: bool) -> bool:
    """Print whether each verdict is as committed, or write it; True if one differs."""
    differs = False
    for outcome, computed in _computed(names, pool, kept):
        name = outcome.study.name
        if update:
            _update(outcome, computed)
            print(f"{name}: written")
        elif lines := difference(outcome.study.paper.folder / FILE_NAME, computed):
            differs = True
            print(f"{name}: differs\n{lines}")
        else:
            print(f"{name}: as committed")
        sys.stdout.flush()
    return differs


if __name__ == "__main__":
    main()
