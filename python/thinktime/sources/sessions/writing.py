"""A script of the lines of recorded sessions, as `thinktime play` types it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from thinktime.errors import InputError
from thinktime.escape import escaped, is_hidden
from thinktime.sources.sessions.lines import LINES_MAX, TOO_MANY, Line, Session, is_kin

if TYPE_CHECKING:
    from thinktime.stats.estimate import Estimate

FIT_LEAST = 30
"""Fewest times to which distributions are fitted."""
FIT_MOST = 1000
"""Most times to which they are fitted: of more, as many at equal distances."""
REPLICATIONS = 99
"""Bootstrap samples of a fit: enough to reject a family at 5 %."""
OWN_LEAST = 5
"""Fewest think times that give a command a mean of its own."""
SILENCE_S = 0.5
"""Shortest silence that ends a reply."""
TIME_OUT_S = 60.0
COMMANDS_MAX = 200
"""Most commands that are told apart; the lines of all others are of one."""
OTHER = "other"

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,39}")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_KEYWORDS = frozenset(
    (
        *("case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for"),
        *("function", "if", "in", "select", "then", "time", "until", "while"),
    )
)
_VARIABLE = re.compile(r"\{\{(?=[A-Za-z0-9_]+\}\})")
_BEFORE = frozenset(("sudo", "time", "nice", "nohup", "exec", "command", "env"))
_META = re.compile(r"([\\.+*?()|\[\]{}^$])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkTime:
    """Think times before the lines of a command."""

    command: str
    mean: Estimate
    """Mean with Student's interval [s]."""
    given: Any
    """Distribution in the script; None for that of all commands."""
    how: str
    """How it was chosen, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A script that was made of recorded sessions."""

    text: str
    """TOML."""
    sessions: tuple[Session, ...]
    interactions: int
    """Lines that the script types."""
    think: tuple[ThinkTime, ...]
    """Think times of all commands together, then by command."""
    losses: Counter[str]
    """What was left out, by reason."""
    hidden: int
    """Inputs that were typed without echo."""
    typing_mean_s: float | None
    """Mean time between two keys; None if no line had two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    line: Line
    command: str
    wait: tuple[str, Any] | None
    """Key and value of what ends the wait; None for the prompt of the shell."""


def script_of(sessions: Sequence[Session], *, name: str) -> Made:
    """Script that types the lines of `sessions`, one session after another.

    Parameters
    ----------
    sessions : sequence of Session
        Sessions of one or several users; their think times are pooled by command.
    name : str
        Name of the script.

    Raises
    ------
    InputError
        No line of the sessions can be replayed; the message says why.
    """
    losses: Counter[str] = Counter()
    steps: list[_Step] = []
    for session in sessions:
        losses += session.losses
        found = list(_steps(session))
        losses[TOO_MANY] += max(len(steps) + len(found) - LINES_MAX, 0)
        steps += found[: LINES_MAX - len(steps)]
    losses = +losses
    if not steps:
        raise InputError(_nothing(sessions, losses))
    steps = _told_apart(steps)
    think = tuple(_think(steps))
    gaps = [gap for session in sessions for gap in session.gaps_s]
    made = Made(
        text="",
        sessions=tuple(sessions),
        interactions=len(steps),
        think=think,
        losses=losses,
        hidden=sum(session.hidden for session in sessions),
        typing_mean_s=sum(gaps) / len(gaps) if gaps else None,
    )
    text = "\n".join([*_comments(made), *_head(made, steps, name), *_interactions(made, steps)]) + "\n"
    return Made(**{key: getattr(made, key) for key in Made.__slots__} | {"text": text})


def _nothing(sessions: Sequence[Session], losses: Counter[str]) -> str:
    """Why there is no line."""
    path = sessions[0].recording.path
    if not any(session.keys for session in sessions):
        return (
            f"{path}: has no keys, only output; record what is typed with `asciinema rec --stdin`, "
            f"`script --log-io FILE --log-timing FILE` or tlog with input logging"
        )
    why = ", ".join(f"{lines} {reason}" for reason, lines in losses.most_common()) or "no line was completed"
    return f"{path}: has no line that can be replayed ({why}); record lines typed at the prompt of a shell"


# What is typed and waited for


def _steps(session: Session) -> Iterator[_Step]:
    shell, program = session.shell_prompt, OTHER
    for line in session.lines:
        at_shell = not shell or is_kin(line.prompt, shell)
        if at_shell:
            program = _command(line.types)
        yield _Step(line=line, command=program, wait=_wait(line, shell))


def _command(types: str) -> str:
    """Name of the program that a line starts."""
    words = types.split()
    while words and (_ASSIGNMENT.match(words[0]) or (words[0] in _BEFORE and len(words) > 1)):
        words = words[1:]
    name = PurePosixPath(words[0]).name if words else ""
    return name if _NAME.fullmatch(name) else OTHER


def _wait(line: Line, shell: str) -> tuple[str, Any] | None:
    """What ends the wait: the prompt, else the text with which the program asks, silence, or nothing."""
    prompt = line.next_prompt
    if prompt is None or (shell and is_kin(prompt, shell)):
        return None
    # The shell asks for the rest of a command with this, and runs nothing before it has it.
    if line.first_s is None or line.end_s is None or prompt == "> ":
        return ("wait", False)
    if prompt.strip() and not any(map(is_hidden, prompt)) and len(prompt) < 500:
        text = _META.sub(r"\\\1", prompt)
        return ("wait_pattern", rf"(^|[\r\n]){text}$")
    return ("wait_silence", _short(min(max(SILENCE_S, 2 * line.gap_s), 3600.0)))


def _told_apart(steps: list[_Step]) -> list[_Step]:
    """Steps of a bounded number of commands."""
    common = {name for name, _ in Counter(step.command for step in steps).most_common(COMMANDS_MAX)}
    return [
        step if step.command in common else _Step(line=step.line, command=OTHER, wait=step.wait)
        for step in steps
    ]


# Times


def _short(value: float) -> float:
    """A time to four digits, as a person would write it."""
    return float(f"{value:.4g}")


def _think(steps: Sequence[_Step]) -> Iterator[ThinkTime]:
    """Think times of all, and of each command."""
    times: dict[str, list[float]] = {}
    for step in steps:
        times.setdefault(step.command, []).append(step.line.think_s)
    given, how = _distribution([time for values in times.values() for time in values])
    yield ThinkTime(
        command="all commands",
        mean=_mean([time for each in times.values() for time in each]),
        given=given,
        how=how,
    )
    for command, values in sorted(times.items()):
        own: tuple[Any, str] = (None, f"as all commands: fewer than {OWN_LEAST} lines")
        if len(values) >= OWN_LEAST:
            own = _distribution(values)
        yield ThinkTime(command=command, mean=_mean(values), given=own[0], how=own[1])


def _mean(values: Sequence[float]) -> Estimate:
    """Mean of independent times, with Student's interval."""
    import numpy as np
    from scipy import stats

    from thinktime.stats.estimate import Estimate

    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return Estimate(value=mean, unit="s", n=n, method="mean")
    half = float(stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n))
    return Estimate(
        value=mean, unit="s", low=mean - half, high=mean + half, n=n, method="mean, Student's interval"
    )


def _distribution(values: Sequence[float]) -> tuple[Any, str]:
    """Distribution of times, and how it was chosen: fitted where there are enough, else an exponential."""
    from thinktime.stats.distributions.fitting import fit

    mean = sum(values) / len(values)
    if mean <= 0:
        return 0.0, "0: the lines came at once"
    exponential = f"exponential(mean={_short(mean)!r})"
    if len(values) < FIT_LEAST:
        return exponential, f"exponential with the mean: fewer than {FIT_LEAST} lines"
    step = max(1, -(-len(values) // FIT_MOST))
    try:
        fits = fit(list(values)[::step], replications=REPLICATIONS)
    except InputError:
        return exponential, "exponential with the mean: nothing can be fitted"
    if fits.adequate():
        return fits.chosen, f"{fits.chosen['kind']}: the best fit of five families"
    return fits.chosen, "empirical: none of five families fits"


# TOML


def _toml(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # Strings of TOML are those of JSON, but for the character that JSON leaves as it is.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value)


def _comments(made: Made) -> Iterator[str]:
    """What the script was made of, and what is not in it."""
    from thinktime.stats.estimate import Estimate

    yield f"# Made by `thinktime scripts --from`; interactions: {made.interactions}, from:"
    for session in made.sessions:
        recording = session.recording
        yield (
            f"#   {escaped(str(recording.path))} ({recording.form}): "
            f"{Estimate(value=session.length_s, unit='s', n=1, method='length')}, "
            f"interactions: {len(session.lines)}"
        )
        for what, events in recording.damaged.items():
            yield f"#     damaged, {what}: {events}"
    yield "#"
    yield from _left_out(made)
    yield "# Think times, from the end of the reply to the first key:"
    for think in made.think:
        yield f"#   {think.command}: {think.mean}, lines: {think.mean.n}; {think.how}"
    yield "#"
    yield "# Files that the lines read are not in a recording: add [[terminal.file]], or lines to make them."
    yield "# The lines are typed one session after another, in the folder where the last one ended."
    yield ""


def _left_out(made: Made) -> Iterator[str]:
    if made.losses or made.hidden:
        yield "# Left out:"
        for reason, lines in sorted(made.losses.items()):
            yield f"#   {reason}: {lines}"
        if made.hidden:
            yield f"#   inputs that the terminal did not show, such as passwords: {made.hidden}"
    unclear = [(at, row) for session in made.sessions for at, row in session.unclear]
    for at, row in unclear[:10]:
        yield f"#   not understood, {at:.1f} s after the start: {escaped(row)}"
    if made.losses or made.hidden:
        yield "#"


def _head(made: Made, steps: Sequence[_Step], name: str) -> Iterator[str]:
    shells = {PurePosixPath(session.recording.shell).name for session in made.sessions}
    longest = max((step.line.end_s or step.line.sent_s) - step.line.sent_s for step in steps)
    yield f"name = {_toml(name)}"
    yield f"description = {_toml(_description(made))}"
    yield f"think = {_toml(made.think[0].given)}"
    yield ""
    yield "[terminal]"
    yield f"shell = {_toml('sh' if shells <= {'sh', 'dash', 'ash'} else 'bash')}"
    yield f"needs = {_toml(_needs(made, steps))}"
    if made.typing_mean_s:
        yield f"typing = {_toml(f'exponential(mean={_short(made.typing_mean_s)!r})')}"
    yield f"time_out = {_toml(min(max(TIME_OUT_S, _short(4 * longest)), 86_400.0))}"
    if any(_VARIABLE.search(step.line.types) for step in steps):
        yield 'variables = { braces = ["{{"] }'
    yield ""
    yield "[commands]"
    for command in sorted({step.command for step in steps}):
        yield f"{_toml(command)} = {{}}"


def _description(made: Made) -> str:
    sessions = len(made.sessions)
    return f"Lines of {sessions} recorded sessions" if sessions > 1 else "Lines of a recorded session"


def _needs(made: Made, steps: Sequence[_Step]) -> list[str]:
    """Programs by name that lines at the shell start, in the order of the first use."""
    prompts = [session.shell_prompt for session in made.sessions]
    names = dict.fromkeys(
        step.line.types.split()[0]
        for step in steps
        if step.line.types.split() and any(not shell or is_kin(step.line.prompt, shell) for shell in prompts)
    )
    return [name for name in names if _NAME.fullmatch(name) and name not in _KEYWORDS][:COMMANDS_MAX]


def _interactions(made: Made, steps: Sequence[_Step]) -> Iterator[str]:
    own = {think.command: think.given for think in made.think[1:] if think.given is not None}
    for step in steps:
        yield ""
        yield "[[interaction]]"
        yield f"command = {_toml(step.command)}"
        yield f"types = {_toml(_VARIABLE.sub('{{braces}}', step.line.types))}"
        if step.wait is not None:
            key, value = step.wait
            yield f"{key} = {_toml(value)}"
        if step.command in own:
            yield f"think = {_toml(own[step.command])}"
