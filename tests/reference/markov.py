"""Stationary distributions of Markov chains, from their generators: what closed forms must agree with."""

from collections import deque

import numpy as np
from scipy import sparse
from scipy.sparse import linalg


def stationary(first, transitions):
    """States that can be reached from `first`, and their probabilities.

    `transitions(state)` gives pairs (state, rate). States must be hashable.
    """
    index, rows, columns, rates = {first: 0}, [], [], []
    todo = deque([first])
    while todo:
        state = todo.popleft()
        for following, rate in transitions(state):
            if following not in index:
                index[following] = len(index)
                todo.append(following)
            rows.append(index[following])
            columns.append(index[state])
            rates.append(rate)
    n = len(index)
    flow = sparse.coo_matrix((rates, (rows, columns)), shape=(n, n)).tolil()
    flow.setdiag(flow.diagonal() - np.asarray(flow.sum(axis=0)).ravel())
    flow[0, :] = 1.0  # one balance equation is implied by the others: the sum of probabilities instead
    chances = linalg.spsolve(flow.tocsc(), np.eye(1, n).ravel())
    return list(index), chances


def mean(first, transitions, figure):
    """Mean of a figure of the state."""
    states, chances = stationary(first, transitions)
    return float(sum(chance * figure(state) for state, chance in zip(states, chances, strict=True)))
