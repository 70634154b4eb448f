"""The command line: one file per command, loaded when that command is called.

Exit status: 0 done, 1 the work failed, 2 bad usage or bad input, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["COMMANDS", "main", "run"]

COMMANDS: dict[str, tuple[str, str]] = {
    "record": ("thinktime.cli.record", "Record this machine into a log"),
    "live": ("thinktime.cli.live", "Show a log on the terminal"),
    "play": ("thinktime.cli.play", "Play interactive users"),
    "simulate": ("thinktime.cli.simulate", "Simulate a system in independent replications"),
    "predict": ("thinktime.cli.predict", "Predict the effect of a change"),
    "size": ("thinktime.cli.size", "Say how many users fit"),
    "experiment": ("thinktime.cli.experiment", "Run a factorial experiment on a simulated system"),
    "lab": ("thinktime.cli.lab", "Run an experiment that changes this machine while it runs"),
    "systems": ("thinktime.cli.systems", "List the simulated systems"),
    "scripts": ("thinktime.cli.scripts", "List the scripts of users"),
    "report": ("thinktime.cli.report", "Report on a log"),
    "fleet": ("thinktime.cli.fleet", "Look after many machines"),
    "analyse": ("thinktime.cli.analyse", "Answer one question about a log"),
    "import": ("thinktime.cli.exchange.import_", "Convert a file of another tool into a log"),
    "export": ("thinktime.cli.exchange.export", "Write the rows of a log for other tools"),
    "study": ("thinktime.cli.study", "Repeat a paper"),
    "logs": ("thinktime.cli.logs", "List the logs below a folder"),
    "check": ("thinktime.cli.check", "List the defects of a log"),
    "doctor": ("thinktime.cli.doctor", "List the counters that this machine measures"),
    "demo": ("thinktime.cli.demo", "Play a growing number of synthetic users on this machine"),
    "config": ("thinktime.cli.config", "Show the defaults that configuration files set"),
    "man": ("thinktime.cli.man", "Print the manual page of a command"),
}
"""Name of each command: the module that defines it as ``command``, a function or a group of functions, and
the first words of its help, which the list of commands shows."""


def words_of(arguments: Sequence[str]) -> list[str]:
    """Arguments from the first on that is no option of all commands."""
    first = next((at for at, text in enumerate(arguments) if not text.startswith("-")), len(arguments))
    return list(arguments[first:])


def _asked(arguments: Sequence[str]) -> list[str]:
    """Arguments, with ``help COMMAND...`` in its other form, ``COMMAND... --help``."""
    words = words_of(arguments)
    return [*words[1:], "--help"] if words[:1] == ["help"] else list(arguments)


def run(arguments: Sequence[str]) -> int:
    """Exit status of a call with these arguments: 0 done, 1 failed, 2 bad usage, 130 interrupted.

    What the program answers by itself is answered without Typer.
    """
    from thinktime.cli.program import front

    asked = _asked(arguments)
    status = front.answered(asked)
    if status is not None:
        return status
    from thinktime.cli.program import application

    return application.run(asked)


def _open_closed_streams() -> None:
    """Open standard streams that the caller closed (``2>&-``), to nowhere.

    Python has None for such a stream, and the next file that is opened gets its number: what is printed
    would be written into a log.
    """
    streams = (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_WRONLY, "w"), ("stderr", os.O_WRONLY, "w"))
    for number, (name, access, mode) in enumerate(streams):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, access)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)
            # Open until the process ends, as the stream would have been.
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def main() -> None:
    """Run the command that `sys.argv` names, and exit with its status."""
    _open_closed_streams()
    # Our matrices are small: threads for them would wait busily from the import of NumPy on, for a fifth of
    # the time of a short command. Programs of synthetic users find the environment as it was.
    if not {"play", "demo"} & set(words_of(sys.argv[1:])[:1]):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError:
        # Python would try again at its end, and report a traceback for an error that has been reported.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
