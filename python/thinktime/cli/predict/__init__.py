"""`thinktime predict`: what another machine would do, by a model of one's choice."""

from __future__ import annotations

import importlib

import typer

__all__ = ["MODELS", "command"]

MODELS: dict[str, str] = {
    "ratio": "thinktime.cli.predict.ratio",
    "cpu-bound": "thinktime.cli.predict.cpu_bound",
    "swapping": "thinktime.cli.predict.swapping",
    "paging": "thinktime.cli.predict.paging",
}
"""Name of each model, and the module whose function ``command`` asks it."""

command = typer.Typer(
    help="Predict what a change would do, by a model: from a log, or from a configuration.",
    short_help="Predict what a change would do",
    epilog="""\
Examples:

thinktime predict ratio --loaded 4 --loaded-b 8 --block-time 50ms --swap-time 70ms

thinktime predict ratio --from run --memory-b 1280

thinktime predict paging --core 128..512..64 --simulate 2 -o paging.html

thinktime predict ratio --help
""",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for name, module in MODELS.items():
    command.command(name)(importlib.import_module(module).command)
