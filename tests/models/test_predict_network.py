"""`thinktime predict network` as it is called, and the prediction from Python."""

import json
import math
from functools import partial

import pytest

from thinktime.models.queueing.networks import Station
from thinktime.predictions.network import Network, document, predict

FILE = """\
think_time = "5s"
users = "10..30..10"

[stations]
cpu = "30ms"

[stations.disk]
demand = "40ms"
servers = 2
discipline = "fcfs"
"""


@pytest.fixture
def run(predict_command, tmp_path):
    """`thinktime predict network`, in a folder with `network.toml`."""
    (tmp_path / "network.toml").write_text(FILE)
    return partial(predict_command, "network")


def rows(output, name):
    (section,) = json.loads(output)["sections"]
    return next(table["rows"] for table in section["tables"] if table["name"] == name)


def test_two_users_at_two_stations_by_hand(run):
    """Mean value analysis by hand: one user sees empty stations, two see the queues of one."""
    stations = ("--station", "cpu=30ms", "--station", "disk=60ms", "--think-time", "10ms")
    status, output, errors = run(*stations, "--users", "1..2", "--format", "json")
    assert (status, errors) == (0, "")
    one, two = rows(output, "network-users")
    assert one[2]["value"] == pytest.approx(0.09)
    cpu, disk = 0.03 * (1 + 0.03 / 0.1), 0.06 * (1 + 0.06 / 0.1)
    assert two[2]["value"] == pytest.approx(cpu + disk)
    assert two[1]["value"] == pytest.approx(2 / (0.01 + cpu + disk))
    assert two[4]["value"] == pytest.approx(0.06 * 2 / (0.01 + cpu + disk))


def test_the_operational_laws_hold_at_every_number_of_users():
    stations = (Station(name="cpu", demand_s=0.03), Station(name="net", demand_s=0.2, servers=math.inf))
    result = predict(Network(stations=stations, users=(40,), think_s=2.0))
    assert [item.users for item in result.populations] == list(range(1, 41))
    for item in result.populations:
        assert item.users == pytest.approx(item.throughput.value * (item.response.value + 2.0))
        assert item.utilisations[0].value == pytest.approx(item.throughput.value * 0.03)
        inside = sum(queue.value for queue in item.queues)
        assert inside == pytest.approx(item.throughput.value * item.response.value)


def test_saturation_lies_where_the_asymptotes_meet():
    stations = (Station(name="cpu", demand_s=0.03), Station(name="disk", demand_s=0.08, servers=2))
    result = predict(Network(stations=stations, users=(400,), think_s=5.0))
    assert result.bottleneck is stations[1]
    assert result.saturation == pytest.approx((5.0 + 0.11) / 0.04)
    assert result.populations[-1].throughput.value == pytest.approx(25.0, rel=1e-6)


def test_a_file_gives_the_network_and_an_option_wins(run):
    status, output, _ = run("network.toml", "--format", "json")
    assert status == 0
    assert [row[:3] for row in rows(output, "network-stations")] == [["cpu", 0.03, "1"], ["disk", 0.04, "2"]]
    assert [row[0] for row in rows(output, "network-users")] == [10, 20, 30]
    _, output, _ = run("network.toml", "--station", "disk=20ms", "--users", 4, "--format", "json")
    assert [row[1] for row in rows(output, "network-stations")] == [0.03, 0.02]
    assert [row[0] for row in rows(output, "network-users")] == [4]


def test_every_number_of_users_is_drawn():
    stations = (Station(name="cpu", demand_s=0.03), Station(name="disk", demand_s=0.04))
    (section,) = document(Network(stations=stations, users=(30,))).sections
    response, throughput, utilisation = section.figures
    assert [row[0] for row in response.data.rows] == [str(number) for number in range(1, 31)]
    assert {key.name for key in utilisation.keys} == {"cpu", "disk"}
    assert "interactions per second" in json.dumps(throughput.chart())
    assert "1.20\N{NO-BREAK SPACE}s with 30 users" in response.alt


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no number of users is given; give --users"),
        (("--users", "5"), "the network has no station"),
        (("--station", "cpu", "--users", "5"), "--station cpu: give NAME=TIME"),
        (("--station", "cpu=fast", "--users", "5"), '"fast" is not a duration'),
        (("--station", "cpu=3ms,colour=red", "--users", "5"), "colour: is not a key of a station"),
        (("--station", "cpu=3ms,servers=0", "--users", "5"), "servers 0: give a whole number of at least 1"),
        (("--station", "cpu=3ms,discipline=lottery", "--users", "5"), "give one of"),
        (("--station", "cpu=0s", "--users", "5"), "give at least one time above 0"),
        (("--station", "cpu=3ms", "--users", "2.5"), "--users 2.5: give a whole number of at least 1"),
        (("--station", "cpu=3ms", "--users", "5..1"), "--users 5..1: give a number"),
        (("none.toml",), "none.toml"),
    ],
)
def test_bad_input_says_what_is_wrong(run, arguments, words):
    status, output, errors = run(*arguments)
    assert (status, output) == (2, "")
    assert words in " ".join(errors.split())
