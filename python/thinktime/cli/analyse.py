"""`thinktime analyse`: one question about a log, or about several that are compared.

Every question of `thinktime.analyses.QUESTIONS` is a command; its arguments, options and help are derived
from the question.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

from thinktime.analyses import QUESTIONS, Question, question
from thinktime.cli import completion, destination, messages
from thinktime.cli.program.plain import MadeGroup
from thinktime.cli.progress import counted
from thinktime.questions.definition import Accepts, OptionHelp, options_of, warned

HELP = {
    "one log": ("LOG", "Folder of a log."),
    "logs": ("LOG...", "Folders of logs; several are compared."),
    "a log, or two": ("LOG...", "One log with a --treatment or a --design; or the logs before and after."),
    "runs": ("RUNS", "Folder of the runs of a designed experiment."),
}
"""Name and help of the argument, by what a question accepts."""


class _Group(MadeGroup):
    """Commands of the questions by name; the error for an unknown name lists the known ones."""

    def names(self) -> list[str]:
        return [one.name for one in QUESTIONS]

    def made(self, name: str) -> Callable[..., None]:
        return _command(question(name))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-"):
            question(args[0])
        return super().resolve_command(ctx, args)


command = typer.Typer(
    help="""Answer one question about a log, with intervals, numbers of observations and caveats.

A question that the log cannot answer is answered with the reason; the exit status is 0.
""",
    epilog="""\
Examples:

thinktime analyse overhead run

thinktime analyse throughput before after --by active_users --width 2

thinktime analyse response run --format json | jq '.tables[0].rows'

thinktime analyse capacity run -o capacity.html

thinktime analyse disks --help
""",
    cls=_Group,
    subcommand_metavar="QUESTION LOG...",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _command(asked: Question) -> Callable[..., None]:
    """Command of one question."""
    shared = ("paths", "output", "form", "force")

    def run(**values: Any) -> None:
        from thinktime.log import border

        paths, output, form, force = (values.pop(name) for name in shared)
        chosen = form or destination.form_of(output)
        options = _options(asked, values)
        destination.check(output, force, chosen)
        for path in values.values():
            if isinstance(path, Path) and asked.writes(path, options):
                destination.check(path, force, "text")
        inputs = asked.open(paths if isinstance(paths, list) else [paths])
        logs = asked.logs(inputs)
        changed = border.changes(logs)
        for sentence in changed:
            messages.failure(f"thinktime: {sentence}")
        with border.reading(*logs), counted(f"answering {asked.name}"):
            answer = warned(
                asked.document(inputs, options) if chosen == "html" else asked.answer(inputs, options),
                changed,
            )
            text = destination.rendered(answer, chosen, destination.width(output))
            files = asked.files(inputs, options)
        destination.write(output, text)
        for path, text in files.items():
            # The name of a second file would corrupt an answer on standard output.
            destination.write(path, text, announced=output is not None)

    parameters = [*_arguments(asked.accepts), *_declared(asked.options), *_OUTPUT]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {item.name: item.annotation for item in parameters}
    examples = "\n\n".join(f"  thinktime analyse {asked.name} {text}" for text in asked.examples)
    paragraphs = [asked.summary, asked.description, f"Examples:\n\n{examples}"]
    run.__doc__ = "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
    return run


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _arguments(accepts: Accepts) -> list[inspect.Parameter]:
    metavar, text = HELP[accepts]
    type_ = list[Path] if metavar.endswith("...") else Path
    return [
        _parameter(
            "paths",
            Annotated[type_, typer.Argument(metavar=metavar, help=text, autocompletion=completion.logs)],
        )
    ]


_OUTPUT = [
    _parameter("output", destination.AnswerFile, None),
    _parameter("form", destination.AnswerForm, None),
    _parameter("force", Annotated[bool, typer.Option("--force", help="Overwrite existing files.")], False),
]
"""Options that every question has."""


def _declared(record: type) -> list[inspect.Parameter]:
    """Options of the command, from the fields of a question's options record."""
    hints = get_type_hints(record)
    defaults = record()
    parameters = []
    for name, face in options_of(record).items():
        default = getattr(defaults, name)
        annotation: Any
        if face.repeated:
            annotation, default = list[str] | None, None
        elif face.parse is not None:
            annotation, default = str | None, None
        else:
            annotation = hints[name]
        parameters.append(_parameter(name, Annotated[annotation, _typer_option(face, annotation)], default))
    return parameters


def _typer_option(face: OptionHelp, annotation: Any) -> Any:
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    numeric = bool({int, float} & set(kinds))
    return typer.Option(
        face.flag,
        metavar=face.metavar,
        help=face.help,
        min=face.least if numeric else None,
        max=face.most if numeric else None,
        autocompletion=completion.columns if face.metavar == "COLUMN" else None,
    )


def _options(asked: Question, values: dict[str, Any]) -> Any:
    """Record of the given options; the others keep their defaults."""
    given = {}
    for name, face in options_of(asked.options).items():
        value = values[name]
        if value is None or value == []:
            continue
        if face.repeated:
            value = tuple(face.parse(item, face.flag) if face.parse else item for item in value)
        elif face.parse is not None:
            value = face.parse(value, face.flag)
        given[name] = value
    return asked.options(**given)
