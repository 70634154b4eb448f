"""What the program answers without a command: help, version, first steps, and names of commands in a shell.

Nothing here loads Typer or a command, which take most of the time of a short call. Where more is asked for,
`answer` says so and `application` takes over, with the same records.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from thinktime import __version__
from thinktime.cli import COMMANDS, messages
from thinktime.cli.program.catalogue import PROGRAM, Command, Parameter
from thinktime.errors import WorkError

SUMMARY = "Measure, explain and predict interactive multi-user systems."
EXAMPLES = (
    "thinktime demo",
    "thinktime record -o run --duration 60s",
    "thinktime report run -o report.html",
)
FIRST_STEPS = """\
thinktime measures, explains and predicts interactive multi-user systems.

  thinktime demo                            what it does, shown on this machine in three minutes
  thinktime record -o run --duration 60s    record this machine for a minute
  thinktime report run -o report.html       report on that log, in one page

All commands: thinktime --help; one of them: thinktime help COMMAND.
"""
WIDTHS = (50, 78)
"""Least and greatest width of help, as Click has them."""
NAMES_WIDTH = 30
"""Longer names stand on a line of their own, as Click has it."""
VARIABLE = f"_{PROGRAM.upper()}_COMPLETE"
"""Environment variable with which a shell asks for what may follow."""
_SHELL_WORD = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")
"""A word as a shell reads it: what is quoted is one."""
_PLAIN_LINE = re.compile(r"[\w\s./-]*", re.ASCII)
"""Line of a shell whose words are those between blanks: nothing is quoted in it."""


def _flag(help_: str, *spellings: str) -> Parameter:
    """Option of the program: all are flags."""
    return Parameter(
        name=spellings[-1].removeprefix("--").replace("-", "_"),
        kind="option",
        spellings=spellings,
        opposites=(),
        metavar="",
        help=help_,
        default="",
        choices=(),
        least=None,
        most=None,
        required=False,
        repeated=False,
        flag=True,
        number="",
        hidden=False,
    )


VERSION = _flag("Print the version and exit.", "-V", "--version")
QUIET = _flag("Print answers and errors, no notes and no progress.", "-q", "--quiet")
VERBOSE = _flag("Print notes on files, defaults, time and memory as well.", "-v", "--verbose")
OF_TYPER = (
    _flag("Install completion for the current shell.", "--install-completion"),
    _flag(
        "Show completion for the current shell, to copy it or customize the installation.",
        "--show-completion",
    ),
    _flag("Show this message and exit.", "-h", "--help"),
)
"""Options that Typer adds, in its words."""


def program() -> Command:
    """The program with its options; its commands have names and summaries alone."""
    return Command(
        path=(),
        summary=SUMMARY.rstrip("."),
        paragraphs=(SUMMARY,),
        examples=EXAMPLES,
        usage=f"{PROGRAM} [OPTIONS] COMMAND [ARGS]...",
        parameters=(VERSION, QUIET, VERBOSE, *OF_TYPER),
        commands=tuple(
            Command(
                path=(name,),
                summary=summary,
                paragraphs=(),
                examples=(),
                usage="",
                parameters=(),
                commands=(),
            )
            for name, (_, summary) in COMMANDS.items()
        ),
    )


def answer(arguments: Sequence[str]) -> list[str] | None:
    """Lines that answer a call of the program alone; None if a command, or all of Typer, is needed.

    Parameters
    ----------
    arguments : sequence of str
        Words behind ``thinktime``.
    """
    if VARIABLE in os.environ:
        return _completed()
    if not arguments:
        return FIRST_STEPS.splitlines()
    if len(arguments) > 1:
        return None
    if arguments[0] in VERSION.spellings:
        return [version()]
    return page(columns()) if arguments[0] in OF_TYPER[-1].spellings else None


def version() -> str:
    """Answer to ``--version``."""
    return f"{PROGRAM} {__version__}"


def columns() -> int:
    """Width of help, which follows the terminal within `WIDTHS`."""
    import shutil

    least, most = WIDTHS
    return max(min(shutil.get_terminal_size().columns - 2, most), least)


def page(width: int) -> list[str]:
    """Lines of the help of the program, from its record.

    Parameters
    ----------
    width : int
        Columns.
    """
    one = program()
    text = "\n\n".join(["Examples:", *one.examples])
    return [
        f"Usage: {one.usage}",
        "",
        *in_paragraphs("\n\n".join(one.paragraphs), width, "  ").splitlines(),
        "",
        "Options:",
        *_listed([(item.face, item.explanation) for item in one.options if not item.hidden], width),
        "",
        "Commands:",
        *_listed([(below.path[-1], below.summary) for below in one.commands], width),
        "",
        *in_paragraphs(text, width, "  ").splitlines(),
    ]


def _listed(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Lines of names with their explanations, in two columns."""
    first = min(max(len(name) for name, _ in rows), NAMES_WIDTH) + 2
    for name, text in rows:
        head, *others = textwrap.wrap(text, max(width - first - 2, 10))
        yield f"  {name:<{first}}{head}"
        for line in others:
            yield f"  {'':<{first}}{line}"


def in_paragraphs(text: str, width: int, indent: str) -> str:
    """Help in paragraphs whose lines never end within an option; examples are those behind ``Examples:``.

    Parameters
    ----------
    text : str
        Paragraphs, with an empty line between each two.
    width : int
        Columns.
    indent : str
        Blanks in front of each line.
    """
    blocks, is_example = [], False
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        words = paragraph.split()
        if is_example:
            blocks.append(_example(" ".join(words), width, indent))
        else:
            fill = textwrap.TextWrapper(width, break_on_hyphens=False, break_long_words=False)
            fill.initial_indent = fill.subsequent_indent = indent
            blocks.append(fill.fill(" ".join(words)))
        is_example |= words == ["Examples:"]
    return "\n\n".join(blocks)


def _example(text: str, width: int, indent: str) -> str:
    """Lines of a command that a shell reads as one; the others begin behind a backslash."""
    lines = [indent]
    for word in _SHELL_WORD.findall(text):
        joint = "" if lines[-1].isspace() or not lines[-1] else " "
        # Room for the blank and the backslash.
        if joint and len(lines[-1]) + len(word) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"{indent}    {word}")
        else:
            lines[-1] += joint + word
    return "\n".join(lines)


def typed() -> tuple[list[str], str] | None:
    """Words of a shell's line behind the program, and the one at the cursor; None if it has quoted ones."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    if not _PLAIN_LINE.fullmatch(line):
        return None
    words = line.split()[1:]
    number = os.environ.get("COMP_CWORD", "")
    if os.environ.get("COMP_WORDS"):
        at = int(number) - 1 if number.isdecimal() else len(words)
    else:
        at = len(words) if not words or line.endswith(" ") else len(words) - 1
    return words[: max(at, 0)], words[at] if 0 <= at < len(words) else ""


def _completed() -> list[str] | None:
    """Names of commands for a shell, in the form that it expects; None where Typer must answer."""
    line = typed()
    form = FORMS.get(os.environ[VARIABLE].removeprefix("complete_"))
    if form is None or line is None or line[0] or line[1].startswith("-"):
        return None
    found = [(name, summary) for name, (_, summary) in COMMANDS.items() if name.startswith(line[1])]
    return list(form(found)) if found else None


def _for_bash(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, _ in found:
        yield name


def _for_zsh(found: Sequence[tuple[str, str]]) -> Iterator[str]:
    text = "\n".join(f'"{name}":"{summary}"' for name, summary in found)
    yield from f"_arguments '*: :(({text}))'".splitlines()


def _for_fish(found: Iterable[tuple[str, str]]) -> Iterator[str]:
    # Asked whether there are any, it looks at the status alone.
    if os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "get-args":
        for name, summary in found:
            yield f"{name}\t{summary}"


FORMS = {"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}
"""Names with summaries as each shell reads them from the scripts of Typer, in Typer's own form."""


def printed(lines: Sequence[str]) -> int:
    """Exit status after printing an answer: 0, or 1 if nobody reads it or it cannot be written."""
    try:
        # As it is: nothing in it comes from outside, and shells read tabs.
        messages.rendered("".join(f"{line}\n" for line in lines))
        messages.flush()
    except BrokenPipeError:
        # As every command ends whose reader has gone.
        return 1
    except WorkError as error:
        messages.failure(f"{PROGRAM}: {error}")
        return 1
    return 0
