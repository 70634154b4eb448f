"""Open and mixed networks, priorities and weights, and quantiles: against books, closed forms and chains."""

import math

import numpy as np
import pytest
from markov import stationary
from scipy import optimize, stats

from thinktime.errors import InputError
from thinktime.models.queueing.approximations import approximate
from thinktime.models.queueing.customers import Customers
from thinktime.models.queueing.mixed_networks import mixed
from thinktime.models.queueing.networks import Station, mva, mva_classes
from thinktime.models.queueing.open_stations import mg1, mg1_priorities, mmc
from thinktime.models.queueing.response_times import mg1_quantiles, response_quantiles
from thinktime.models.queueing.routing import visits
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import Estimate

Q = [0.5, 0.9, 0.99]


def arrivals(rate, name="arrivals", **other):
    return Customers(name, arrivals_per_s=rate, **other)


def test_lazowska_1984_the_open_network_of_two_classes():
    """Lazowska et al., Quantitative System Performance (1984), chapter 7: R of class A is 30.08."""
    stations = [Station("cpu", (1.0, 2.0)), Station("disk", (3.0, 4.0))]
    found = mixed(stations, [arrivals(3 / 19, "A"), arrivals(2 / 19, "B")])
    assert found["response_s"][0] == pytest.approx(30.08, abs=0.005)
    assert found["utilisation"].sum(axis=1) == pytest.approx([7 / 19, 17 / 19])
    assert found["response_s"] == pytest.approx([19 / 12 + 28.5, 38 / 12 + 38.0], rel=1e-12)
    assert approximate(stations, [arrivals(3 / 19, "A"), arrivals(2 / 19, "B")])[
        "response_s"
    ] == pytest.approx(found["response_s"], rel=1e-8)


def test_gross_and_harris_example_4_1():
    """Fundamentals of Queueing Theory, example 4.1: 40 an hour, 4 clerks, 4 minutes: 1.14 min, 3.44 there."""
    stations = [
        Station("browsing", 45.0, servers=math.inf),
        Station("clerks", 4.0, servers=4, discipline="fcfs"),
    ]
    found = mixed(stations, [arrivals(40 / 60)])
    assert found["residence_s"][1, 0] - 4.0 == pytest.approx(1.14, abs=0.005)
    # The book multiplies rounded figures: without rounding 3.42 are there.
    assert found["queue"][1, 0] == pytest.approx(3.44, abs=0.02)
    assert found["queue"][0, 0] == pytest.approx(30.0)


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.9), (3, 2.9), (8, 5.0), (40, 39.0)])
def test_jackson_1957_every_station_is_alone(servers, rate):
    stations = [
        Station("a", 1.0, servers=servers),
        Station("b", 0.5 / rate),
        Station("c", 2.0, servers=math.inf),
    ]
    found = mixed(stations, [arrivals(rate)])
    expected = [mmc(rate, 1.0, servers)["response_s"], 1.0 / rate, 2.0]
    assert found["residence_s"][:, 0] == pytest.approx(expected, rel=1e-10)
    close = approximate(stations, [arrivals(rate)])
    assert close["residence_s"][:, 0] == pytest.approx(expected, rel=1e-6)


def test_line_the_mixed_network_of_several_servers():
    """LINE, example mqn_multiserver_ps, its exact solver: 3 users and arrivals, 1 to 5 servers."""
    stations = [
        Station(f"Queue{i}", (1 / i if i < 5 else 0.0, i**-0.5 if i != 4 else 0.0), servers=i)
        for i in range(1, 6)
    ]
    found = mixed(stations, [Customers("closed", users=3), arrivals(0.3, "open")])["queue"]
    closed = [2.25048903518999, 0.356560560281523, 0.224724791576389, 0.168225612952097]
    assert found[:4, 0] == pytest.approx(closed, rel=1e-12)
    # At Queue5, where open customers are alone, LINE prints the number of its solver mam.
    opened = [1.39306672936714, 0.228241706216307, 0.173681604114619, 0.0, 0.1341640876247844]
    assert found[:, 1] == pytest.approx(opened, rel=1e-8)


def test_line_three_servers_in_order_of_arrival_with_classes_of_different_speed():
    """LINE, example cqn_repairmen_multi, its Markov chain; as product form the slower class errs by 9 %."""
    chain = [1.94545560189668, 1.63828447047907]
    classes = [Customers("a", users=4, think_s=1.0), Customers("b", users=2, think_s=1.0)]
    stations = [Station("Queue1", (1.0, 0.1), servers=3, discipline="fcfs")]
    assert approximate(stations, classes)["throughput_per_s"] == pytest.approx(chain, rel=0.04)
    assert mixed(stations, classes)["throughput_per_s"] != pytest.approx(chain, rel=0.08)


def test_line_weights_of_classes_at_a_shared_station():
    """LINE, example cqn_scheduling_dps, its Markov chain; LINE's own approximation errs by 16 %."""
    chain = [0.111694202276771, 0.293269871361796]
    classes = [
        Customers("a", users=2, think_s=1 / 3, weight=1.0), Customers("b", users=1, think_s=2.0, weight=5.0)
    ]  # fmt: skip
    first, second = Station("Queue1", (3.0, 0.7)), Station("Queue2", (7.0, 0.3), discipline="dps")
    assert approximate([first, second], classes)["throughput_per_s"] == pytest.approx(chain, rel=0.14)


def test_a_network_whose_last_correction_has_no_fixed_point_has_an_answer():
    stations = [Station("a", (3.022, 0.744), discipline="fcfs", variation=1.0), Station("b", (0.066, 0.679))]
    classes = [Customers("a", users=6, think_s=0.34), Customers("b", users=9, think_s=4.22)]
    found = approximate(stations, classes)
    assert found["utilisation"][0].sum() == pytest.approx(1.0, abs=0.02)


def shared(numbers, demands, servers):
    """Rates at which the classes at a shared station leave."""
    here = sum(numbers)
    return [
        min(here, servers) * one / here / demand if one else 0.0
        for one, demand in zip(numbers, demands, strict=True)
    ]


def mixed_chain(demands, servers, think, users, rate, most):
    """Users think and visit two shared stations; arrivals, at most `most` at a time, visit both and leave."""

    def transitions(state):
        (a, x), (b, y) = state
        if users - a - b:
            yield ((a + 1, x), (b, y)), (users - a - b) / think
        if x + y < most:
            yield ((a, x + 1), (b, y)), rate
        if a + x:
            closed, opened = shared((a, x), demands[0], servers[0])
            if closed:
                yield ((a - 1, x), (b + 1, y)), closed
            if opened:
                yield ((a, x - 1), (b, y + 1)), opened
        if b + y:
            closed, opened = shared((b, y), demands[1], servers[1])
            if closed:
                yield ((a, x), (b - 1, y)), closed
            if opened:
                yield ((a, x), (b, y - 1)), opened

    return transitions


@pytest.mark.parametrize("servers", [(1, 1), (2, 1), (2, 3)])
def test_a_mixed_network_is_its_markov_chain(servers):
    demands, think, users, rate = ((0.5, 0.3), (0.2, 0.4)), 2.0, 3, 0.7
    states, chances = stationary(((0, 0), (0, 0)), mixed_chain(demands, servers, think, users, rate, 24))
    expected = [
        [sum(p * s[k][r] for s, p in zip(states, chances, strict=True)) for r in range(2)] for k in range(2)
    ]
    stations = [Station(str(k), demands[k], servers=servers[k]) for k in range(2)]
    classes = [Customers("users", users=users, think_s=think), arrivals(rate)]
    assert mixed(stations, classes)["queue"] == pytest.approx(np.array(expected), rel=1e-5)
    assert approximate(stations, classes)["queue"] == pytest.approx(np.array(expected), rel=0.02)
    # The canary: a tenth more arrivals.
    more = mixed(stations, [classes[0], arrivals(1.1 * rate)])["queue"]
    assert np.abs(more[:, 1] / np.array(expected)[:, 1] - 1.0).min() > 0.05


def test_closed_classes_are_their_exact_mva():
    stations = [Station("a", (0.5, 0.3), servers=2), Station("b", (0.2, 0.4))]
    found = mixed(stations, [Customers("c", users=3, think_s=2.0), Customers("d", users=4, think_s=1.0)])
    exact = mva_classes(stations, [3, 4], [2.0, 1.0])
    for name in ("throughput_per_s", "response_s", "queue", "utilisation"):
        assert found[name] == pytest.approx(exact[name], rel=1e-12)


def test_cobham_1954_and_miller_1960_as_stations_of_an_open_network():
    rates, services = [0.3, 0.2, 0.1], (0.5, 1.0, 2.0)
    classes = [arrivals(rate, str(k), priority=k) for k, rate in enumerate(rates)]
    exponential = [f"exponential(mean={mean})" for mean in services]
    for discipline, preemptive in (("priority", False), ("preemptive_priority", True)):
        exact = mg1_priorities(rates, exponential, preemptive=preemptive)
        found = approximate([Station("cpu", services, discipline=discipline)], classes)
        assert found["response_s"] == pytest.approx(exact["response_s"], rel=1e-8)
    swapped = [arrivals(rate, str(k), priority=2 - k) for k, rate in enumerate(rates)]
    other = approximate([Station("cpu", services, discipline="priority")], swapped)
    assert abs(other["response_s"][0] / exact["response_s"][0] - 1.0) > 0.5


@pytest.mark.parametrize("variation", [0.0, 0.5, 3.0])
def test_pollaczek_and_khinchine_as_a_station_of_an_open_network(variation):
    found = approximate([Station("disk", 0.8, discipline="fcfs", variation=variation)], [arrivals(1.0)])
    service = {"kind": "lognormal", "mean": 0.8, "sd": 0.8 * variation}
    assert found["response_s"][0] == pytest.approx(mg1(1.0, service)["response_s"], rel=1e-8)


def test_customers_of_one_class_wait_for_those_of_another_in_order_of_arrival():
    """M/G/1 with a mixture: everybody waits for the same time, and is served for its own."""
    found = approximate(
        [Station("disk", (0.2, 1.0), discipline="fcfs")], [arrivals(1.0, "a"), arrivals(0.5, "b")]
    )
    mixture = {
        "kind": "hyperexponential", "weights": [2 / 3, 1 / 3], "means": [0.2, 1.0],
    }  # fmt: skip
    waiting = mg1(1.5, mixture)["waiting_s"]
    assert found["response_s"] == pytest.approx([waiting + 0.2, waiting + 1.0], rel=1e-8)


def closed_chain(discipline, demands, think, users, weights):
    """Two classes think, visit a station of a discipline, then a shared one; the last entry is in service."""

    def began(numbers, served):
        if discipline != "priority" or served >= 0:
            return served
        return 0 if numbers[0] else 1 if numbers[1] else -1

    def rates(numbers, served):
        if not sum(numbers):
            return 0.0, 0.0
        if discipline == "priority":
            return (1.0, 0.0) if served == 0 else (0.0, 1.0)
        if discipline == "preemptive_priority":
            return (1.0, 0.0) if numbers[0] else (0.0, 1.0)
        total = sum(one * weight for one, weight in zip(numbers, weights, strict=True))
        return tuple(one * weight / total for one, weight in zip(numbers, weights, strict=True))

    def transitions(state):
        first, second, served = state
        for r in range(2):
            thinking = users[r] - first[r] - second[r]
            more = (first[0] + (r == 0), first[1] + (r == 1))
            if thinking:
                yield (more, second, began(more, served)), thinking / think[r]
            less = (first[0] - (r == 0), first[1] - (r == 1))
            if rate := rates(first, served)[r]:
                yield (
                    (less, (second[0] + (r == 0), second[1] + (r == 1)), began(less, -1)),
                    rate / demands[0][r],
                )
            if second[r]:
                left = (second[0] - (r == 0), second[1] - (r == 1))
                yield (first, left, served), shared(second, demands[1], 1)[r]

    return transitions


@pytest.mark.parametrize("discipline", ["priority", "preemptive_priority", "dps"])
def test_disciplines_err_on_average_by_no_more_than_is_stated(discipline):
    """Against Markov chains of closed networks of two classes; a shared station, the canary, errs by more."""
    random, errors, alike, text = np.random.default_rng(1984), [], [], ""
    for _ in range(20):
        demands, think = random.exponential(1.0, (2, 2)), random.exponential(5.0, 2) + 0.3
        users, weights = [int(n) for n in random.integers(1, 6, 2)], (1.0, float(random.choice([2, 4])))
        states, chances = stationary(
            ((0, 0), (0, 0), -1), closed_chain(discipline, demands, think, users, weights)
        )
        exact = np.array(
            [
                sum(p * (users[r] - s[0][r] - s[1][r]) for s, p in zip(states, chances, strict=True))
                / think[r]
                for r in range(2)
            ]
        )
        classes = [
            Customers(name, users=users[r], think_s=think[r], priority=r, weight=weights[r])
            for r, name in enumerate("ab")
        ]
        stations = [Station("first", demands[0], discipline=discipline), Station("second", demands[1])]
        close = approximate(stations, classes)
        if any(one.met is False for one in close.assumptions):
            continue
        text = " ".join(one.text for one in close.assumptions)
        errors.append(np.abs(close["throughput_per_s"] / exact - 1.0))
        plain = mixed([Station("first", demands[0]), stations[1]], classes)
        alike.append(np.abs(plain["throughput_per_s"] / exact - 1.0))
    stated = {"priority": 3, "preemptive_priority": 1.5, "dps": 2.5}[discipline]
    assert f"by {stated} % on average" in text
    # 15 to 20 networks: their mean error may be twice that of 400.
    assert np.mean(errors) < 2 * stated / 100
    assert np.mean(alike) > 1.5 * np.mean(errors)


def test_a_class_that_switches_is_its_markov_chain():
    """Users think, ask at the cpu as class a, may repeat as class b (slower), and think again."""
    slow, again, think, users = (0.3, 0.9), 0.4, 2.0, 4

    def transitions(state):
        a, b = state
        if users - a - b:
            yield (a + 1, b), (users - a - b) / think
        if a + b:
            first, second = shared(state, slow, 1)
            if a:
                yield (a - 1, b + 1), first * again
                yield (a - 1, b), first * (1 - again)
            if b:
                yield (a, b - 1), second

    places = visits({("a", "cpu"): {("b", "cpu"): again}, ("b", "cpu"): {"leave": 1.0}}, ("a", "cpu"))
    assert places == pytest.approx({("a", "cpu"): 1.0, ("b", "cpu"): again})
    parts = [places["a", "cpu"] * slow[0], places["b", "cpu"] * slow[1]]
    found = mva([Station("cpu", sum(parts))], users, think)
    states, chances = stationary((0, 0), transitions)
    for r in range(2):
        number = sum(p * s[r] for s, p in zip(states, chances, strict=True))
        assert found["queue"][0] * parts[r] / sum(parts) == pytest.approx(number, rel=1e-9)


def test_visits_solve_the_traffic_equations():
    routes = {"cpu": {"drum": 0.48, "disk": 0.32, "leave": 0.2}, "drum": {"cpu": 1.0}, "disk": {"cpu": 1.0}}
    assert visits(routes, "cpu") == pytest.approx({"cpu": 5.0, "drum": 2.4, "disk": 1.6})
    with pytest.raises(InputError, match="never leaves"):
        visits({"cpu": {"disk": 1.0}, "disk": {"cpu": 1.0}}, "cpu")
    with pytest.raises(InputError, match="'tape' has no routes"):
        visits({"cpu": {"tape": 1.0}}, "cpu")
    with pytest.raises(InputError, match=r"adds to 1.1; give probabilities"):
        visits({"cpu": {"cpu": 0.8, "leave": 0.3}}, "cpu")


class TestQuantiles:
    def found(self, stations, customers):
        return response_quantiles(stations, [customers], Q)["response_quantile_s"][:, 0]

    def test_one_server_in_order_of_arrival_is_exponential(self):
        found = self.found([Station("cpu", 0.5, discipline="fcfs")], arrivals(1.6))
        assert found == pytest.approx(stats.expon(scale=0.5 / 0.2).ppf(Q), rel=1e-7)
        # The canary: a shared station has the same mean, and other quantiles.
        other = self.found([Station("cpu", 0.5)], arrivals(1.6))
        assert abs(other[2] / found[2] - 1.0) > 0.1

    @pytest.mark.parametrize("servers", [1, 2])
    @pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
    def test_what_is_said_of_small_quantiles_at_a_shared_station_holds(self, servers, load):
        """Exact times of a customer who shares with n others: a chain over n that ends with its service."""
        number = np.arange(200.0)
        others = np.minimum(number, servers)
        seen = np.cumprod(np.append(1.0, load * servers / others[1:]))
        speed = np.minimum(number + 1.0, servers) / (number + 1.0)
        comes = np.full(len(number), load * servers) * (number < number[-1])
        chain = np.diag(-(comes + (number + 1.0) * speed))
        chain += np.diag(comes[:-1], 1) + np.diag((number * speed)[1:], -1)
        rates, vectors = np.linalg.eig(chain)
        weights = (seen / seen.sum()) @ vectors * np.linalg.solve(vectors, np.ones(len(number)))

        def exact(q):
            return optimize.brentq(
                lambda t: float((weights * np.exp(rates * t)).sum().real) - 1.0 + q, 0.0, 1e3
            )

        asked = [0.1, 0.5, 0.75, 0.9, 0.95, 0.99]
        prediction = response_quantiles(
            [Station("cpu", 1.0, servers=servers)], [arrivals(load * servers)], asked
        )
        error = prediction["response_quantile_s"][:, 0] / [exact(q) for q in asked] - 1.0
        assert -0.92 < error[0] < 0.0
        assert -0.25 < error[1] < 0.0
        assert np.abs(error[2:]).max() < 0.14
        if load == 0.9:
            assert error[1] < -0.15
        assert prediction.assumptions[-1].met is False
        assert prediction.assumptions[-1].observed == "the least is 10 %"

    def test_small_quantiles_are_no_matter_where_nothing_is_shared_or_none_is_asked_for(self):
        shared = response_quantiles([Station("cpu", 0.5)], [arrivals(1.6)], [0.75, 0.9])
        assert shared.assumptions[-1].met is True
        in_order = response_quantiles([Station("cpu", 0.5, discipline="fcfs")], [arrivals(1.6)], [0.1])
        assert not any("are asked for" in item.text for item in in_order.assumptions)

    def test_reich_1957_a_tandem_is_a_sum_of_exponentials(self):
        stations = [Station("cpu", 0.5, discipline="fcfs"), Station("disk", 0.25, discipline="fcfs")]
        a, b = 0.5 / 0.2, 0.25 / 0.6

        def survival(t):
            return (a * math.exp(-t / a) - b * math.exp(-t / b)) / (a - b)

        exact = [optimize.brentq(lambda t, q=q: survival(t) - 1.0 + q, 1e-9, 100.0, xtol=1e-14) for q in Q]
        assert self.found(stations, arrivals(1.6)) == pytest.approx(exact, rel=1e-7)

    def test_several_servers_wait_with_erlangs_probability(self):
        rate, service, servers = 1.6, 2.0, 4
        wait, leave = mmc(rate, service, servers)["waiting_probability"], servers / service - rate

        def survival(t):  # of an exponential service after a wait that is exponential with probability `wait`
            mu = 1.0 / service
            both = (mu * math.exp(-leave * t) - leave * math.exp(-mu * t)) / (mu - leave)
            return (1.0 - wait) * math.exp(-mu * t) + wait * both

        exact = [optimize.brentq(lambda t, q=q: survival(t) - 1.0 + q, 1e-9, 100.0, xtol=1e-14) for q in Q]
        found = self.found([Station("cpus", service, servers=servers, discipline="fcfs")], arrivals(rate))
        assert found == pytest.approx(exact, rel=1e-7)

    def test_erlang_1909_constant_service_times(self):
        """M/D/1: the distribution of the wait as a finite sum; service times of M/M/1 give another."""
        rate, found = 0.8, mg1_quantiles(0.8, 1.0, Q)["response_quantile_s"]
        for q, t in zip(Q, found - 1.0, strict=True):
            terms = [
                (-rate * (t - k)) ** k / math.factorial(k) * math.exp(rate * (t - k))
                for k in range(int(t) + 1)
            ]
            assert (1.0 - rate) * math.fsum(terms) == pytest.approx(q, abs=5e-4)
        exponential = mg1_quantiles(rate, "exponential(mean=1)", Q)["response_quantile_s"]
        assert exponential == pytest.approx(stats.expon(scale=5.0).ppf(Q), rel=1e-7)
        assert exponential[2] > 1.5 * found[2]
        close = mg1_quantiles(rate, "erlang(shape=1, mean=1)", Q)["response_quantile_s"]
        assert close == pytest.approx(exponential, rel=1e-9)

    def test_a_geometric_number_of_exponential_times_is_exponential(self):
        stations = [Station("net", 5 * 0.3, servers=math.inf, visits=5.0)]
        routes = {"users": {"start": "net", "net": {"net": 0.8, "leave": 0.2}}}
        users = [Customers("users", users=10, think_s=2.0)]
        found = response_quantiles(stations, users, Q, routes=routes)
        assert found["response_quantile_s"][:, 0] == pytest.approx(stats.expon(scale=1.5).ppf(Q), rel=1e-7)
        assert [found["response_s"][0], found["response_deviation_s"][0]] == pytest.approx([1.5, 1.5])
        # The canary: five visits of every interaction are an Erlang distribution.
        fixed = response_quantiles(stations, users, Q)["response_quantile_s"][:, 0]
        assert fixed == pytest.approx(stats.gamma(5, scale=0.3).ppf(Q), rel=1e-7)
        with pytest.raises(InputError, match="visits is 4, and the route of class users gives 5"):
            response_quantiles([Station("net", 1.2, visits=4.0)], users, Q, routes=routes)

    def test_the_machine_repairman_is_a_mixture_of_erlangs(self):
        users, think, service = 12, 20.0, 2.0
        number = np.arange(users)  # found by one of 12: the state of a station with 11 users
        logs = np.cumsum(np.concatenate([[0.0], np.log((users - 1 - number[:-1]) * service / think)]))
        chances = np.exp(logs) / np.exp(logs).sum()

        def survival(t):
            return float(chances @ stats.gamma.sf(t, number + 1, scale=service))

        exact = [optimize.brentq(lambda t, q=q: survival(t) - 1.0 + q, 1e-9, 200.0, xtol=1e-13) for q in Q]
        stations = [Station("cpu", service, discipline="fcfs")]
        assert self.found(stations, Customers("users", users=users, think_s=think)) == pytest.approx(
            exact, rel=1e-7
        )
        assert mva([service], users, think)["response_s"] == pytest.approx(
            response_quantiles(stations, [Customers("users", users=users, think_s=think)])["response_s"][0]
        )


def test_quantiles_of_a_central_server_are_those_of_its_simulation():
    """Within the 16 % that the prediction states at most for networks with routes."""
    route = {"start": "cpu", "cpu": {"disk": 0.75, "leave": 0.25}, "disk": {"cpu": 1.0}}
    places = visits({"cpu": {"disk": 0.75}, "disk": {"cpu": 1.0}}, "cpu")
    service = {"cpu": 0.2, "disk": 0.25}
    stations = [
        Station("cpu", places["cpu"] * service["cpu"], visits=places["cpu"]),
        Station("disk", places["disk"] * service["disk"], visits=places["disk"], discipline="fcfs"),
    ]
    users = [Customers("users", users=12, think_s=15.0)]
    found = response_quantiles(stations, users, [0.5, 0.9, 0.95, 0.99], routes={"users": route})
    simulated = simulate(
        "network",
        {
            "users": 12,
            "think": {"kind": "exponential", "mean": 15.0},
            "route": route,
            "stations": [
                {
                    "name": name,
                    "discipline": discipline,
                    "service": {"kind": "exponential", "mean": service[name]},
                }
                for name, discipline in (("cpu", "processor_sharing"), ("disk", "fcfs"))
            ],
            "length": 100_000.0,
            "warm_up": 1000.0,
        },
        seed=1981,
        replications=4,
    )
    names = ["median", "p90", "p95", "p99"]
    times = [float(simulated.responses[f"{name}_response_s"].mean()) for name in names]
    assert found["response_quantile_s"][:, 0] == pytest.approx(times, rel=0.16)
    assert "of 100 networks with routes by 3 % and by at most 16 %" in found.assumptions[-2].text
    # The canary: the same visits of every interaction.
    fixed = response_quantiles(stations, users, [0.99])["response_quantile_s"][0, 0]
    assert fixed < 0.7 * times[-1]


def test_intervals_of_demands_hold():
    """H0: intervals of response times hold at 95 %, of demands that are means of 50 exponential times."""
    random, truth = np.random.default_rng(2008), (0.5, 0.3)
    classes = [Customers("users", users=10, think_s=5.0), arrivals(0.5)]
    exact = mixed([Station("cpu", truth[0]), Station("disk", truth[1])], classes)["response_s"]
    hits = np.zeros(2)
    for _ in range(400):
        demands = []
        for mean in truth:
            values = random.exponential(mean, 50)
            reach = stats.t.ppf(0.975, 49) * values.std(ddof=1) / math.sqrt(50)
            value = float(values.mean())
            demands.append(Estimate(value=value, low=value - reach, high=value + reach, n=50, method="mean"))
        found = mixed([Station("cpu", demands[0]), Station("disk", demands[1])], classes).quantity(
            "response_s"
        )
        hits += (found.ends[0] <= exact) & (exact <= found.ends[1])
    # False alarm: 1e-4. Student's intervals of means of 50 exponential times hold in 93 % of samples.
    assert (hits >= stats.binom.ppf(1e-4, 400, 0.92)).all()
    assert (hits <= stats.binom.ppf(1 - 1e-4, 400, 0.975)).all()
