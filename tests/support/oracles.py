"""Slow, independent references: nothing here calls the function it checks.

Optima come from enumerations: all extremal lift vectors and a linear program over them, whose dual is made
feasible by hand so that the bound it gives does not depend on the solver's tolerances; or all vertices of
M_N(epsilon), which in turn are checked against trying every basis.
"""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np

import extremal as ex
from extremal._common.highs import INFINITE, Program

# Utilities

SYMMETRIC = [
    ex.mutual_information,
    ex.utilities.total_variation,
    ex.utilities.chi_squared,
    ex.utilities.hellinger,
    ex.utilities.jensen_shannon,
    ex.Utility(lambda prior, P: P.max(axis=0), "largest entry", symmetric=True),
    ex.Utility(lambda prior, P: np.sqrt((P**2).sum(axis=0)), "Euclidean norm", symmetric=True),
]


def asymmetric(n):
    """Sub-convex utilities on n symbols that treat symbols differently."""
    ramp = np.arange(1.0, n + 1)
    first, last = ramp / ramp.sum(), ramp[::-1] / ramp.sum()
    gain = np.cos(np.arange(3 * n)).reshape(3, n)
    return [
        ex.FDivergence(lambda t: t * np.log(np.where(t > 0, t, 1)), first, last, "KL between hypotheses"),
        ex.FDivergence(
            lambda t: np.abs(t - 1) / 2, np.eye(n)[0], np.eye(n)[-1], "TV between points", growth=0.5
        ),
        ex.ExpectedGain(np.eye(n), "guessing X"),
        ex.ExpectedGain(gain, "three decisions"),
        ex.Utility(lambda prior, P: np.sqrt(((ramp[:, None] * P) ** 2).sum(axis=0)), "weighted norm"),
        ex.Utility(lambda prior, P: np.abs(P - P[::-1]).max(axis=0), "largest difference"),
    ]


def every_utility(n):
    """All of them."""
    return [*SYMMETRIC, *asymmetric(n)]


# Lift vectors


def algorithm_1(pi, c, k):
    """The paper's Algorithm 1, line by line, on any kind of numbers: a list, duplicates included."""
    n = len(pi)
    found = []  # line 1
    for l in range(1, k + 1):  # line 2
        for J in itertools.combinations(range(n), n - l + 1):  # line 3
            if c * sum(pi[m] for m in J) >= 1:  # line 4
                for j in J:  # line 6
                    others = [m for m in J if m != j]
                    if c * sum(pi[m] for m in others) <= 1:  # line 7
                        lam = [0 * c] * n  # line 5
                        lam[j] = (1 - c * sum(pi[m] for m in others)) / pi[j]  # line 8
                        for i in others:  # line 9
                            lam[i] = c
                        found.append(tuple(lam))  # line 10
    return found


def lift_vectors(pi, c, slack=1e-14):
    """All vertices of {0 <= lambda <= c, pi . lambda = 1} and perhaps points very near to them, as rows."""
    n = len(pi)
    sets = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
    mass = sets @ pi
    rows = []
    for j in range(n):
        S = sets[~sets[:, j]]
        rest = (1 - c * mass[~sets[:, j]]) / pi[j]
        near = (rest * pi[j] >= -slack) & ((rest - c) * pi[j] <= slack)
        block = np.where(S[near], c, 0.0)
        block[:, j] = np.clip(rest[near], 0, c)
        rows.append(block)
    lam = np.concatenate(rows)
    return lam[lam @ pi > 0.5]


def largest_lift(prior, epsilon):
    """c = e^epsilon, cut where it no longer restricts."""
    return min(math.exp(min(epsilon, 700)), 1 / prior.probabilities.min())


def is_optimal(prior, epsilon, utility, value):
    """Whether a utility is the largest at this level, to 1e-9, by the program over lift vectors."""
    c = largest_lift(prior, epsilon)
    return _agrees(value, lambda shift: optimum(prior, max(c * (1 + shift), 1.0), utility))


def is_best_vertex(prior, epsilon, utility, value):
    """Whether a utility is the largest at this level, to 1e-9, by the vertices of M_N(epsilon)."""

    def best(shift):
        return polytope_optimum(prior, _vertices(prior, max(epsilon + shift, 0.0)), utility)

    return abs(value - best(0.0)) <= 1e-9 or _agrees(value, best)


@functools.lru_cache(maxsize=4)
def _vertices(prior, epsilon):
    return ex.theory.polytope_vertices(prior, epsilon)


def _agrees(value, optimum_at):
    """Whether a value is the optimum to 1e-9, where levels equal up to rounding are one.

    At the edge of a region the optimum of a utility that is steep at 0 is steep too: squared Hellinger loses
    3e-8 when epsilon falls by 1e-15. So the value must lie between the optima at both ends of what rounding
    may do.
    """
    above = optimum_at(1e-14)
    return abs(value - above) <= 1e-9 or optimum_at(-3e-14) - 1e-9 <= value <= above


def optimum(prior, c, utility):
    """An upper bound on the utility of mechanisms with lifts up to c, tight up to about 1e-10.

    A mechanism is a distribution over vertices v with mean 1, so whatever z is, its utility is at most the
    largest mu(v) - z.(v - 1). The dual of the linear program over the vertices gives a good z.
    """
    pi = prior.probabilities
    V = np.vstack((lift_vectors(pi, c), np.ones(len(pi))))  # 1 is no vertex, but keeps the program feasible
    gains = utility.columns(prior, V.T)
    D = np.delete(
        V - 1, np.argmax(pi), axis=1
    )  # pi.(v - 1) = 0, so the last one follows; rounding must not matter
    # Everything scaled to order 1, so that the solver's absolute tolerances mean the same for every c.
    rows = np.maximum(np.abs(D).max(axis=0), 1e-300)
    scaled = np.vstack(((D / rows).T, np.ones(len(V))))
    columns = np.abs(scaled).max(axis=0)
    spread = max(np.ptp(gains), 1e-300)
    # Through scipy it would take three times as long, and whatever the solver says, the bound holds.
    program = Program({"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10})
    right = np.append(np.zeros(len(pi) - 1), 1.0)
    program.add_rows(right, right, np.zeros((len(pi), 0)))
    costs, none = -(gains - gains.min()) / spread / columns, np.full(len(V), INFINITE)
    program.add_columns(costs, np.zeros(len(V)), none, (scaled / columns).T)
    assert program.run() == "optimal"
    z = -program.solution()[1][:-1] * spread / rows
    return float(np.max(gains - D @ z))


# The polytope M_N(epsilon)


def polytope_optimum(prior, vertices, utility):
    """The largest utility among mechanisms given as an array (V, N, N)."""
    count, n, m = vertices.shape
    columns = np.ascontiguousarray(vertices.transpose(1, 0, 2)).reshape(n, count * m)
    return float(utility.columns(prior, columns).reshape(count, m).sum(axis=1).max())


def all_bases(pi, c):
    """Vertices of M_N(epsilon) by trying every set of N^2 - N inequalities: (V, N, N), many repeated."""
    n = len(pi)
    rows = []
    for i, j in itertools.product(range(n), repeat=2):
        row = np.zeros((n, n))
        row[:, j] -= c * pi
        row[i, j] += 1
        rows.append(row.ravel())
    A = np.vstack((rows, -np.eye(n * n)))
    sums = np.kron(np.eye(n), np.ones(n))
    found = []
    choices = np.array(list(itertools.combinations(range(2 * n * n), n * n - n)))
    for chosen in np.array_split(choices, max(1, len(choices) // 2000)):
        systems = np.concatenate((np.broadcast_to(sums, (len(chosen), *sums.shape)), A[chosen]), axis=1)
        regular = np.abs(np.linalg.det(systems)) > 1e-13
        right = np.zeros((int(regular.sum()), n * n, 1))
        right[:, :n] = 1
        points = np.linalg.solve(systems[regular], right)[..., 0]
        found.append(points[(points @ A.T <= 1e-11).all(axis=1)])
    P = np.concatenate(found).reshape(-1, n, n)
    return np.where(P < 1e-13, 0.0, P)


# Exact fractions


def log_mean_exp(distribution):
    """log E[exp l(X→Y)] of a distribution of the leakage: the maximal leakage."""
    return math.log(math.fsum(np.exp(distribution.values) * distribution.probabilities))


def exact_lift(pi, P):
    """P(y|x) / P_Y(y) in fractions; None in columns that never occur."""
    n, m = len(P), len(P[0])
    rho = [sum(pi[i] * P[i][j] for i in range(n)) for j in range(m)]
    return [[P[i][j] / rho[j] if rho[j] else None for j in range(m)] for i in range(n)]


def exact_exp_pml(pi, P):
    """exp of the leakage of every output that occurs."""
    return [max(column) for column in zip(*exact_lift(pi, P), strict=True) if column[0] is not None]


def exact_f_information(pi, P, f):
    """sum_y P_Y(y) sum_x P_X(x) f(lift) for an f on fractions."""
    L = exact_lift(pi, P)
    total = Fraction(0)
    for j in range(len(P[0])):
        rho = sum(pi[i] * P[i][j] for i in range(len(pi)))
        if rho:
            total += rho * sum(pi[i] * f(L[i][j]) for i in range(len(pi)))
    return total


def exact_total_variation(t):
    return abs(t - 1) / 2


def exact_chi_squared(t):
    return (t - 1) ** 2


def exact_guessing(pi, P):
    """The probability of guessing X right from Y."""
    return sum(max(pi[i] * P[i][j] for i in range(len(pi))) for j in range(len(P[0])))


def polytope_system(pi, c):
    """Lemma 1 as (upper, sums): upper p <= 0, sums p = 1 and p >= 0 for p the N x N mechanism, row by row.

    p_ij - c sum_i' pi_i' p_i'j <= 0 for masses pi and c = e^epsilon. Fractions in, fractions out.
    """
    n = len(pi)
    zero, one = c - c, c / c
    upper, sums = np.full((n * n, n * n), zero), np.full((n, n * n), zero)
    for i in range(n):
        sums[i, i * n : (i + 1) * n] = one
        for j in range(n):
            upper[i * n + j, j::n] = [-c * p for p in pi]
            upper[i * n + j, i * n + j] += one
    return upper, sums
