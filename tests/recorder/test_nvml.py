"""Use of NVIDIA's cards, by a library that answers as NVML is documented: no card was ever seen."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from real_users import RECORD

from thinktime.log import Log

HERE = Path(__file__).parent
USERS = (61001, 61002)
"""Nobody else's here: an account has no need of a name."""
LENGTH_S = 6
SHARES = {61001: 0.5, 61002: 0.3}
"""Time of engines in a second, as the library tells: the second's is in two of them."""
MEMORY = {61001: 1536 << 20, 61002: 2 << 30}
"""Of both cards; the second process computes and draws, with the same memory."""
DOCTOR = [*RECORD[:-1], "doctor", "--format", "json"]

INITIAL_NAMESPACE = "pid:[4026531836]"
LACKS = ""
if os.geteuid() != 0:
    LACKS = "processes of other users need root"
elif os.readlink("/proc/self/ns/pid") != INITIAL_NAMESPACE:
    LACKS = "NVML is not asked in a PID namespace of its own"
pytestmark = pytest.mark.skipif(bool(LACKS) and os.environ.get("THINKTIME_REQUIRE_ALL") != "1", reason=LACKS)


SCENES = ("", "slow", "hung", "idle", "lost", "denied", "garbage", "absent")
"""What the library is asked to do; of the last one there is no file."""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    options = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
    subprocess.run(["cc", *options, "-o", path, HERE / "nvml.c"], check=True)
    return path


@contextmanager
def processes():
    """Processes of the two users that run now and then, as the hosts of kernels on a card do."""
    work = "while :; do :; sleep 0.2; done"
    started = [subprocess.Popen(["/bin/sh", "-c", work], user=user, cwd="/") for user in USERS]
    try:
        yield [process.pid for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()


def environment(library, scene, pids):
    given = {"THINKTIME_NVML": str(library), "NVML_SCENE": scene, "NVML_PIDS": ",".join(map(str, pids))}
    return os.environ | given


@pytest.fixture(scope="module")
def logs(library, tmp_path_factory):
    """Logs of all scenes, recorded at the same time; each card has processes of its own."""
    folder = tmp_path_factory.mktemp("logs")

    def record(scene):
        path = library.with_name("nowhere.so") if scene == "absent" else library
        length = ["--interval", "1s", "--jitter", "0", "--duration", f"{LENGTH_S}s"]
        with processes() as pids:
            line = [*RECORD, "-o", str(folder / f"log{scene}"), *length]
            subprocess.run(
                line, check=True, capture_output=True, env=environment(path, scene, pids), timeout=120
            )

    with ThreadPoolExecutor(len(SCENES)) as threads:
        list(threads.map(record, SCENES))
    return {scene: folder / f"log{scene}" for scene in SCENES}


def opened(path):
    """A log, what its manifest says of NVML, and the rows of each user."""
    log = Log.open(path)
    facts = log.manifest["sessions"][-1]["recorder"]["people"]["gpu"]["nvml"]
    rows = log.users().filter(pl.col("user").is_in([f"uid:{user}" for user in USERS])).collect()
    return log, facts, {user: rows.filter(pl.col("user") == f"uid:{user}") for user in USERS}


@pytest.mark.parametrize("scene", ["", "slow"])
def test_users_have_the_time_and_memory_of_their_processes(logs, scene):
    log, facts, used = opened(logs[scene])
    assert facts["cards"] == 2
    # The second card tells nobody's time, and is told of.
    assert len(facts["problems"]) == 1
    assert facts["problems"][0].startswith("card 1, time of its engines: ")
    samples = log.samples().collect()
    length_s, longest_s = samples["length_s"].sum(), samples["length_s"].max()
    for user, share in SHARES.items():
        rows = used[user]
        busy_s = rows["gpu_s"].sum()
        print(scene, user, busy_s, rows["gpu_s"].to_list())
        # Each answer is of its own second, in the interval of it or the next one.
        assert rows["gpu_s"].drop_nulls().len() >= LENGTH_S - 3
        # One at each end may be missing.
        assert share * (length_s - 2.5 * longest_s) < busy_s < 1.02 * share * length_s
        assert set(rows["gpu_memory_bytes"].drop_nulls()) == {MEMORY[user]}
    # A question of 300 ms holds nothing up: reading everything else takes a few.
    assert samples["recorder_reading_s"].median() < 0.1
    assert samples.height >= LENGTH_S - 1


def test_a_library_that_does_not_answer_holds_nothing_up(logs):
    log, facts, used = opened(logs["hung"])
    assert facts == {"cards": 0, "problems": []}
    assert all(rows["gpu_s"].null_count() == rows.height > 0 for rows in used.values())
    samples = log.samples().collect()
    assert samples.height >= LENGTH_S - 1
    assert samples["recorder_reading_s"].median() < 0.1


@pytest.mark.parametrize(
    ("scene", "problem", "has_busy", "has_memory"),
    [
        ("idle", None, True, True),
        ("lost", "card 0, the card itself: ", False, False),
        ("denied", "card 0, processes that compute: ", True, False),
        ("garbage", None, True, True),
    ],
)
def test_what_is_not_told_is_null_and_said(logs, scene, problem, has_busy, has_memory):
    _, facts, used = opened(logs[scene])
    assert problem is None or facts["problems"][0].startswith(problem)
    # Later answers count: the first one is a beginning.
    rows = used[61001][2:]
    print(facts, rows.select("gpu_s", "gpu_memory_bytes"))
    busy_s = rows["gpu_s"].drop_nulls()
    assert (rows["gpu_memory_bytes"].drop_nulls().len() > 0) == has_memory
    assert (busy_s.len() > 0) == has_busy
    if scene != "denied":
        assert busy_s.sum() == 0


def test_a_library_that_is_not_there_is_named(logs):
    _, facts, used = opened(logs["absent"])
    assert "nowhere.so" in facts["problems"][0]
    assert used[61001]["gpu_s"].null_count() == used[61001].height


@pytest.mark.parametrize(
    ("scene", "state", "evidence"),
    [
        ("", "partly", "card 1, time of its engines"),
        ("hung", "absent", "NVML did not answer in 5 s"),
    ],
)
def test_the_doctor_says_what_there_is_and_what_it_would_take(library, scene, state, evidence):
    asked = environment(library, scene, [1, 2])
    done = subprocess.run(DOCTOR, check=True, capture_output=True, text=True, env=asked)
    (ability,) = [
        ability for ability in json.loads(done.stdout)["abilities"] if ability["item"].startswith("GPU time")
    ]
    assert ability["state"] == state
    assert evidence in ability["evidence"]
    assert "libnvidia-ml.so.1" in ability["remedy"]
