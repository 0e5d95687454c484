"""Public functions given extreme numbers and odd columns: an answer, or an error of the library, and nothing else."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import extremal as ex

ODD = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e-310, 1e-150, 1e150, 1.7e308, -1e300, np.nan, np.inf, -np.inf),
    *(2**53, 2**63, 10**400, -(10**400), True, False, None, "", "a", b"x", 1 + 2j),
    *(np.float32(1e-40), np.int8(-1), np.array(3.0), [], {}, (), object()),
]
THREE = ex.Prior([0.5, 0.3, 0.2])
CERTIFIED = ex.certify(ex.design(THREE, 0.7))
MECHANISM = CERTIFIED.mechanism
WINDOWS = ex.large.windows(20, 1.0)


class Draw:
    """Numbers, vectors, matrices, priors and reports of every size and layout."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def one(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def odd(self):
        return self.one(*ODD)

    def size(self):
        """A positive number of any size."""
        return (
            float(10.0 ** self.rng.uniform(-320, 300)) if self.rng.integers(2) else float(self.rng.random())
        )

    def signed(self):
        return self.size() * self.one(1, -1)

    def vector(self, n=None):
        n = int(self.rng.integers(0, 6)) if n is None else n
        v = np.array([self.size() for _ in range(n)])
        odd = [self.odd() for _ in range(n)]
        layouts = v, v.astype(">f8"), np.repeat(v, 2)[::2], v[::-1], np.ones((n, n))
        return self.one(*layouts, pd.Series(v), pl.Series(v), pa.array(v), v.tolist(), odd)

    def matrix(self, n=None):
        n, m = int(self.rng.integers(1, 5)) if n is None else n, int(self.rng.integers(1, 5))
        A = self.rng.dirichlet(np.ones(m), n)
        tiny = 10.0 ** self.rng.uniform(-300, 0, (n, m))
        any_size = np.array([[self.size() for _ in range(m)] for _ in range(n)])
        layouts = A, np.asfortranarray(A), A.astype(">f8"), np.repeat(A, 2, axis=0)[::2]
        return self.one(*layouts, tiny / tiny.sum(axis=1, keepdims=True), any_size)

    def mechanism(self):
        return ex.Mechanism(self.matrix())

    def prior(self):
        masses = 10.0 ** self.rng.uniform(-14, 0, int(self.rng.integers(2, 5)))
        return self.one(
            THREE, ex.Prior([1 - 1e-12, 1e-12]), ex.Prior.from_counts(masses), ex.Prior.uniform(3)
        )

    def reports(self, n=None):
        n = self.one(0, 1, 2, 10, 40) if n is None else n
        y = self.rng.integers(0, 3, n)
        text = [str(x) for x in y]
        views = pa.array(text, type=pa.string_view()) if hasattr(pa, "string_view") else text
        integers = y.astype(">i8"), np.repeat(y, 2)[::2], pd.Series(y, dtype="Int64"), pl.Series(y)
        chunks = pa.chunked_array([pa.array(y.astype(np.int8))])
        return self.one(
            *integers,
            views,
            chunks,
            pd.Series(text, dtype="category"),
            y.astype(np.float16),
            [*y, self.odd()],
        )

    def noise(self):
        bounds = self.one(None, (-self.size(), self.size()))
        return self.one(ex.noise.gaussian, ex.noise.laplace)(
            self.size(), bounds, self.one("clamp", "resample")
        )


def level(d):
    return d.one(0.3, 1.0, d.size(), d.odd())


def designed(d, utility):
    return ex.check_design(ex.design(d.prior(), level(d), utility, time_limit=1))


CALLS = {
    "priors": lambda d: (ex.Prior(d.vector()), ex.Prior.from_data(d.vector())),
    "counts of priors": lambda d: ex.Prior.from_counts(d.vector(), d.odd()),
    "mechanisms": lambda d: d.mechanism(),
    "shares": lambda d: designed(d, ex.shares),
    "relative shares": lambda d: designed(d, ex.shares.relative),
    "means": lambda d: ex.check_design(ex.design(THREE, 0.7, ex.mean([d.signed() for _ in range(3)]))),
    "means at any level": lambda d: designed(d, ex.mean(d.vector())),
    "information": lambda d: designed(d, ex.mutual_information),
    "gains": lambda d: designed(d, ex.ExpectedGain([[d.signed() for _ in range(3)] for _ in range(2)])),
    "quadratic": lambda d: designed(d, ex.utilities.Quadratic(np.diag([d.size() for _ in range(3)]))),
    "notions": lambda d: ex.design(THREE, d.size(), ex.mutual_information, notion=d.one(ex.LDP, ex.LIP)),
    "sets": lambda d: ex.design(ex.PriorSet.l1_ball(d.prior(), d.size() % 1), d.size(), time_limit=1),
    "intervals": lambda d: ex.PriorSet.intervals(d.vector(3), d.vector(3)),
    "certificates": lambda d: ex.certify(d.prior(), d.mechanism(), d.odd()),
    "leakage": lambda d: (
        ex.pml(p := d.prior(), m := d.mechanism()),
        ex.epsilon_pml(p, m),
        str(ex.audit(p, m)),
    ),
    "measures": lambda d: ex.measures.envelope(d.prior(), d.mechanism())(d.odd()),
    "pairs": lambda d: ex.audit_pairs(d.vector(20), d.vector(20), epsilon=d.odd()),
    "noise": lambda d: str(ex.noise.audit(d.prior(), d.noise())),
    "noise on numbers of any size": lambda d: str(
        ex.noise.audit(ex.Prior([0.5, 0.5], [d.signed(), 0]), d.noise())
    ),
    "estimates": lambda d: str(
        ex.estimate(d.one(MECHANISM, d.mechanism()), d.reports(), d.one(0.95, d.odd()))
    ),
    "weights": lambda d: str(
        ex.estimate(MECHANISM, d.reports(5), sample=ex.SampleDesign(weights=d.vector(d.one(5, 6))))
    ),
    "groups": lambda d: str(
        ex.estimate(MECHANISM, [0, 1, 2, 0, 1], sample=ex.SampleDesign(weights=d.vector(5)), by=d.vector(5))
    ),
    "clusters": lambda d: str(
        ex.estimate(
            MECHANISM, [0, 1, 2, 0, 1], sample=ex.SampleDesign(strata=d.vector(5), clusters=d.vector(5))
        )
    ),
    "counts": lambda d: str(ex.estimate(MECHANISM, {k: d.odd() for k in range(3)})),
    "the mode": lambda d: str(
        ex.estimate(MECHANISM, [0, 1], method=ex.Method("map", prior=d.prior(), strength=d.odd()))
    ),
    "scores": lambda d: str(
        ex.estimate(MECHANISM, [0, 1, 2, 0]).mean(d.one(d.vector(3), [d.signed(), 0, 1]))
    ),
    "sums": lambda d: str(
        ex.estimate(MECHANISM, [0, 1, 2], intervals="all").group({"x": {0: d.signed(), 1: 1}})
    ),
    "regression": lambda d: str(
        ex.regress(MECHANISM, "y ~ x", {"y": d.rng.integers(0, 3, 20), "x": d.vector(20)})
    ),
    "plans": lambda d: str(
        ex.plan(CERTIFIED, **{d.one("people", "width", "difference"): d.one(d.size(), d.odd())})
    ),
    "plans for a coefficient": lambda d: str(
        ex.plan(CERTIFIED, coefficient=ex.planning.Effect(d.signed(), 0))
    ),
    "least levels": lambda d: ex.planning.least_epsilon(THREE, people=d.odd(), half_width=d.size()),
    "precision": lambda d: ex.planning.precision(d.prior(), [d.one(0.5, d.size())], [d.odd()]),
    "waves": lambda d: str(ex.panels.change((MECHANISM, MECHANISM), d.reports(6), d.reports(6))),
    "compliance": lambda d: str(
        ex.compliance.rate({"a": (MECHANISM, d.reports()), "b": (MECHANISM, d.reports())}, 0)
    ),
    "grids": lambda d: ex.numeric.Grid(d.vector()).round(d.vector(), clip=True),
    "brackets": lambda d: ex.numeric.Brackets(d.vector()).assign(d.vector()),
    "windows": lambda d: (ex.large.windows(20, d.odd()), str(ex.large.estimate(WINDOWS, d.vector()))),
    "reports of windows": lambda d: str(ex.large.estimate(WINDOWS, d.one(d.vector(), [d.odd(), 3]))),
    "draws": lambda d: CERTIFIED.privatize(d.one(d.vector(), d.reports())),
    "response": lambda d: ex.theory.randomized_response(d.prior(), d.odd()),
    "response that leaks as much": lambda d: ex.theory.randomized_response_for_pml(d.prior(), d.size()),
}


@pytest.mark.parametrize("seeds", [range(5), pytest.param(range(5, 400), marks=pytest.mark.slow)], ids=len)
@pytest.mark.parametrize("name", CALLS)
def test_only_errors_of_the_library_are_raised(name, seeds):
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                CALLS[name](Draw(seed))
            except ex.errors.ExtremalError:
                pass
            except Exception as error:
                raise AssertionError(f"seed {seed}") from error
