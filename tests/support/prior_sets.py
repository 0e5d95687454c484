"""Sets of priors of every kind, and members of them."""

import itertools

import numpy as np

import extremal as ex


def some_sets(rng, n):
    """One set of each kind around a random prior."""
    p = rng.dirichlet(np.ones(n))
    p = 0.9 * p + 0.1 / n
    lower, upper = p * rng.random(n), np.minimum(p + 0.5 * rng.random(n), 1)
    counts = rng.multinomial(50, p)
    return [
        ex.PriorSet.l1_ball(ex.Prior(p), rng.uniform(0, 2)),
        ex.PriorSet.l1_ball(ex.Prior(p), 0.1),
        ex.PriorSet.intervals(lower, upper),
        ex.PriorSet.intervals(lower, upper, nominal=ex.Prior(p)),
        ex.PriorSet.at_least(n, 0.5 / n),
        ex.PriorSet.at_least(ex.Prior(p), 0.0),
        ex.PriorSet.from_counts(counts, 0.9),
    ]


def random_members(priors, rng, count):
    """Priors of the set: random directions, each followed up to a random point or to the border, as columns."""
    n = priors.size
    inside = priors.nominal.probabilities
    corners = priors.worst_priors(rng.standard_normal((n, count)))
    mixed = corners[:, :30] @ rng.dirichlet(np.full(30, 0.1), size=count).T
    t = np.where(rng.random(count) < 0.3, 1.0, rng.random(count))
    return np.where(rng.random(count) < 0.5, inside[:, None] * (1 - t) + corners * t, mixed)


def all_vertices(priors, c):
    """Vertices of {lambda >= 0, mean 1, lambda_i <= c pi.lambda for all i and pi} by trying all bases."""
    n, pi = priors.size, priors.nominal.probabilities
    orders = np.array(list(itertools.permutations(range(n))), dtype=float).T
    corners = np.unique(np.round(priors.worst_priors(orders).T, 14), axis=0)
    rows = [np.eye(n)[i] - c * corner for i in range(n) for corner in corners]
    A = np.unique(np.round(np.vstack((rows, -np.eye(n))), 13), axis=0)
    found = []
    choices = np.array(list(itertools.combinations(range(len(A)), n - 1)))
    for chosen in np.array_split(choices, 1 + len(choices) // 50_000):
        systems = np.concatenate((A[chosen], np.broadcast_to(pi, (len(chosen), 1, n))), axis=1)
        regular = np.abs(np.linalg.det(systems)) > 1e-10
        right = np.zeros((int(regular.sum()), n, 1))
        right[:, -1] = 1
        points = np.linalg.solve(systems[regular], right)[..., 0]
        found.append(points[(points @ A.T <= 1e-9).all(axis=1)])
    return np.maximum(np.concatenate(found), 0)
