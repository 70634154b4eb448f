"""Results of tasks, kept in a folder by what they are the results of: work that was interrupted goes on."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thinktime.errors import InputError, WorkError
from thinktime.tasks.files import Files, packed, unpacked
from thinktime.tasks.identity import identity


class Kept:
    """Results in a folder, each named by the digest of what determines it.

    The sources of this thinktime are part of the name: another one computes anew, and
    leaves what is there alone.

    Parameters
    ----------
    folder : Path
        Made if it is not there.

    Raises
    ------
    InputError
        The folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{folder}: cannot be made: {error.strerror}; name another folder to keep results in"
            ) from None
        self.folder = folder

    def place(self, of: Mapping[str, object]) -> Path:
        """File of the result that `of` determines; the folder of its files has no ending."""
        text = json.dumps([of, asdict(identity())], sort_keys=True, default=repr)
        return self.folder / f"{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}.json"

    def value(self, of: Mapping[str, object]) -> Any:
        """Value that is kept, as JSON has it; None if there is none.

        Raises
        ------
        InputError
            The file cannot be read, or is no JSON.
        """
        place = self.place(of)
        try:
            return json.loads(place.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise self.damaged(of) from None

    def files(self, of: Mapping[str, object]) -> dict[str, bytes]:
        """Files that are kept beside a value."""
        return packed(self.place(of).with_suffix(""))

    def damaged(self, of: Mapping[str, object]) -> InputError:
        """Error about a result that is not as it was written."""
        return InputError(f"{self.place(of)}: is damaged, or no result that was kept; remove it")

    def keep(self, of: Mapping[str, object], value: object, files: Files | None = None) -> None:
        """Keep a value, and the files that belong to it.

        Raises
        ------
        WorkError
            It cannot be written.
        """
        place = self.place(of)
        part = place.with_suffix(f".part-{os.getpid()}")
        try:
            if files is not None:
                # Before the value, which says that the files are whole.
                shutil.rmtree(place.with_suffix(""), ignore_errors=True)
                unpacked(files, place.with_suffix(""))
            part.write_text(json.dumps(value), encoding="utf-8")
            part.replace(place)
        except OSError as error:
            raise WorkError(f"{error.filename or place}: cannot be written: {error.strerror}") from None
