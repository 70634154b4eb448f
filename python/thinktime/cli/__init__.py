"""The command line: one file a command, each loaded when it is called.

Exit status: 0 done, 1 the work failed, 2 bad usage or bad input.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from thinktime.errors import InputError, WorkError

if TYPE_CHECKING:
    import click

__all__ = ["COMMANDS", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "record": ("thinktime.cli.record", "Record this machine into a log."),
    "play": ("thinktime.cli.play", "Play synthetic interactive users on this machine, and record it."),
    "report": ("thinktime.cli.report", "Tell the whole story of a log in one page."),
    "analyse": ("thinktime.cli.analyse", "Answer one question about a log."),
    "import": ("thinktime.cli.import_", "Turn another tool's file into a log."),
    "check": ("thinktime.cli.check", "Say what is wrong with a log, and where."),
    "doctor": ("thinktime.cli.doctor", "Say what this machine can measure, and at what cost."),
    "demo": ("thinktime.cli.demo", "Play users, record, analyse, report: three minutes on this machine."),
}
"""Name of each command: the module that holds it, and its line in ``thinktime --help``."""

EPILOG = """\
Examples:

  thinktime record -o run --duration 60s

  thinktime play prototype --users 1..12 --hold 20s -o run

  thinktime report run -o report.html
"""


def _application() -> click.Group:
    import click
    import typer

    class Commands(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            del ctx
            return list(COMMANDS)

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            del ctx
            if cmd_name not in COMMANDS:
                return None
            module = importlib.import_module(COMMANDS[cmd_name][0])
            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.command(cmd_name)(module.command)
            return typer.main.get_command(app)

        def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            del ctx
            with formatter.section("Commands"):
                formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    return Commands(
        name="thinktime",
        help="Measure, explain and predict interactive multi-user systems.",
        epilog=EPILOG,
    )


def main() -> None:
    """Run the command that `sys.argv` names, and exit with its status."""
    try:
        _application().main(prog_name="thinktime", standalone_mode=True)
    except InputError as error:
        print(f"thinktime: {error}", file=sys.stderr)
        sys.exit(2)
    except WorkError as error:
        print(f"thinktime: {error}", file=sys.stderr)
        sys.exit(1)
