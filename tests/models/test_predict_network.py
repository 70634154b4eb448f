"""`thinktime predict network` as it is called, and the prediction from Python."""

import json
import math
from functools import partial

import numpy as np
import pytest

from thinktime.models.queueing.approximations import approximate
from thinktime.models.queueing.customers import Customers
from thinktime.models.queueing.general_service import general_service, phases
from thinktime.models.queueing.mixed_networks import mixed
from thinktime.models.queueing.networks import Station, mva
from thinktime.models.queueing.response_times import response_quantiles
from thinktime.predictions.network import Network, document, predict
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import Estimate

HYPEREXPONENTIAL = "hyperexponential(weights=[0.887298,0.112702],means=[0.0563508,0.443649])"
"""Mean 0.1 s, coefficient of variation 2."""

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


@pytest.mark.parametrize(
    "route", ['["cpu", "dsik", "cpu"]', '{ start = "cpu", cpu = { dsik = 0.8 }, dsik = { cpu = 1 } }']
)
@pytest.mark.parametrize("customers", ["", "[classes.queries]\narrivals = 2\n"])
def test_a_route_to_a_station_that_there_is_not_is_refused(predict_command, tmp_path, route, customers):
    """Its time was left out without a word: a misspelt disk made responses as short as without a disk."""
    stations = 'stations.cpu.service = "20ms"\nstations.disk.service = "40ms"\n'
    users = "" if customers else 'think_time = "1s"\nusers = 5\n'
    (tmp_path / "routed.toml").write_text(f"{stations}{users}{customers}route = {route}\n")
    status, output, errors = predict_command("network", "routed.toml")
    assert (status, output) == (2, "")
    assert "route: dsik: is no station; did you mean disk?" in errors


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
        (("--station", "cpu=3ms", "--users", "5..1"), "--users 5..1: 5 is above 1; give a number"),
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
    status, output, errors = run("--station", "cpu=0.5s±0.05s", "--users", "1..4", "--format", "json")
    assert (status, errors) == (0, "")
    for row in rows(output, "network-users"):
        throughput, response = row[1], row[2]
        assert [throughput["low"], throughput["value"]] == pytest.approx([1 / 0.55, 2.0])
        assert [response["low"], response["high"]] == pytest.approx([0.45 * row[0], 0.55 * row[0]])


def test_an_end_that_saturates_a_station_is_open(run):
    """M/M/1: at the low end the response is 0.45 / (1 - 1.9 * 0.45); 1.9/s saturate it from 1 / 1.9 s on."""
    status, output, errors = run(
        "--station", "cpu=0.5s±0.05s", "--class", "a,arrivals=1.9", "--format", "json"
    )
    assert (status, errors) == (0, "")
    ((_, _, throughput, response),) = rows(output, "classes-predicted")
    assert throughput["value"] == pytest.approx(1.9)
    assert response["value"] == pytest.approx(0.5 / (1 - 0.95))
    assert response["low"] == pytest.approx(0.45 / (1 - 1.9 * 0.45))
    assert response["high"] is None
    ((*_, observed),) = [row for row in rows(output, "classes-assumptions") if row[1] == "no"]
    assert observed == "cpu above 0.5263 s"
    assert run("--station", "cpu=0.5s", "--class", "a,arrivals=2.1")[0] == 2


def test_a_saturated_end_bounds_what_it_can():
    """Closed classes beside arrivals come to a halt; what does not depend on the input keeps its value."""
    arrivals = Estimate(value=1.7, low=1.5, high=2.5, n=1, method="given")
    stations = [Station("cpu", 0.5), Station("disk", (0.0, 0.0, 0.2))]
    classes = [
        Customers("open", arrivals_per_s=arrivals),
        Customers("closed", users=2, think_s=2.0),
        Customers("elsewhere", arrivals_per_s=1.0),
    ]
    stations[0] = Station("cpu", (0.5, 0.5, 0.0))
    found = mixed(stations, classes)
    response, throughput = (found.quantity(name) for name in ("response_s", "throughput_per_s"))
    assert np.isinf(response.ends[1]).tolist() == [True, True, False]
    assert throughput.ends[0][1] == 0.0
    assert response.ends[:, 2] == pytest.approx([0.25, 0.25])
    assert found.quantity("utilisation").ends.max() == 1.0
    (limit,) = [item for item in found.assumptions if item.met is False]
    assert limit.observed == "cpu above 2"


# First come, first served


@pytest.mark.parametrize(("variation", "service"), [(0.0, "0.1"), (2.0, HYPEREXPONENTIAL)])
def test_general_service_in_order_of_arrival_is_near_a_simulation(variation, service):
    """Response of 15 users at a processor and a shared disk; exact MVA, for exponential times, is not."""
    stations = (Station("cpu", 0.1, discipline="fcfs", variation=variation), Station("disk", 0.05))
    found = predict(Network(stations=stations, users=(15,), think_s=1.0))
    (last,) = found.requested
    simulated = simulate(
        "network",
        {
            "users": 15,
            "think": "exponential(mean=1)",
            "length": 4000.0,
            "warm_up": 100.0,
            "stations": [
                {"name": "cpu", "discipline": "fcfs", "service": service},
                {"name": "disk", "discipline": "processor_sharing", "service": "exponential(mean=0.05)"},
            ],
        },
        seed=1,
        replications=4,
    ).estimate("mean_response_s")
    assert last.response.value == pytest.approx(simulated.value, rel=0.06)
    exponential = mva([0.1, 0.05], 15, 1.0)["response_s"]
    assert exponential != pytest.approx(simulated.value, rel=0.06)
    assert last.utilisations[0].value <= 1.0


@pytest.mark.parametrize("variation", [0.0, 0.3, 0.5, 1.0, 1.7, 4.0])
def test_phases_have_the_mean_and_the_variation(variation):
    """E T^k = k! a (-M)^-k 1; below 0.18 the variation of 30 stages."""
    start, moves = phases(0.25, variation)
    inverse = np.linalg.inv(-moves)
    mean, second = (start @ inverse).sum(), 2.0 * (start @ inverse @ inverse).sum()
    assert mean == pytest.approx(0.25)
    assert math.sqrt(second / mean**2 - 1.0) == pytest.approx(max(variation, 1.0 / math.sqrt(30)))


def test_one_general_station_is_exact():
    """M/D/1//2 by hand: the other user comes in a service with 1 - exp(-D/Z) (30 stages are almost even)."""
    demand, think = 1.0, 2.0
    found = general_service([Station("cpu", demand, discipline="fcfs", variation=0.0)], 2, think)
    # A departure that leaves nobody is followed by a wait for the first of two, any other by none.
    cycle = demand + math.exp(-demand / think) * think / 2.0
    assert found["throughput_per_s"] == pytest.approx(1.0 / cycle, rel=0.003)
    exponential = general_service([Station("cpu", demand, discipline="fcfs", variation=1.0)], 2, think)
    assert exponential["response_s"] == pytest.approx(mva([demand], 2, think)["response_s"])


@pytest.mark.parametrize("stations", [1, 2])
def test_few_users_and_many_are_as_they_must_be(stations):
    """One user never waits; many get what the busiest station can do."""
    network = [
        Station(str(k), 0.2 + 0.1 * k, discipline="fcfs", variation=2.5 - k, visits=1.0 + k)
        for k in range(stations)
    ]
    total = sum(station.demand_s for station in network)
    assert general_service(network, 1, 3.0)["response_s"] == pytest.approx(total)
    assert general_service(network, 300, 3.0)["throughput_per_s"] == pytest.approx(
        1.0 / network[-1].demand_s, rel=1e-6
    )
    assert general_service(network[:1], 5)["throughput_per_s"] == pytest.approx(5.0)


def test_nothing_is_used_beyond_its_capacity():
    """Constant service, saturated: 1 / D interactions a second and N D - Z, the asymptote."""
    stations = (Station("cpu", 0.1, discipline="fcfs", variation=0.0), Station("disk", 0.05))
    (last,) = predict(Network(stations=stations, users=(60,), think_s=1.0)).requested
    assert last.throughput.value == pytest.approx(10.0)
    assert last.response.value == pytest.approx(5.0)
    classes = [Customers(name, users=20, think_s=1.0) for name in "ab"]
    found = approximate(stations, classes)
    assert found["throughput_per_s"].sum() == pytest.approx(10.0)
    assert found["response_s"] == pytest.approx(20 / found["throughput_per_s"] - 1.0)
    assert found["residence_s"].sum(axis=0) == pytest.approx(found["response_s"])


def test_what_no_model_solves_is_refused(run):
    several = ("--station", "cpu=0.1s,discipline=priority,servers=2", "--class", "a,users=3")
    status, _, errors = run(*several)
    assert (status, "priority has one server" in errors) == (2, True)
    for key in ("capacity=10", "fork=3"):
        status, _, errors = run("--station", f"cpu=0.1s,{key}", "--users", "5")
        assert (status, "is not a key of a station" in errors) == (2, True)
    general = ("--station", "cpu=0.1s,discipline=fcfs,variation=2", "--users", "5")
    status, _, errors = run(*general, "--quantiles", "0.9")
    assert (status, "product form alone" in errors) == (2, True)
