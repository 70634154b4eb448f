"""`thinktime analyse`: one question about a log, or about several that are compared.

Every analysis is a command of its own, with its own options, help and examples. To give one options:

1. Write ``cli/analyse/<name>.py`` with a function ``command``: arguments and options from `answering`
   (`answering.LogArgument` or, where several logs are compared, `answering.LogsArgument`, and
   `answering.Form`), a docstring whose first line is what the list of analyses shows and whose end is
   the examples, and as its last statement ``answering.show(section, form)``. Heavy imports go inside.
2. Name it in `ANALYSES` below; one that is only asked with a log and a form stands in `plain.QUESTIONS`.

What several logs have to say is a result like any other: ``analyses/<name>...py`` makes it from
``Sequence[Log]``, ``reports/sections/<name>...py`` makes its section, and the command asks for the one
or the other by how many logs are given. Logs are called by `answering.names`.
"""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperGroup

from thinktime.cli.analyse import plain
from thinktime.errors import InputError

__all__ = ["ANALYSES", "command"]

ANALYSES: dict[str, str] = {
    "rates": "plain",
    "throughput": "throughput",
    "response": "response",
    "service": "service",
    "arrivals": "plain",
    "trace": "plain",
    "overhead": "overhead",
    "saturation": "saturation",
    "iostat": "iostat",
    "capacity": "capacity",
    "decomposition": "decomposition",
    "run-report": "run_report",
    "compare": "compare",
    "experiment": "experiment",
}
"""Name of each analysis, and the module of this folder whose ``command`` does it."""


class _Group(TyperGroup):
    """Analyses by name; a name that is none of them is told what there is."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in ANALYSES:
            raise InputError(
                f"there is no analysis {args[0]!r}; the analyses are {', '.join(ANALYSES)}"
                " (the last of a folder of runs)"
            )
        return super().resolve_command(ctx, args)


command = typer.Typer(
    help="""Answer one question about a log, with intervals, numbers of observations and caveats.

An analysis that does not apply to the log says why; that is an answer, and the exit status is 0.
""",
    short_help="Answer one question about a log",
    epilog="""\
Examples:

thinktime analyse overhead run

thinktime analyse throughput before after --by active_users --width 2

thinktime analyse response run --format json | jq '.tables[0].rows'

thinktime analyse iostat --help
""",
    cls=_Group,
    subcommand_metavar="NAME LOG...",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for name, module in ANALYSES.items():
    if module == "plain":
        command.command(name)(plain.command(name))
    else:
        command.command(name)(importlib.import_module(f"{__name__}.{module}").command)
