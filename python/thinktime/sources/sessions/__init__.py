"""Recorded sessions at a terminal: what was typed, when, and what came back, as a script.

`recording` reads the formats as one stream of events, `screen` follows the row on which a user types, `lines`
cuts the stream into lines and replies, and `writing` makes the script.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from thinktime.errors import InputError
from thinktime.escape import escaped
from thinktime.sources.sessions.lines import Line, Session
from thinktime.sources.sessions.writing import Made, ThinkTime

__all__ = ["Line", "Made", "Session", "ThinkTime", "script_from"]


def script_from(files: Sequence[str | os.PathLike[str]], *, name: str = "recorded") -> Made:
    """Script that types the lines of recorded sessions, with their think times.

    Input that the terminal did not show, such as a password, is dropped where it is read.

    Parameters
    ----------
    files : sequence of str or path
        Asciicasts of version 2 or 3 with input, files of times of util-linux `script`, or JSON of tlog.
    name : str
        Name of the script.

    Raises
    ------
    InputError
        A file cannot be read or is no recorded session, no line can be replayed, or a script cannot have
        that name; the message says where and what to do.
    """
    from thinktime._native import read_script
    from thinktime.sources.sessions.lines import session
    from thinktime.sources.sessions.recording import opened
    from thinktime.sources.sessions.writing import script_of

    if not files:
        raise InputError("files: there is none; give at least one recorded session")
    recordings = [opened(Path(file)) for file in files]
    made = script_of([session(recording) for recording in recordings], name=name)
    try:
        # What is written is what the reader of scripts takes.
        read_script(made.text, f"script of {files[0]}", None)
    except UnicodeEncodeError:
        raise InputError(f"name: {escaped(name)} is no text; give a name such as recorded") from None
    except ValueError as error:
        raise InputError(str(error)) from None
    return made
