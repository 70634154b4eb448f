"""Jobs of Slurm's accounting become interactions."""

import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from tool_files import column, imported, kinds

import thinktime
from thinktime.errors import InputError
from thinktime.sources.importers import Given

SLURM = Path(__file__).parents[1] / "fixtures" / "slurm"
HEAD = "JobID|JobName|User|Partition|Submit|Start|End|TotalCPU|UserCPU|SystemCPU|AllocCPUS|State"
JOBS = f"""\
{HEAD}
11|make|anna|short|2026-11-21T08:00:00|2026-11-21T08:00:10|2026-11-21T09:00:00|1-02:03:04|1-02:00:00|00:03:04|8|COMPLETED
11.batch|batch|||2026-11-21T08:00:10|2026-11-21T08:00:10|2026-11-21T09:00:00|1-02:03:04|||8|COMPLETED
11.extern|extern|||2026-11-21T08:00:10|2026-11-21T08:00:10|2026-11-21T09:00:00|00:00.001|||8|COMPLETED
12|a|b's job|long|2026-11-21T08:01:00|2026-11-21T08:01:05|2026-11-21T08:02:00|00:03.25|00:03|00:00.25|1|FAILED
13_1|array|carl|long|2026-11-21T08:02:00|Unknown|Unknown|00:00:00|||0|PENDING
14+0|het|carl|long|2026-11-21T08:03:00|None|2026-11-21T08:03:30|INVALID|||0|CANCELLED by 0
"""


def at(text, zone="UTC"):
    return datetime.datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


def made(tmp_path, text=JOBS, given=None):
    path = tmp_path / "jobs.txt"
    path.write_text(text)
    return imported(path, tmp_path, given or Given())


def test_a_job_is_an_interaction(tmp_path):
    done, log = made(tmp_path)
    assert done.kind == "sacct"
    rows = log.table("interactions").collect().to_dicts()
    # In the order of their ends; the one that waits comes last, and no step is a row.
    assert [row["user"] for row in rows] == ["b's job", "carl", "anna", "carl"]
    anna, bob = rows[2], rows[0]
    assert (anna["due"], anna["first_service"], anna["completion"]) == (
        at("2026-11-21T08:00:00"),
        at("2026-11-21T08:00:10"),
        at("2026-11-21T09:00:00"),
    )
    assert anna["service_s"] == 86_400 + 2 * 3600 + 3 * 60 + 4
    assert (bob["service_s"], bob["user_s"], bob["system_s"]) == (3.25, 3.0, 0.25)
    assert [row["class"] for row in rows] == ["long", "long", "short", "long"]
    assert [row["cpus_allocated"] for row in rows] == [1, None, 8, None]
    assert rows[3]["completion"] is None
    assert rows[3]["first_service"] is None
    assert rows[1]["state"] == "CANCELLED by 0"
    # Not gathered is null, and not zero.
    assert rows[1]["service_s"] is None
    assert kinds(done) == {"coarse_clock", "timezone_unknown"}


def jobs_of_slurm(name="jobs.txt"):
    """Rows of the real sacct, by job; steps left out."""
    head, *lines = (SLURM / name).read_text().splitlines()
    rows = [dict(zip(head.split("|"), line.split("|"), strict=True)) for line in lines]
    return {row["JobID"]: row for row in rows if "." not in row["JobID"]}


def test_jobs_of_a_real_cluster(tmp_path):
    done, log = imported(SLURM / "jobs.txt", tmp_path, Given())
    assert kinds(done) == {"coarse_clock", "timezone_unknown"}
    jobs = jobs_of_slurm()
    rows = log.table("interactions").collect()
    assert rows.height == len(jobs)
    for user in ("alice", "bob"):
        of_user = rows.filter(pl.col("user") == user)
        ended = [job for job in jobs.values() if job["User"] == user and job["End"] != "Unknown"]
        # Jobs of less than a minute: 00:01.201, or 00:00:00 for nothing.
        used = sum(float(job["TotalCPU"].rpartition(":")[2]) for job in ended)
        assert of_user["service_s"].sum() == pytest.approx(used)
        waited = (of_user["first_service"] - of_user["due"]).sum().total_seconds()
        began = [job for job in jobs.values() if job["User"] == user and job["Start"] != "Unknown"]
        assert waited == sum((at(job["Start"]) - at(job["Submit"])).total_seconds() for job in began)
    # Of a job that has not ended, Slurm says that it used nothing.
    unfinished = rows.filter(pl.col("completion").is_null())
    assert set(unfinished["state"]) == {"RUNNING", "PENDING"}
    assert unfinished["service_s"].null_count() == unfinished.height
    assert rows.filter(pl.col("state").str.starts_with("CANCELLED")).height == 1


@pytest.mark.parametrize("name", ["jobs-epoch.txt", "jobs-barred.txt"])
def test_the_other_forms_of_sacct_have_the_same_jobs(tmp_path, name):
    _, plain = imported(SLURM / "jobs.txt", tmp_path / "a", Given())
    _, other = imported(SLURM / name, tmp_path / "b", Given())
    names = ["due", "completion", "state"]
    assert (
        plain.table("interactions")
        .select(names)
        .collect()
        .equals(other.table("interactions").select(names).collect())
    )


def test_times_have_the_zone_that_is_given_or_are_seconds_since_1970(tmp_path):
    done, log = made(tmp_path / "a", given=Given(timezone=ZoneInfo("Europe/Berlin")))
    assert column(log, "due", "interactions")[2] == at("2026-11-21T08:00:00", "Europe/Berlin")
    assert "timezone_unknown" not in kinds(done)
    _, log = made(tmp_path / "b", f"JobID|Submit|End\n1|{1_795_248_000}|{1_795_248_030}\n")
    assert column(log, "due", "interactions") == [at("2026-11-21T08:00:00")]


@pytest.fixture(autouse=True)
def folders(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()


def test_the_form_with_a_bar_at_the_end_is_the_same(tmp_path):
    barred = "".join(f"{line}|\n" for line in JOBS.splitlines())
    _, plain = made(tmp_path / "a")
    _, other = made(tmp_path / "b", barred)
    assert other.table("interactions").collect().equals(plain.table("interactions").collect())


def test_the_response_of_jobs_is_answered(tmp_path):
    """Jobs that wait 60 s and run 120 s each."""
    start = at("2026-11-21T08:00:00")
    lines = ["JobID|User|Partition|Submit|Start|End|TotalCPU"]
    for number in range(60):
        times = [start + datetime.timedelta(seconds=300 * number + offset) for offset in (0, 60, 180)]
        cells = [time.strftime("%Y-%m-%dT%H:%M:%S") for time in times]
        lines.append("|".join([str(number), f"u{number % 5}", "short", *cells, "01:40"]))
    _, log = made(tmp_path, "\n".join(lines) + "\n")
    overall = thinktime.analyse("response", log).overall
    assert overall.response.p50.value == pytest.approx(180.0)
    assert overall.reaction.p50.value == pytest.approx(60.0)
    assert overall.service.value == pytest.approx(100.0)
    # One every five minutes is not Poisson, and the question is answered.
    assert thinktime.analyse("arrivals", log).gaps.p < 0.01


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("15|x|d|p|2026-11-21T08:00:00|2026-11-21T07:00:00|2026-11-21T09:00:00|||||", "damaged_record"),
        ("15|x|d|p|yesterday|2026-11-21T07:00:00|2026-11-21T09:00:00|||||", "damaged_record"),
        ("15|x|d", "damaged_record"),
        ("15|x|d|p|2026-11-21T08:00:00||2026-11-21T09:00:00|twelve||||", "damaged_record"),
        ("15|x|d|p|2026-11-21T08:00:00||2026-11-21T09:00:00||||-3|", "damaged_record"),
        ("x" * 200_000, "damaged_record"),
    ],
)
def test_damage_costs_its_line_alone(tmp_path, line, kind):
    done, log = made(
        tmp_path, JOBS + line + "\n" + "16|y|e|p|2026-11-21T08:00:00||2026-11-21T09:30:00|||||\n"
    )
    assert kind in kinds(done)
    assert {"anna", "e"} <= set(column(log, "user", "interactions"))


@pytest.mark.parametrize("lacking", ["JobID", "Submit", "End"])
def test_a_column_that_is_needed_is_named(tmp_path, lacking):
    names = [name for name in ("JobID", "User", "Submit", "Start", "End") if name != lacking]
    path = tmp_path / "jobs.txt"
    path.write_text("|".join(names) + "\n")
    with pytest.raises(InputError):
        made(tmp_path, path.read_text())
