"""The plan of an experiment as a file: which treatment was in force when."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.analyses.compare.design import Plan

__all__ = ["read"]

UNIT = ("day", "unit")
"""Names of the column of a CSV that says when."""
KEYS = ("control", "randomisation", "blocks", "treatments")


def read(path: Path) -> Plan:
    """Read a plan from a file in CSV or TOML.

    CSV: a row a unit, with columns ``day`` (or ``unit``), ``treatment``, and any further blocking factors.
    TOML: ``control``, ``randomisation`` and ``blocks``, and a table ``[treatments]`` with the list of
    units of each.

    Raises
    ------
    InputError
        The file cannot be read, or is no plan.
    """
    if path.suffix.lower() == ".toml":
        return _of_toml(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise InputError(f"{path}: cannot be read: {reason}") from None
    return _of_csv(path, text)


def _of_csv(path: Path, text: str) -> Plan:
    from thinktime.analyses.compare.design import Plan

    rows = csv.DictReader(text.splitlines())
    names = [name.strip() for name in rows.fieldnames or ()]
    rows.fieldnames = names
    when = next((name for name in names if name in UNIT), None)
    if when is None or "treatment" not in names:
        raise InputError(
            f"{path}: line 1: has the columns {', '.join(names) or 'none'}; day and treatment are needed"
        )
    factors = [name for name in names if name not in (when, "treatment")]
    treatments: dict[str, str] = {}
    own: dict[str, dict[str, str]] = {factor: {} for factor in factors}
    for row in rows:
        values = {name: (row[name] or "").strip() for name in names}
        if row.get(None) or not all(values.values()):
            raise InputError(f"{path}: line {rows.line_num}: does not have one value in each column")
        unit = values[when]
        if unit in treatments:
            raise InputError(f"{path}: line {rows.line_num}: {unit} is there already")
        treatments[unit] = values["treatment"]
        for factor in factors:
            own[factor][unit] = values[factor]
    return Plan(treatments, own=own, blocks=tuple(factors) or None, name=str(path))


def _of_toml(path: Path) -> Plan:
    from thinktime import toml
    from thinktime.analyses.compare.design import Plan

    table: dict[str, Any] = toml.read(path)
    if unknown := [key for key in table if key not in KEYS]:
        raise InputError(f"{path}: has no key {unknown[0]!r}; the keys are {', '.join(KEYS)}")
    given = table.get("treatments")
    if not isinstance(given, dict) or not all(isinstance(units, list) for units in given.values()):
        raise InputError(f"{path}: [treatments] must give each treatment a list of days")
    treatments: dict[str, str] = {}
    for treatment, units in given.items():
        for unit in map(str, units):
            if unit in treatments:
                raise InputError(f"{path}: {unit} is given to {treatments[unit]} and to {treatment}")
            treatments[unit] = str(treatment)
    blocks = table.get("blocks")
    if blocks is not None and not (isinstance(blocks, list) and all(isinstance(b, str) for b in blocks)):
        raise InputError(f"{path}: blocks must be a list of names")
    return Plan(
        treatments,
        control=table.get("control"),
        blocks=None if blocks is None else tuple(blocks),
        randomisation=table.get("randomisation"),
        name=str(path),
    )
