"""Pools keep every result once, also when the run ends early; folders that were sent are checked."""

import pytest

from tasks import works
from thinktime.errors import WorkError
from thinktime.tasks import Processes, Threads, files


@pytest.mark.parametrize("make", [lambda: Threads(3), lambda: Threads(), lambda: Processes(2)])
def test_every_result_is_kept_once(make):
    kept = {}

    def keep(item, result):
        assert item not in kept
        kept[item] = result

    with make() as pool:
        pool.run(works.square, range(20), kept=keep)
        pool.run(works.square, range(20, 25), kept=keep)
        pool.run(works.square, [], kept=keep)
    assert kept == {number: number**2 for number in range(25)}


def test_tasks_are_made_as_they_are_given_out():
    asked, kept = [], []

    def items():
        for number in range(50):
            asked.append(number)
            assert len(asked) - len(kept) <= 2 * 2 + 1
            yield number

    with Threads(2) as pool:
        pool.run(works.lazy_square, items(), kept=lambda *pair: kept.append(pair))
    assert len(kept) == 50


@pytest.mark.parametrize("make", [lambda: Threads(1), lambda: Processes(1)])
def test_a_task_that_fails_ends_the_run_and_what_was_done_is_kept(make):
    kept, stopped = {}, []
    with make() as pool, pytest.raises(ValueError, match="-1 is negative"):
        pool.run(
            works.square,
            [1, 2, 3, -1, *range(10, 100)],
            kept=kept.__setitem__,
            stop=lambda: stopped.append(True),
        )
    assert stopped == [True]
    assert {1: 1, 2: 4, 3: 9}.items() <= kept.items()
    assert len(kept) < 50


def test_a_result_is_kept_again_if_keeping_it_was_interrupted():
    kept = []

    def keep(item, result):
        kept.append((item, result))
        if len(kept) == 1:
            raise KeyboardInterrupt

    with Threads(1) as pool, pytest.raises(KeyboardInterrupt):
        pool.run(works.square, [5], kept=keep)
    assert kept == [(5, 25), (5, 25)]


def test_a_folder_is_sent_as_it_is(tmp_path):
    (tmp_path / "one" / "samples").mkdir(parents=True)
    (tmp_path / "one" / "manifest.json").write_bytes(b"{}")
    (tmp_path / "one" / "samples" / "part").write_bytes(b"\0\xff")
    (tmp_path / "one" / "lock").write_bytes(b"12")
    sent = files.packed(tmp_path / "one")
    assert sent == {"manifest.json": b"{}", "samples/part": b"\0\xff"}
    files.unpacked(sent, tmp_path / "two")
    assert files.packed(tmp_path / "two") == sent


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "a/../../x", "a/./x", "a//x", "", ".", "..", "a/", "a\0b", 5, "a/.."]
)
def test_nothing_is_written_outside_of_the_folder(tmp_path, name):
    with pytest.raises(WorkError, match="a worker sent"):
        files.unpacked({"good": b"", name: b"x"}, tmp_path / "in" / "log")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("received", [None, b"", [("a", b"")], {"a": "text"}, {"a": b"", "b": None}])
def test_what_is_no_folder_is_refused(tmp_path, received):
    with pytest.raises(WorkError, match="a worker sent"):
        files.unpacked(received, tmp_path / "log")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_too_large_is_not_sent(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BYTES_MAX", 100)
    (tmp_path / "part").write_bytes(bytes(101))
    with pytest.raises(WorkError, match="larger than the 0 MiB that are sent"):
        files.packed(tmp_path)
    with pytest.raises(WorkError, match="at most 0 MiB are taken"):
        files.unpacked({"part": bytes(101)}, tmp_path / "log")
