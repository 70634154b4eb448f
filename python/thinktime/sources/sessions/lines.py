"""From keys and output to the lines that a user typed, and the times of each.

What a line says is always taken from the terminal, never from the keys: what the terminal did not show,
such as a password, cannot get anywhere. The keys are kept until the line is complete, to tell whether it was
shown.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field

from thinktime.escape import is_hidden
from thinktime.sources.sessions.recording import Event, Recording
from thinktime.sources.sessions.screen import Screen

KEYS_MAX = 4096
"""Most keys of a line."""
TYPES_MAX = 1000
"""Longest line of a script [characters]."""
LINES_MAX = 10_000
"""Most lines of a script."""
GAPS_MAX = 100_000
"""Most times between keys that are kept."""
PAUSE_S = 2.0
"""A longer time between two keys of a line is thinking, not typing."""
SHOWN_MAX = 10
"""Most lines that were not understood and are shown."""
PENDING_MAX = 64
"""Most lines typed ahead."""

ENDED_BY_KEY = "lines of a program that was ended by a key (Ctrl-C, Ctrl-D, Ctrl-Z)"
FULL_SCREEN = "lines that started a program that takes the whole screen"
KEYS_ALONE = "lines of a program that was given keys without Enter, such as a pager"
SECRET = "lines that asked for something that was not shown, such as a password"
INSIDE = "lines inside a program whose start is left out"
UNCLEAR = "lines that were not understood"
EMPTY = "empty lines at the prompt of the shell"
LEAVING = "lines that ended the shell"
ABANDONED = "lines abandoned with Ctrl-C"
TOO_MANY = f"lines after the first {LINES_MAX}"

_TERMINAL_SAYS = re.compile(
    r"\x1b\[(?:\?|>)?[0-9;]*[cRnyuIO]|\x1b\[[IO]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|\x1bP[^\x1b]{0,200}\x1b\\"
)
"""What a terminal answers to a program: nobody typed it."""
_KEY = re.compile(r"\x1b(?:\[[0-9;]*[@-~]|O[@-~]|.)|.", re.DOTALL)
_PASTE = ("\x1b[200~", "\x1b[201~")
_SIGNALS = {"\x03", "\x1a", "\x1c"}
_LEAVES = {"exit", "logout"}


@dataclass(slots=True, kw_only=True)
class Line:
    """A line that was typed, and the reply."""

    types: str
    """The line, as the terminal showed it."""
    prompt: str
    """What the terminal showed before it."""
    at_s: float
    """Time of its first key."""
    think_s: float
    """Time from the end of the previous reply to the first key, and pauses while it was typed."""
    sent_s: float
    """Time of Enter."""
    first_s: float | None = None
    """Time of the first output of the reply; None if there was none."""
    end_s: float | None = None
    """Time of the last output before the next line."""
    gap_s: float = 0.0
    """Longest silence within the reply."""
    next_prompt: str | None = None
    """What the terminal showed before the next line; None if there was none."""
    left_out: str | None = None
    """Reason why it cannot be replayed."""


@dataclass(slots=True, kw_only=True)
class Session:
    """What a recorded session was found to hold."""

    recording: Recording
    lines: list[Line] = field(default_factory=list)
    """Lines in the order in which they were typed."""
    gaps_s: list[float] = field(default_factory=list)
    """Times between two keys."""
    losses: Counter[str] = field(default_factory=Counter)
    """What is not among the lines, by reason."""
    hidden: int = 0
    """Inputs that the terminal did not show: dropped."""
    full_screen: int = 0
    """Stretches with a program that took the whole screen."""
    unclear: list[tuple[float, str]] = field(default_factory=list)
    """Time and what the terminal showed, of lines that were not understood; the first few."""
    keys: int = 0
    """Keys typed."""
    shell_prompt: str = ""
    """Prompt of the shell: the first that the session shows."""
    length_s: float = 0.0


def is_kin(prompt: str, shell: str) -> bool:
    """True if two prompts are of the same shell: equal, or different in the middle, as by folder."""
    if prompt == shell:
        return True
    end = shell.rstrip()[-1:]
    if not end or not prompt.rstrip().endswith(end) or prompt[-1:] != shell[-1:]:
        return False
    head = re.split(r"[:~/ ]", shell, maxsplit=1)[0]
    return len(head) > 2 and prompt.startswith(head)


@dataclass(slots=True, kw_only=True)
class _Typing:
    """A line that is being typed."""

    prompt: str
    first_key_s: float
    since_s: float
    """End of the reply before it."""
    last_key_s: float
    keys: str = ""
    edited: bool = False
    paused_s: float = 0.0
    gaps_s: list[float] = field(default_factory=list)
    uncertain: bool = False
    bare: bool = False
    """True if nothing of it was shown when Enter was typed."""


def session(recording: Recording) -> Session:
    """Lines of a recorded session.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    follower = _Follower(recording)
    for event in recording.events():
        follower.follow(event)
    return follower.finished()


class _Follower:
    def __init__(self, recording: Recording) -> None:
        self.found = Session(recording=recording)
        self._screen = Screen()
        self._columns = recording.columns
        self._typing: _Typing | None = None
        self._pending: deque[_Typing] = deque()
        self._shown_s = 0.0
        self._replying: Line | None = None
        self._running: Line | None = None

    def follow(self, event: Event) -> None:
        self.found.length_s = max(self.found.length_s, event.at_s)
        if event.kind == "size":
            self._columns = event.columns
        elif event.kind == "output":
            for what in self._screen.feed(event.text):
                self._seen(what, event.at_s)
        else:
            text = _TERMINAL_SAYS.sub("", event.text)
            for key in _KEY.findall(text):
                self._key(key, event.at_s)

    def finished(self) -> Session:
        self._close_reply(None)
        if self._typing is not None and self._typing.keys:
            self.found.losses["lines without Enter at the end"] += 1
        _settle(self.found)
        return self.found

    # output

    def _seen(self, what: str, now: float) -> None:
        if what == "alternate":
            if self._screen.alternate:
                self.found.full_screen += 1
                self._condemn(FULL_SCREEN)
            self._typing = None
            self._pending.clear()
            self._shown_s = now
            return
        if what == "newline" and self._pending:
            self._complete(self._pending.popleft(), now)
            return
        if self._pending and self._pending[0].bare:
            self._answered(self._pending[0])
        line = self._replying
        if line is not None and self._typing is None and not self._pending:
            if line.first_s is None:
                line.first_s = now
            else:
                line.gap_s = max(line.gap_s, now - self._shown_s)
            line.end_s = now
        self._shown_s = now

    def _answered(self, typing: _Typing) -> None:
        """Output after Enter where nothing was shown before it: a late echo, or no echo."""
        shown = self._screen.row.removeprefix(typing.prompt)
        if not typing.edited and typing.keys.startswith(shown):
            return
        self._pending.popleft()
        self._hide()
        self._screen.cut(len(typing.prompt))

    def _hide(self) -> None:
        """Drop a line that the terminal did not show, and the one that asked for it: nobody could answer."""
        self.found.hidden += 1
        self._condemn(SECRET)

    def _condemn(self, reason: str) -> None:
        """Leave out the line whose program is running."""
        if self._running is not None and self._running.left_out is None:
            self._running.left_out = reason

    def _close_reply(self, prompt: str | None) -> None:
        if self._replying is not None:
            self._replying.next_prompt = prompt
            self._replying = None

    def _is_at_shell(self) -> bool:
        shell = self.found.shell_prompt
        row = self._screen.row
        return bool(shell) and (row.endswith(shell) or is_kin(row, shell))

    # keys

    def _key(self, key: str, now: float) -> None:
        if self._screen.alternate or key in _PASTE:
            return
        self.found.keys += 1
        typing = self._typing
        if (
            typing is not None
            and typing.keys
            and self._is_at_shell()
            and not is_kin(typing.prompt, self.found.shell_prompt)
        ):
            # The shell asks again although no line was completed: a program took the keys as they are.
            self._condemn(KEYS_ALONE)
            typing = self._typing = None
        if key in _SIGNALS:
            self._signal()
        elif key == "\x04" and (typing is None or not typing.keys):
            if not self._is_at_shell():
                self._condemn(ENDED_BY_KEY)
            self._typing = None
        elif key in "\r\n":
            self._enter(now)
        else:
            self._typed(key, now)

    def _begin(self, now: float) -> _Typing:
        prompt, shell = self._screen.before_cursor, self.found.shell_prompt
        if shell and prompt.endswith(shell) and not self._pending:
            # Output without an end of line lies before the prompt.
            self._screen.cut(len(prompt) - len(shell))
            prompt = shell
        if not self._pending:
            if not self.found.shell_prompt and prompt.strip():
                self.found.shell_prompt = prompt
            self._close_reply(prompt)
        since = self._shown_s if not self._pending else now
        return _Typing(
            prompt=prompt if not self._pending else "",
            first_key_s=now,
            since_s=min(since, now),
            last_key_s=now,
            uncertain=self._screen.uncertain,
        )

    def _typed(self, key: str, now: float) -> None:
        if self._typing is None:
            self._typing = self._begin(now)
        else:
            self._gap(self._typing, now)
        if len(key) > 1 or key < " " or key == "\x7f":
            self._typing.edited = True
        if len(self._typing.keys) < KEYS_MAX:
            self._typing.keys += key
        else:
            self._typing.uncertain = True

    @staticmethod
    def _gap(typing: _Typing, now: float) -> None:
        gap = now - typing.last_key_s
        typing.last_key_s = now
        if gap > PAUSE_S:
            typing.paused_s += gap
        elif len(typing.gaps_s) < KEYS_MAX:
            typing.gaps_s.append(gap)

    def _signal(self) -> None:
        """Ctrl-C and its like: the line is abandoned, or the program that runs."""
        if self._typing is not None and self._typing.keys:
            self.found.losses[ABANDONED] += 1
        elif not self._is_at_shell():
            self._condemn(ENDED_BY_KEY)
        self._typing = None
        self._pending.clear()

    def _enter(self, now: float) -> None:
        if self._typing is None:
            self._typing = self._begin(now)
        else:
            self._gap(self._typing, now)
        typing = self._typing
        typing.bare = bool(typing.keys) and not self._pending and self._screen.row == typing.prompt
        if len(self._pending) >= PENDING_MAX:
            self.found.losses[UNCLEAR] += 1
        else:
            self._pending.append(self._typing)
        self._typing = None

    # lines

    def _complete(self, typing: _Typing, now: float) -> None:
        """The terminal leaves the row on which a line was typed."""
        row, shell = self._screen.row, self.found.shell_prompt
        self._shown_s = now
        keys, typing.keys = typing.keys, ""
        prompt = typing.prompt
        if not typing.edited and prompt + keys != row and keys and row.endswith(keys):
            # Typed before the prompt came.
            before = row.removesuffix(keys)
            prompt = before if shell and is_kin(before, shell) else prompt
        # Only from here on is there a text, and it is the terminal's.
        text = row.removeprefix(prompt) if row.startswith(prompt) else None
        if text == "" and keys.strip():
            if typing.edited and re.fullmatch(r"(?:[^\x15]*\x15)+", keys):
                return
            if not (typing.edited and is_kin(prompt, shell)):
                self._hide()
                return
        wraps = len(prompt) + len(text or "") >= self._columns and typing.edited
        clear = text is not None and not typing.uncertain and not self._screen.uncertain and not wraps
        if clear and (text != keys if not typing.edited else "^" in (text or "") and _shows_keys(text, keys)):
            clear = False
        if (
            clear
            and text is not None
            and (len(text) > TYPES_MAX or any(map(is_hidden, text)) or "\ufffd" in text)
        ):
            clear = False
        if not clear or text is None:
            if len(self.found.unclear) < SHOWN_MAX:
                self.found.unclear.append((typing.first_key_s, row[:100]))
            self._keep(typing, "", prompt, UNCLEAR)
        else:
            self._keep(typing, text, prompt, None)

    def _keep(self, typing: _Typing, text: str, prompt: str, left_out: str | None) -> None:
        """Take a line; one that is left out too: what follows may be typed to the program that it started."""
        found, shell = self.found, self.found.shell_prompt
        if left_out is None and not text.strip() and shell and is_kin(prompt, shell):
            found.losses[EMPTY] += 1
            return
        if len(found.lines) >= LINES_MAX:
            found.losses[TOO_MANY] += 1
            return
        if len(found.gaps_s) < GAPS_MAX:
            found.gaps_s += typing.gaps_s
        line = Line(
            types=text,
            prompt=prompt,
            at_s=typing.first_key_s,
            think_s=typing.first_key_s - typing.since_s + typing.paused_s,
            sent_s=typing.last_key_s,
            left_out=left_out,
        )
        found.lines.append(line)
        self._replying = self._running = line


def _shows_keys(text: str | None, keys: str) -> bool:
    """True if the terminal showed a key of the keyboard as ^ and a letter, which is no text of the line."""
    shown = {f"^{chr(ord(key[0]) ^ 64)}" for key in _KEY.findall(keys) if key[0] < " " or key[0] == "\x7f"}
    return any(code in (text or "") for code in shown)


def _settle(found: Session) -> None:
    """Leave out and count what cannot be replayed: a program that cannot be ended takes its lines with it."""
    shell = found.shell_prompt
    start = 0
    for index, line in enumerate(found.lines):
        at_shell = is_kin(line.prompt, shell) if shell else True
        if at_shell:
            start = index
            words = line.types.split()
            if line.left_out is None and words and words[0] in _LEAVES:
                line.left_out = LEAVING
        elif found.lines[start].left_out is not None and line.left_out is None:
            line.left_out = INSIDE
        if line.left_out in (ENDED_BY_KEY, SECRET, FULL_SCREEN, KEYS_ALONE):
            for inside in found.lines[start:index]:
                inside.left_out = inside.left_out or INSIDE
    kept = []
    for line in found.lines:
        if line.left_out is None:
            kept.append(line)
        else:
            found.losses[line.left_out] += 1
    found.lines = kept
