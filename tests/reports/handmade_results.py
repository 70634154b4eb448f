"""Results of every analysis, made by hand with round numbers, so that a test knows what a report must say."""

from __future__ import annotations

from thinktime.analyses.arrivals import analysis as arrivals
from thinktime.analyses.capacity import result as capacity
from thinktime.analyses.disks import result as disks
from thinktime.analyses.overhead import result as overhead
from thinktime.analyses.rates import analysis as rates
from thinktime.analyses.response import analysis as response
from thinktime.analyses.saturation import analysis as saturation
from thinktime.analyses.saturation.frontier_growth import Growth
from thinktime.analyses.saturation.frontier_pair import Dimension, FrontierPair, Region, TradeOff
from thinktime.analyses.saturation.resources import Thresholds
from thinktime.analyses.service import ageing, stability
from thinktime.analyses.service import analysis as service
from thinktime.analyses.throughput import analysis as throughput
from thinktime.analyses.waits import analysis as waits
from thinktime.stats.estimate import Caveat, Estimate
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.regression.collinearity import Dependency


def estimate(value: float, unit: str = "", relative: float = 0.05) -> Estimate:
    half = abs(value) * relative
    return Estimate(value=value, unit=unit, n=120, method="mean", low=value - half, high=value + half)


SHARES = {
    "user": 0.44,
    "nice": 0.0,
    "system": 0.16,
    "irq": 0.01,
    "softirq": 0.02,
    "steal": 0.01,
    "iowait": 0.06,
    "idle": 0.30,
}


def make_capacity() -> capacity.Capacity:
    events = (
        capacity.Event(
            request="page_faults_minor",
            label="minor page fault",
            share=estimate(0.09),
            overhead=estimate(4e-6, "s"),
            time_between=estimate(5e-5, "s"),
        ),
        capacity.Event(
            request="forks",
            label="fork",
            share=estimate(0.04),
            overhead=estimate(400e-6, "s"),
            time_between=estimate(1e-2, "s"),
        ),
    )
    uses = {"user": "user", "nice": "user", "steal": "steal", "iowait": "idle", "idle": "idle"}
    states = tuple(
        capacity.State(
            column=f"{name}_s",
            label=f"{name} time",
            use=uses.get(name, "system"),
            share=estimate(share),
        )
        for name, share in SHARES.items()
    )
    return capacity.Capacity(
        cpus=2,
        intervals=120,
        metered=False,
        states=states,
        events=events,
        unattributed=estimate(0.03),
        user=estimate(0.44),
        system=estimate(0.19),
        recorder=estimate(0.003),
        lock_wait=None,
        accounted=0.999,
        checks=(capacity.Check(request="forks", label="fork", product=0.04, share=0.0401),),
        conditions=(
            capacity.Condition(
                name="active_users", label="active users", value=estimate(3.0, "user"), unit="user"
            ),
        ),
        caveats=(Caveat("by_regression"),),
    )


COSTS = {
    "forks": ("fork", 400e-6, 0.25),
    "page_faults_minor": ("minor page fault", 4e-6, 0.5),
    "context_switches": ("context switch", 3e-6, 0.15),
}


def make_cost(request: str, label: str, seconds: float, share: float) -> overhead.Cost:
    cost = estimate(seconds, f"s/{label}")
    direct = None
    if request != "context_switches" and request != "base":
        direct = overhead.DirectCost(
            seconds=estimate(seconds * 1.02, "s"), overlaps=request == "forks", ratio=1 / 1.02
        )
    return overhead.Cost(
        request=request,
        label=label,
        columns=(request,),
        seconds=cost,
        textbook=cost,
        bootstrap=cost,
        share=estimate(share),
        rate=estimate(100.0, f"{label}/s"),
        f_to_enter=30.0,
        variance_inflation=1.5,
        non_negative=seconds,
        robust=seconds,
        direct=direct,
        concentration=0.0,
    )


def make_stability(costs: list[overhead.Cost]) -> overhead.Stability:
    """Four subsets that agree but for forks, whose cost in the last one is a fifth higher."""

    def test(label: str, p: float) -> SignificanceTest:
        return SignificanceTest(
            hypothesis=f"the cost of {label} is the same in all subsets",
            statistic=1.5,
            p=p,
            n=119,
            method="F",
        )

    def spread(cost: overhead.Cost) -> overhead.CostSpread:
        moved = cost.request == "forks"
        factors = (1.0, 1.0, 1.0, 1.2 if moved else 1.0)
        return overhead.CostSpread(
            request=cost.request,
            label=cost.label,
            seconds=tuple(estimate(cost.seconds.value * factor, cost.seconds.unit) for factor in factors),
            deviation=cost.seconds.value * (0.1 if moved else 0.02),
            nominal=cost.seconds.value * 0.02,
            independent=test(cost.label, 0.001 if moved else 0.4),
            robust=test(cost.label, 0.01 if moved else 0.6),
        )

    subsets = tuple(
        overhead.Subset(start_us=n * 60_000_000, end_us=n * 60_000_000 + 58_000_000, n=30, r_squared=0.96)
        for n in range(4)
    )
    every = test("every request", 0.03)
    return overhead.Stability(
        subsets=subsets, spreads=tuple(map(spread, costs)), independent=every, robust=every
    )


def make_overhead() -> overhead.Overhead:
    costs = [make_cost("base", "base", 0.02, 0.1)]
    costs += [make_cost(name, label, seconds, share) for name, (label, seconds, share) in COSTS.items()]
    points = tuple(
        overhead.Point(
            start_us=number * 1_000_000,
            observed=0.2 + 0.01 * number,
            fitted=0.21 + 0.0098 * number,
            outlier=number == 7,
        )
        for number in range(20)
    )
    return overhead.Overhead(
        target="system time",
        costs=tuple(costs),
        left_out=(
            overhead.LeftOut(
                request="interrupts",
                label="interrupt",
                reason=Caveat("explains_nothing_more", f=1.2),
                tested=True,
            ),
        ),
        target_mean=estimate(0.4, "s/s"),
        target_columns=("system_s",),
        scaled=False,
        r_squared=0.97,
        residual_deviation=0.012,
        threshold=2.5,
        n=119,
        outliers=1,
        outliers_above=1,
        f_to_enter=4.0,
        correlations=(0.2, 0.1, 0.05, 0.0),
        lags=5,
        block=10,
        covariance=tuple(tuple(1e-8 * (row == column) for column in range(4)) for row in range(4)),
        degrees=36.0,
        robust_n=120,
        condition_number=12.0,
        dependencies=(
            Dependency(condition_index=1.0, proportions=(0.1, 0.2, 0.2, 0.3)),
            Dependency(condition_index=12.0, proportions=(0.9, 0.8, 0.8, 0.7)),
        ),
        stability=make_stability(costs),
        tick_check=overhead.TickCheck(
            ticks=estimate(1.2, "s/s"), exact=estimate(1.25, "s/s"), disagreement=-0.04
        ),
        recorder=estimate(0.003, "s/s"),
        points=points,
        caveats=(Caveat("correlated_residuals", correlation=0.4),),
    )


def make_rates() -> rates.Rates:
    rows = (
        rates.Rate(
            column="forks",
            description="Processes created",
            kind="counter",
            mean=estimate(100.0, "fork/s"),
            total=24_000.0,
            lowest=0.0,
            highest=400.0,
            autocorrelation=0.3,
        ),
        rates.Rate(
            column="active_users",
            description="Active users",
            kind="gauge",
            mean=estimate(5.5, "user"),
            total=None,
            lowest=0.0,
            highest=12.0,
            autocorrelation=0.9,
        ),
        rates.Rate(
            column="swap_in_pages",
            description="Pages",
            kind="counter",
            mean=estimate(0.0, "page/s"),
            total=0.0,
            lowest=0.0,
            highest=0.0,
            autocorrelation=None,
        ),
    )
    return rates.Rates(
        intervals=120,
        time_s=240.0,
        rates=rows,
        not_measured=("psi_cpu_some_s",),
        always_zero=("swap_in_pages",),
        caveats=(),
    )


def waiting(median: float) -> response.Waiting:
    mean, p50, p90, p99 = (estimate(median * factor, "s") for factor in (1.2, 1.0, 2.0, 4.0))
    return response.Waiting(n=50, mean=mean, p50=p50, p90=p90, p99=p99)


def make_response() -> response.Response:
    def group(label: str, users: float | None, median: float) -> response.ResponseGroup:
        return response.ResponseGroup(
            label=label,
            population_low=users,
            population_high=users,
            arrived=50,
            unfinished=1,
            response=waiting(median),
            first_output=waiting(median / 3),
            reaction=None,
            service=estimate(0.5, "s"),
            stretch=estimate(median * 2),
            throughput=estimate(2.5, "1/s"),
        )

    populations = tuple(group(str(users), float(users), 0.5 * 1.1**users) for users in range(1, 13))
    return response.Response(
        overall=group("all", None, 1.0),
        by_population=populations,
        by_class=(),
        without=None,
        growth=estimate(2.85),
        caveats=(),
    )


def make_saturation() -> saturation.Saturation:
    user = Dimension(name="user_time", label="user time", unit="s/s")
    faults = Dimension(name="page_faults", label="page faults", unit="fault/s")
    disk = Dimension(name="disk_operations", label="disk operations", unit="operation/s")
    points = tuple(
        saturation.FrontierPoint(
            start_us=number,
            values=(1.8 - 0.2 * number, 20_000.0 * number, 50.0 + number),
            limit=limit,
            idle=0.01,
            disk_busy=0.4,
            memory_stall=0.0,
            swapping=0.0,
        )
        for number, limit in enumerate(("cpu", "cpu", "disk"))
    )
    front = tuple(sorted((point.values[0], point.values[1]) for point in points))
    cloud = tuple((1.5 * (number % 7) / 7, 30_000.0 * (number % 11) / 11) for number in range(60))
    pair = FrontierPair(
        x=user,
        y=faults,
        points=front,
        limits=("disk", "cpu", "cpu"),
        cloud=cloud,
        curve=((0.0, 40_000.0), *front[:1], *front[-1:]),
        staircase=((0.0, 40_000.0), *front),
        hollow=0.1,
        band=tuple(
            (x / 25 * 1.8, 0.9 * 40_000 * (1 - x / 25), 1.1 * 40_000 * (1 - x / 25)) for x in range(25)
        ),
        regions=(
            Region(limit="disk", low=0.0, high=1.5, border=estimate(1.5, "s/s"), n=12, agreeing=0.9),
            Region(limit="cpu", low=1.5, high=1.8, border=None, n=8, agreeing=1.0),
        ),
        trade_offs=(),
        overall=TradeOff(
            low=1.4, high=1.8, limit="", slope=estimate(9e4, "fault/s"), rate=estimate(11e-6, "s/fault")
        ),
    )
    return saturation.Saturation(
        dimensions=(user, faults, disk),
        n=120,
        points=points,
        limits={"cpu": 2, "disk": 1},
        saturated_share={"cpu": estimate(0.31), "disk": estimate(0.05)},
        pairs=(pair,),
        growth=Growth(
            volume=0.02, outside=estimate(0.01), expected_outside=0.02, expected_volume=0.02, settled=True
        ),
        interval_s=2.0,
        block=10,
        blocks=12,
        thresholds=Thresholds(),
        ceilings=(),
        caveats=(),
    )


def make_service() -> service.Service:
    overall = service.ServiceClass(
        name="all",
        n=400,
        share=estimate(1.0),
        service_share=estimate(1.0),
        mean=estimate(0.5, "s"),
        variance=estimate(0.25, "s2"),
        standard_deviation=estimate(0.5, "s"),
        coefficient_of_variation=estimate(1.3),
        skewness=estimate(2.0),
        p50=estimate(0.3, "s"),
        p90=estimate(1.2, "s"),
        p99=estimate(2.4, "s"),
    )
    curve = tuple(
        service.CurvePoint(
            service_s=0.02 * 1.1**step, fraction=step / 50, concentration=estimate((step / 50) ** 2)
        )
        for step in range(1, 51)
    )
    bins = tuple(
        service.HistogramBin(low_s=0.1 * 2**k, high_s=0.2 * 2**k, share=estimate(0.3 / (k + 1)))
        for k in range(4)
    )
    periods = tuple(
        stability.ServicePeriod(
            start_s=600.0 * k,
            length_s=600.0,
            users=30.0,
            n=200,
            mean=estimate(0.5 + k / 9, "s"),
            p50=estimate(0.31, "s"),
            p90=estimate(1.25, "s"),
        )
        for k in range(2)
    )
    test = stability.StabilityTest(
        name="all", periods=2, distribution=make_test(0.25), trend=make_test(0.011), effect=0.031
    )
    return service.Service(
        overall=overall,
        classes=(),
        concentration=(service.Concentration(upper=0.1, share=estimate(0.4)),),
        curve=curve,
        below=(service.Below(limit_s=0.2, share=estimate(0.778)),),
        histogram=bins,
        ageing=(make_ageing("all", 1), make_ageing("short", -1), make_ageing("long", 1)),
        stability=stability.Stability(periods=periods, tests=(test,)),
        heavier_than_exponential=True,
        unfinished=3,
        caveats=(),
    )


def make_test(p: float, direction: int = 0) -> SignificanceTest:
    return SignificanceTest(
        hypothesis="nothing is the matter", statistic=2.5, p=p, n=400, method="a test", direction=direction
    )


def make_ageing(name: str, direction: int) -> ageing.Ageing:
    curve = tuple(
        ageing.ResidualPoint(
            service_s=0.1 * step,
            above=0.9**step,
            residual=estimate(0.5 * 1.2 ** (direction * step), "s"),
            low_all=0.4**step,
            high_all=3.0,
        )
        for step in range(8)
    )
    return ageing.Ageing(
        name=name,
        n=400,
        exponential=make_test(0.0002),
        hazard=make_test(0.001, -direction),
        residual=make_test(0.002, direction),
        expectation=make_test(0.003, direction),
        rises=direction > 0,
        falls=direction < 0,
        curve=curve,
    )


def make_arrivals() -> arrivals.Arrivals:
    periods = tuple(
        arrivals.ArrivalPeriod(
            start_s=600.0 * k,
            length_s=600.0,
            users=30.0,
            n=500,
            rate=estimate(0.8 + k / 9, "interaction/s"),
            dispersion=estimate(0.9 + k),
            counts=make_test(0.5),
            gaps=make_test(0.6),
            order=make_test(0.7),
            p=1.0 if k else 0.01,
        )
        for k in range(3)
    )
    finite = arrivals.FinitePopulation(users=30.0, thinking=25.0, variation=0.08)
    return arrivals.Arrivals(
        periods=periods,
        counts=make_test(0.01, -1),
        gaps=make_test(0.4),
        order=make_test(0.8),
        finite=finite,
        caveats=(),
    )


def make_waits() -> waits.Waits:
    queues = tuple(
        waits.Queue(
            name=name,
            number=estimate(1.5 + k),
            entered=estimate(0.9 - k / 9, "1/s"),
            time=estimate(1.6 + k, "s"),
            by_interactions=1.51 + k,
        )
        for k, name in enumerate(waits.QUEUES)
    )
    intervals = tuple(
        waits.TraceInterval(
            start_s=600.0 * k,
            length_s=600.0,
            users=30,
            inputs=500,
            completions=499,
            swap_ins=900 + 50 * k,
            swap_outs=900,
            library_loads=60,
            numbers=(5.0, 1.0, 2.0, 1.0, 1.0, 0.5),
            processor=0.5,
            disk=0.3,
            reaction_mean_s=0.4 + k,
            reaction_max_s=2.0 + k,
            reaction_log=-0.1,
        )
        for k in range(4)
    )
    return waits.Waits(
        queues=queues,
        accesses=estimate(3.2, "access/s"),
        swap_ins=estimate(1.51, "swap/s"),
        swap_outs=estimate(1.49, "swap/s"),
        library_loads=estimate(0.1, "load/s"),
        processor=estimate(0.55),
        disk=estimate(0.33),
        slice=estimate(0.12, "s"),
        cpus=1,
        intervals=intervals,
        caveats=(),
    )


def make_compared(sampled: float, exact: float, unit: str = "") -> disks.Compared:
    return disks.Compared(
        sampled=estimate(sampled, unit),
        exact=estimate(exact, unit),
        difference=estimate(sampled - exact, unit),
        differs=False,
    )


def make_drive(name: str, busy: float) -> disks.Drive:
    return disks.Drive(
        name=name,
        requests=estimate(20.5 * busy, "request/s"),
        requests_total=12_300.0,
        amount=estimate(10_496.0 * busy, "byte/s"),
        amount_total=6_297_600.0,
        reads=estimate(11.5 * busy, "operation/s"),
        writes=estimate(9.25 * busy, "operation/s"),
        seeks=estimate(8.75 * busy, "seek/s"),
        bytes_per_request=estimate(512.0 + busy, "byte"),
        access=estimate(0.0386 * busy, "s"),
        transfer=estimate(0.0013 * busy, "s"),
        service=estimate(0.0398 * busy, "s"),
        response=estimate(0.21 * busy, "s"),
        utilisation=make_compared(busy, busy - 0.011),
        maker=disks.Maker(access_s=0.0675, transfer_s=0.0012),
    )


def make_disks() -> disks.Disks:
    def amount(name: str, label: str, rate: float, unit: str) -> disks.Amount:
        return disks.Amount(name=name, label=label, rate=estimate(rate, f"{unit}/s"), total=600.0 * rate)

    lengths = tuple(estimate(part) for part in (0.052, 0.148, 0.31, 0.22, 0.17, 0.1))
    states = (("user", 0.41, 0.405), ("system", 0.22, 0.223), ("idle", 0.37, 0.372), ("busy", 0.63, 0.628))
    return disks.Disks(
        sessions=(0,),
        intervals=120,
        time_s=600.0,
        cache=(
            amount("block_reads", "reads", 6.5, "block"),
            amount("cache_hits", "cache hits", 19.5, "block"),
        ),
        hit_ratio=estimate(0.75),
        queues=(
            disks.Queue(
                place="controller",
                mean=make_compared(2.62, 2.57, "request"),
                distribution=lengths,
                open_ended=True,
                readings=36_000,
            ),
        ),
        drives=(make_drive("swap", 0.91), make_drive("files", 0.43)),
        controller=make_compared(0.948, 0.945),
        cpu=disks.Cpu(
            states=tuple(
                disks.CpuState(name=name, share=make_compared(first, second))
                for name, first, second in states
            ),
            waiting=estimate(0.335),
            is_hint=False,
            stalled=estimate(0.125),
        ),
        matrix=disks.StateMatrix(
            cpu=("user", "idle"),
            drives=("none", "swap", "files", "both"),
            shares=tuple(tuple(estimate(0.01 * k + 0.11 * row) for k in range(1, 5)) for row in (1, 2)),
            cpu_totals=(estimate(0.54), estimate(0.98)),
            drive_totals=tuple(estimate(0.351 + 0.02 * k) for k in range(4)),
            ticks=36_000,
        ),
        terminal=(amount("terminal_out_characters", "terminal characters out", 112.0, "character"),),
        swapping=disks.Swapping(
            amounts=(amount("swap_ins", "swaps in", 1.31, "swap"),),
            size=estimate(157.0, "click"),
            between=estimate(0.382, "s"),
        ),
        periods=tuple(
            disks.Period(
                session=0,
                start_s=30.0 * k,
                length_s=30.0,
                reads=6.0 + k,
                writes=3.0,
                hit_ratio=0.5,
                queues=(2.5 + k / 9,),
                utilisations=(0.9, 0.4),
                waiting=0.3,
            )
            for k in range(20)
        ),
        caveats=(),
    )


def make_throughput() -> throughput.Throughput:
    measures = (
        throughput.Measure(name="user_time", label="user time", unit="s/s", useful=True),
        throughput.Measure(name="system_time", label="system time", unit="s/s", useful=False),
        throughput.Measure(name="interactions", label="interactions", unit="interaction/s", useful=True),
    )
    groups = tuple(
        throughput.Group(
            load_low=float(users),
            load_high=float(users),
            load_mean=float(users),
            n=10,
            few=users == 12,
            means={
                "user_time": estimate(min(0.15 * users, 1.5), "s/s"),
                "system_time": estimate(0.04 * users, "s/s"),
            },
            user_time_per_user=estimate(min(0.15, 1.5 / users), "s/s"),
        )
        for users in range(1, 13)
    )
    return throughput.Throughput(
        load="active_users",
        load_unit="user",
        measures=measures,
        groups=groups,
        n=120,
        n_few=5,
        peak=(10.0, 11.0),
        caveats=(),
    )


def make_all() -> dict[str, object]:
    return {
        "capacity": make_capacity(),
        "throughput": make_throughput(),
        "response": make_response(),
        "overhead": make_overhead(),
        "saturation": make_saturation(),
        "disks": make_disks(),
        "service": make_service(),
        "arrivals": make_arrivals(),
        "waits": make_waits(),
        "rates": make_rates(),
    }
