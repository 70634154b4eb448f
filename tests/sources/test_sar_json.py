"""The JSON of sadf: its shape, its holes, and what becomes of damage."""

import json

import pytest
from sar_text import FIXTURES, import_sar

from thinktime.errors import InputError
from thinktime.log import Log


def document(statistics, **host):
    return {"sysstat": {"hosts": [{"nodename": "a", "number-of-cpus": 2, **host, "statistics": statistics}]}}


def record(second=1, **items):
    stamp = {"date": "2026-11-21", "time": f"00:00:{second:02}", "utc": 1, "interval": 1}
    return {"timestamp": stamp, **items}


def run(value, tmp_path):
    path = tmp_path / "text"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    done = import_sar(path, tmp_path / "log")
    log = Log.open(tmp_path / "log")
    assert log.check() == []
    return done, log


def column(log, name, table="samples"):
    return log.table(table).select(name).collect()[name].to_list()


def details(done, kind):
    return [detail for found, detail, _ in done.incidents if found == kind]


@pytest.mark.parametrize("indent", [None, 0, 7])
@pytest.mark.parametrize("sort", [False, True])
def test_layout_does_not_matter(indent, sort, tmp_path):
    value = json.loads((FIXTURES / "12.6.1-load.json").read_text())
    _, log = run(json.dumps(value, indent=indent, sort_keys=sort), tmp_path)
    other = import_sar(FIXTURES / "12.6.1-load.json", tmp_path / "other")
    assert log.samples().collect().equals(Log.open(other.log).samples().collect())


def test_rates_become_amounts(tmp_path):
    items = {"process-and-context-switch": {"proc": 2.5, "cswch": 100}}
    long = record(59, **items)
    long["timestamp"]["interval"] = 600
    _, log = run(document([long]), tmp_path)
    assert column(log, "forks") == [1500]
    assert column(log, "length_s") == [600.0]


def test_all_cpus_together_are_as_many_as_the_header_says(tmp_path):
    _, log = run(
        document([record(**{"cpu-load": [{"cpu": "all", "user": 25, "system": 5, "idle": 70}]})]), tmp_path
    )
    assert column(log, "user_s") == [pytest.approx(0.5)]
    assert column(log, "idle_s") == [pytest.approx(1.4)]


@pytest.mark.parametrize("used", [311056, 24684092 - 23105980])
def test_total_memory_with_either_meaning_of_used(used, tmp_path):
    """Version 11.7 took buffers, cache and slab out of what is used; the percentage tells which it is."""
    total = 24684092
    memory = {"memfree": 23105980, "buffers": 18952, "cached": 1089164, "slab": 158940}
    memory |= {"memused": used, "memused-percent": round(100 * used / total, 2)}
    _, log = run(document([record(memory=memory)]), tmp_path)
    assert column(log, "memory_total_bytes") == [total * 1024]


@pytest.mark.parametrize(
    ("value", "item"),
    [
        ("many", "statistics[1].paging.pgpgin"),
        (-1, "statistics[1].paging.pgpgin"),
        (True, "statistics[1].paging.pgpgin"),
        (10**30, "statistics[1].paging.pgpgin"),
        ([1], "statistics[1].paging.pgpgin"),
    ],
)
def test_a_damaged_item_is_null_and_named_by_its_path(value, item, tmp_path):
    records = [record(k, paging={"pgpgin": value if k == 1 else 5, "pgpgout": 1}) for k in range(3)]
    done, log = run(document(records), tmp_path)
    assert column(log, "paged_in_bytes") == [5120, None, 5120]
    assert column(log, "paged_out_bytes") == [1024] * 3
    assert any(item in detail for detail in details(done, "damaged_record"))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
def test_numbers_that_are_none(number, tmp_path):
    text = json.dumps(document([record(k, paging={"pgpgin": 7}) for k in range(3)]))
    head, tail = text.split('{"pgpgin": 7}', 1)
    done, log = run(f'{head}{{"pgpgin": {number}}}{tail}', tmp_path)
    assert column(log, "paged_in_bytes")[-2:] == [7168, 7168]
    assert details(done, "damaged_record")


def test_garbage_between_records_costs_the_records_it_hits(tmp_path):
    records = [json.dumps(record(k, paging={"pgpgin": k})) for k in range(5)]
    records[2] = records[2][:40] + "}{%%"
    text = json.dumps(document(["HERE"])).replace('"HERE"', ",\n".join(records))
    done, log = run(text, tmp_path)
    assert column(log, "paged_in_bytes") == [0, 1024, 3072, 4096]
    (detail,) = details(done, "damaged_record")
    assert "hosts[0].statistics[2]" in detail
    assert "line 3" in detail


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9, 0.999])
def test_a_truncated_text_keeps_its_complete_records(share, tmp_path):
    text = (FIXTURES / "12.6.1-load.json").read_text()
    cut = text[: int(len(text) * share)]
    complete = cut.count("\n\t\t\t\t}")  # the closing brace of a record has four tabs before it
    assert complete > 0
    done, log = run(cut, tmp_path)
    assert log.samples().collect().height == complete
    assert details(done, "truncated")


def test_a_text_that_ends_before_its_first_record_is_refused(tmp_path):
    text = (FIXTURES / "12.6.1-load.json").read_text()
    with pytest.raises(InputError, match="no readable interval"):
        run(text[:300], tmp_path)
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"sysstat": {}},
        {"sysstat": {"hosts": []}},
        document([]),
        {"sysstat": [1]},
        {"a": [1, {"b": None}]},
    ],
)
def test_other_json_is_refused(value, tmp_path):
    with pytest.raises(InputError, match="no readable interval"):
        run(value, tmp_path)


@pytest.mark.parametrize(
    "text", ['{"sysstat": ' + "[" * 200_000, '{"a": ' * 100_000, '{"sysstat": {"hosts": [{"' + "x" * 10**6]
)
def test_deep_and_long_json_is_refused(text, tmp_path):
    with pytest.raises(InputError):
        run(text, tmp_path)


def test_a_second_host_is_named(tmp_path):
    value = document([record(1)])
    value["sysstat"]["hosts"].append(value["sysstat"]["hosts"][0])
    done, _ = run(value, tmp_path)
    assert details(done, "damaged_record") == ["hosts[1]: only the first host of a file is read"]


def test_restart_in_the_middle_is_a_reboot_and_one_before_all_is_none(tmp_path):
    boots = [{"boot": {"date": "2026-11-21", "time": f"00:00:0{k}", "utc": 1}} for k in (0, 2)]
    done, _ = run(document([record(1), record(3)]) | {}, tmp_path)
    assert not details(done, "reboot")
    value = document([record(1), record(3)])
    value["sysstat"]["hosts"][0]["restarts"] = boots
    (tmp_path / "log" / "manifest.json").unlink()
    path = tmp_path / "other"
    path.write_text(json.dumps(value))
    done = import_sar(path, tmp_path / "second")
    assert details(done, "reboot") == ["RESTART record of 2026-11-21 00:00:02"]


def test_local_time_is_named(tmp_path):
    local = record(1)
    local["timestamp"]["utc"] = 0
    done, _ = run(document([local]), tmp_path)
    assert details(done, "timezone_unknown")
