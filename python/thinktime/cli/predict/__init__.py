"""`thinktime predict`: predictions for another machine, by a model that the user chooses.

The module `commands` defines the commands; it is loaded when one of them is called, because their options
follow from the models.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinktime.cli import destination
from thinktime.cli.program.plain import MadeGroup

if TYPE_CHECKING:
    from thinktime.documents.document import Document, Section
    from thinktime.predictions.inputs import Input

__all__ = ["MODELS", "command"]

MODELS = ("disk-bound", "swap-overhead", "swapping", "paging", "network")
"""Name of each model; the function of `commands` with the same name, underscores for hyphens, runs it."""


class _Group(MadeGroup):
    """Models by name."""

    def names(self) -> list[str]:
        return list(MODELS)

    def made(self, name: str) -> Callable[..., None]:
        commands = importlib.import_module(f"{__name__}.commands")
        inputs, twins = commands.INPUTS.get(name, ((), False))
        return with_inputs(getattr(commands, name.replace("-", "_")), inputs, twins=twins)


_OUTPUT = {
    "output": destination.AnswerFile,
    "form": destination.AnswerForm,
    "force": destination.AnswerForce,
}
"""Options that every model has."""


def with_inputs(
    function: Callable[..., Section | Document], inputs: Sequence[Input], *, twins: bool
) -> Callable[..., None]:
    """Command that writes the answer of `function`.

    Its options are the parameters of the function, one for each input in place of ``**texts``, and those of
    the output.
    """

    def called(**values: Any) -> None:
        output, form, force = (values.pop(name) for name in _OUTPUT)
        chosen = form or destination.form_of(output)
        destination.check(output, force, chosen)
        destination.write(output, _rendered(function(**values), chosen, destination.width(output)))

    parameters = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            parameters += _options(inputs, twins=twins)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    for name, annotation in _OUTPUT.items():
        default = False if name == "force" else None
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    called.__doc__ = function.__doc__
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


def _rendered(answer: Section | Document, form: destination.Form, width: int) -> str:
    """Text of the answer; the page of a single section has the section's sentences as findings."""
    from thinktime.documents.document import Document, Finding

    if isinstance(answer, Document) or form != "html":
        return destination.rendered(answer, form, width)
    page = Document(
        title=answer.title,
        subtitle=answer.method,
        findings=tuple(Finding(sentence, section=answer.name) for sentence in answer.summary),
        sections=(answer,),
        origin="Made by thinktime: the same inputs give the same page.",
    )
    return destination.rendered(page, form, width)


def _options(inputs: Sequence[Input], *, twins: bool = False) -> list[inspect.Parameter]:
    """Parameters of a command, one option for each input; with `twins` also those of a machine B.

    Names are those of the fields, followed by ``_b`` for machine B.
    """
    return [
        parameter
        for item in inputs
        for parameter in (
            _parameter(item.field, item, (item.option, f"{item.option}-a")[: 1 + twins], item.help),
            *(
                [_parameter(f"{item.field}_b", item, (f"{item.option}-b",), "The same for machine B.")]
                if twins
                else []
            ),
        )
    ]


def _parameter(name: str, item: Input, spellings: Sequence[str], words: str) -> inspect.Parameter:
    option = typer.Option(*spellings, metavar=item.metavar, help=words)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


command = typer.Typer(
    help="Predict the effect of a change with a model, from a log or from a configuration.",
    epilog="""\
Examples:

thinktime predict network --station cpu=30ms --station disk=40ms --think-time 5s --users 1..60

thinktime predict disk-bound --from run --memory-b 1280

thinktime predict paging --core 128..512..64 --simulate 2 -o paging.html

thinktime predict disk-bound --help
""",
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode=None,
)
