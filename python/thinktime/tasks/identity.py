"""Which thinktime this is: what other machines compute counts only if they run the same one."""

from __future__ import annotations

import hashlib
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import thinktime
from thinktime import _native


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Version and sources of a thinktime."""

    version: str
    """As of `thinktime --version`."""
    sources: str
    """Digest of the sources of the package, Python and Rust: two states of one version differ."""

    def beside(self, other: Identity) -> str:
        """What this one is, to somebody who has `other`."""
        return f"{self.version} from other sources" if self.version == other.version else self.version


@cache
def identity() -> Identity:
    """Identity of the thinktime that runs here."""
    folder = Path(thinktime.__file__).parent
    digest = hashlib.blake2b(_native.SOURCES.encode(), digest_size=16)
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)} ".encode())
        digest.update(content)
    return Identity(version=thinktime.__version__, sources=digest.hexdigest())


def host() -> str:
    """Name of this machine."""
    return socket.gethostname()
