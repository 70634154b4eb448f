"""`thinktime predict network` as it is called, and the prediction from Python."""

import json
import math
from functools import partial

import pytest

from thinktime.models.queueing.customers import Customers
from thinktime.models.queueing.mixed_networks import mixed
from thinktime.models.queueing.networks import Station, mva
from thinktime.models.queueing.response_times import response_quantiles
from thinktime.predictions.network import Network, document, predict
from thinktime.stats.estimate import Estimate

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
        (("--station", "cpu=3ms,discipline=priority", "--users", "5"), "discipline priority needs classes"),
        (("--station", "cpu=3ms/4ms", "--users", "5"), "station cpu: demand has 2 values; give one"),
        (
            ("--station", "cpu=3ms", "--users", "5", "--quantiles", "90"),
            "--quantiles 90: give a part between",
        ),
        (("--station", "cpu=3ms", "--class", "users=5"), "give NAME,KEY=VALUE.., such as editing,users=20"),
        (("--station", "cpu=3ms", "--class", "a,colour=5"), "class a: colour: is not a key of a class"),
        (("--station", "cpu=3ms", "--class", "a,priority=1"), "class a: it has neither users nor arrivals"),
        (("--station", "cpu=3ms", "--class", "a,users=2.5"), "class a: users 2.5: give a whole number"),
        (("--station", "cpu=1s", "--class", "a,arrivals=2"), "station cpu: arrivals bring 2 s of work"),
        (("--station", "cpu=1+-2s", "--class", "a,users=2"), "at -1, an end of the interval of Estimate(1 s"),
        (("--station", "cpu=1s", "--class", "a,users=2", "--users", "4"), "users: is given beside classes"),
        (
            ("--station", "cpu=1s,discipline=priority", "--class", "a,users=2", "--quantiles", "90%"),
            "quantiles are known for networks of product form alone",
        ),
    ],
)
def test_bad_input_says_what_is_wrong(run, arguments, words):
    status, output, errors = run(*arguments)
    assert (status, output) == (2, "")
    assert words in " ".join(errors.split())


CLASSES = """\
[stations.cpu]
service = { editing = "20ms", queries = "30+-3ms" }
discipline = "ps"

[stations.disk]
service = "40ms"
servers = 2

[classes.editing]
users = 20
think_time = "5s"

[classes.editing.route]
start = "cpu"
cpu = { disk = 0.8, leave = 0.2 }
disk = { cpu = 1 }

[classes.queries]
arrivals = 2
route = ["cpu", "disk", "cpu"]
"""


def test_classes_of_a_file_are_those_of_python(run, tmp_path):
    (tmp_path / "classes.toml").write_text(CLASSES)
    status, output, errors = run("classes.toml", "--quantiles", "50%,99%", "--format", "json")
    assert (status, errors) == (0, "")
    queries = Estimate(value=0.06, low=0.054, high=0.066, n=1, method="given")
    stations = [
        Station("cpu", (5 * 0.02, queries), visits=(5.0, 2.0)),
        Station("disk", (4 * 0.04, 0.04), servers=2, visits=(4.0, 1.0)),
    ]
    classes = [Customers("editing", users=20, think_s=5.0), Customers("queries", arrivals_per_s=2.0)]
    exact = mixed(stations, classes).quantity("response_s")
    route = {"start": "cpu", "cpu": {"disk": 0.8, "leave": 0.2}, "disk": {"cpu": 1}}
    asked = response_quantiles(stations, classes, [0.5, 0.99], routes={"editing": route})
    quantiles = asked["response_quantile_s"]
    for r, row in enumerate(rows(output, "classes-predicted")):
        assert row[0] == classes[r].name
        assert row[3]["value"] == pytest.approx(exact.value[r])
        assert [row[3]["low"], row[3]["high"]] == pytest.approx(exact.ends[:, r])
        assert [cell["value"] for cell in row[4:]] == pytest.approx(quantiles[:, r])
    # The canary: the same network with other visits.
    status, output, _ = run("classes.toml", "--class", "queries,arrivals=2", "--format", "json")
    assert rows(output, "classes-predicted")[1][3]["value"] != pytest.approx(exact.value[1])


def test_a_network_in_json_is_that_in_toml(run, tmp_path):
    table = {
        "think_time": "5s",
        "users": 12,
        "stations": {"cpu": "30ms", "disk": {"demand": 0.04, "servers": 2}},
    }
    (tmp_path / "network.json").write_text(json.dumps(table))
    _, output, errors = run("network.json", "--format", "json")
    assert errors == ""
    _, other, _ = run("network.toml", "--users", 12, "--station", "disk=40ms,servers=2", "--format", "json")
    assert rows(output, "network-users") == rows(other, "network-users")
    (tmp_path / "network.json").write_text("[")
    status, _, errors = run("network.json")
    assert status == 2
    assert "network.json: is not JSON" in errors


def test_priorities_on_the_command_line(run):
    stations = ("--station", "cpu=0.1s/3s,discipline=preemptive_priority", "--station", "disk=40ms/1s")
    classes = ("--class", "editing,users=20,think_time=10s", "--class", "batch,users=2,priority=1")
    status, output, errors = run(*stations, *classes, "--format", "json")
    assert (status, errors) == (0, "")
    editing, batch = rows(output, "classes-predicted")
    alone = mva([0.1, 0.04], 20, 10.0)
    # Batch does not delay editing at the cpu, and at the disk for less than its service.
    assert alone["response_s"] < editing[3]["value"] < alone["response_s"] + 0.04
    assert batch[3]["value"] > 4.0


def test_demands_with_intervals_give_intervals(run):
    status, output, errors = run("--station", "cpu=0.5±0.05", "--users", "1..4", "--format", "json")
    assert (status, errors) == (0, "")
    for row in rows(output, "network-users"):
        throughput, response = row[1], row[2]
        assert [throughput["low"], throughput["value"]] == pytest.approx([1 / 0.55, 2.0])
        assert [response["low"], response["high"]] == pytest.approx([0.45 * row[0], 0.55 * row[0]])
