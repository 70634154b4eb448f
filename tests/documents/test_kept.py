"""Text kept in the user's cache: used if it is whole and the user's own, made again if not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from thinktime.documents.render.kept import kept

TEXT = "first\r\nsecond \N{EURO SIGN}"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kept("script.js", lambda: TEXT) == TEXT
    return tmp_path / "thinktime" / "script.js"


def made_again(text: str = "new") -> bool:
    return kept("script.js", lambda: text) == text


def test_what_was_made_is_kept_to_the_byte(cache):
    assert kept("script.js", lambda: "new") == TEXT
    assert cache.stat().st_mode & 0o077 == 0


def test_what_is_cut_or_changed_is_made_again(cache):
    whole = cache.read_bytes()
    for damaged in (whole[:-1], whole.replace(b"first", b"fIrst"), b"", b"\xff\xfe"):
        cache.write_bytes(damaged)
        assert made_again()
        # And kept from then on.
        assert kept("script.js", lambda: "newer") == "new"


def test_what_others_may_write_is_not_used(cache):
    cache.chmod(0o666)
    assert made_again()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user: needs root")
def test_what_belongs_to_another_is_not_used(cache):
    os.chown(cache, 65534, -1)
    assert made_again()


def test_links_and_what_is_no_file_are_not_followed(cache, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    cache.rename(elsewhere)
    cache.symlink_to(elsewhere)
    assert made_again()
    cache.unlink()
    os.mkfifo(cache)
    assert made_again()


def test_a_cache_that_cannot_be_written_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert made_again("one")
    assert made_again("two")
