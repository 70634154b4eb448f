"""The closed network with a swapper against exact Markov chains that decompose nothing."""

from dataclasses import replace

import pytest
from markov import stationary

from thinktime.models.swapping.response_time import Swapping, predict

PLAIN = Swapping(
    processes=6,
    memory=628,
    size=157,
    blocks=5.0,
    block_time_s=0.04,
    swap_time_s=0.05,
    compute_s=0.06,
    think_s=1.0,
    dispatch="sharing",
    minimum_time_in_s=1e6,
    minimum_time_out_s=1e6,
)
"""Exponential times and shared devices, as the chains have them; ready processes are never swapped out."""


def exact(system, fit):
    """Throughput and swaps of the whole network as one Markov chain: nothing is decomposed.

    States: requests at the disk, processes at the CPU, pausing in memory, pausing outside; the swap (0 none,
    1 out of one who pauses, 2 out of one who is ready, 3 in), and how many requests are before it.
    """
    n, blocks, block_s = system.processes, system.blocks, system.block_time_s
    swap_s, cpu_s, think_s = system.swap_time_s, system.compute_s, system.think_s

    def decided(state):
        disk, cpu, inside, outside, swap, _ = state
        if swap == 0 and disk + cpu + inside + outside < n:
            if disk + cpu + inside < fit:
                return disk, cpu, inside, outside, 3, disk
            if inside:
                return disk, cpu, inside - 1, outside, 1, disk
        return state

    def transitions(state):
        disk, cpu, inside, outside, swap, before = state
        to = []
        if swap and before == 0:
            came, left = (1, 0) if swap == 3 else (0, int(swap == 1))
            to.append(((disk, cpu + came, inside, outside + left, 0, 0), 1 / swap_s))
        elif disk:
            ahead = before - 1 if swap else 0
            to.append(((disk - 1, cpu + 1, inside, outside, swap, ahead), (1 - 1 / blocks) / block_s))
            to.append(((disk - 1, cpu, inside + 1, outside, swap, ahead), 1 / blocks / block_s))
        if cpu:
            to.append(((disk + 1, cpu - 1, inside, outside, swap, before), blocks / cpu_s))
        if inside:
            to.append(((disk, cpu + 1, inside - 1, outside, swap, before), inside / think_s))
        if outside:
            to.append(((disk, cpu, inside, outside - 1, swap, before), outside / think_s))
        if swap == 1:
            to.append(((disk, cpu, inside, outside, 2, before), 1 / think_s))
        return [(decided(following), rate) for following, rate in to]

    states, chances = stationary(decided((0, min(n, fit), 0, 0, 0, 0)), transitions)
    files = sum(p for s, p in zip(states, chances, strict=True) if s[0] and (not s[4] or s[5]))
    swaps = sum(p for s, p in zip(states, chances, strict=True) if s[4] and not s[5])
    return files / block_s / blocks, swaps / swap_s


CHAINS = [
    (processes, fit, swap_s, cpu_s, think_s)
    for processes, fit in ((4, 2), (5, 1), (6, 3), (8, 4))
    for swap_s, cpu_s, think_s in ((0.05, 0.06, 1.0), (0.1, 0.2, 0.5), (0.05, 0.5, 1.0), (0.3, 0.06, 1.0))
]


@pytest.mark.parametrize(("processes", "fit", "swap_s", "cpu_s", "think_s"), CHAINS)
def test_decomposition_is_within_two_per_cent_of_the_exact_chain(processes, fit, swap_s, cpu_s, think_s):
    system = replace(
        PLAIN, processes=processes, memory=157 * fit, swap_time_s=swap_s, compute_s=cpu_s, think_s=think_s
    )
    found = predict(system)
    throughput, swaps = exact(system, fit)
    assert found["throughput_per_s"] == pytest.approx(throughput, rel=0.02)
    assert found["throughput_per_s"] * found["swaps_per_interaction"] == pytest.approx(swaps, rel=0.03)


def test_the_exact_chain_notices_a_wrong_model():
    """A canary: the same machine with swaps beside files, or one process more in memory, is not within it."""
    throughput, _ = exact(PLAIN, 4)
    for wrong in (replace(PLAIN, own_controller=True), replace(PLAIN, memory=5 * 157)):
        assert predict(wrong)["throughput_per_s"] != pytest.approx(throughput, rel=0.02)


def behind_exact(users, blocks, behind, block_s, cpu_s, think_s):
    """Throughput where a part of the transfers is left behind: a chain of sync, computing and behind."""
    waited, left = blocks * (1 - behind), blocks * behind
    most = 60

    def transitions(state):
        disk, cpu, later = state
        to = []
        if disk:
            rate = disk / (disk + later) / block_s
            for part, more in ((left / waited, 1), (1 - left / waited, 0)):
                grown = min(most, later + more)
                to.append(((disk - 1, cpu + 1, grown), rate * part * (1 - 1 / waited)))
                to.append(((disk - 1, cpu, grown), rate * part / waited))
        if later:
            to.append(((disk, cpu, later - 1), later / (disk + later) / block_s))
        if cpu:
            to.append(((disk + 1, cpu - 1, later), cpu * waited / (cpu_s * cpu)))
        if pausing := users - disk - cpu:
            to.append(((disk, cpu + 1, later), pausing / think_s))
        return to

    states, chances = stationary((0, users, 0), transitions)
    pairs = zip(states, chances, strict=True)
    return sum(p * s[0] / (s[0] + s[2]) for s, p in pairs if s[0]) / block_s / waited


@pytest.mark.parametrize("users", [1, 3, 5, 8, 12])
def test_transfers_left_behind_are_within_eight_per_cent_and_on_the_safe_side(users):
    """Asynchronous tasks as an open stream: exact when the disk is idle or saturated, pessimistic between."""
    system = replace(PLAIN, processes=users, memory=157 * users, behind=0.4)
    throughput = behind_exact(users, 5.0, 0.4, 0.04, 0.06, 1.0)
    assert 0.92 * throughput <= predict(system)["throughput_per_s"] <= 1.001 * throughput
