"""Calls of everything that wraps compiled code, with arguments as they should be and as they should not.

    python -m tests.support.native_fuzz LIBRARY ROUNDS SEED

Each call ends with a result or an exception of Python; under the sanitizers anything else ends the process. Prints how
often each function gave a result, how often it refused, and a digest of all numbers of the calls as they should be.
"""

from __future__ import annotations

import ctypes
import sys
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import extremal as ex
from extremal._native import library
from extremal.draw import kernel
from extremal.draw.texts import Texts, replace_fields
from extremal.optimization.effort import Effort
from extremal.optimization.oracles import listed
from extremal.optimization.oracles.exchange import oracle
from extremal.optimization.oracles.knapsack import kernels as knapsack
from extremal.optimization.oracles.levels import bound as levels
from extremal.optimization.oracles.levels import oracle as level_search
from extremal.optimization.oracles.nested.pricing import NestedPricer
from extremal.optimization.set_levels import SetLevels

Draw = np.random.Generator
REFUSED = (
    *(ValueError, TypeError, IndexError, OverflowError, MemoryError, AttributeError, RuntimeError),
    ZeroDivisionError,
    ctypes.ArgumentError,
)
ENTROPY = ex.mutual_information.f


def masses(rng: Draw, n: int) -> Any:
    """Probabilities in decreasing order."""
    return np.sort(rng.dirichlet(np.ones(n)))[::-1].copy()


def symmetric(rng: Draw, n: int) -> Any:
    """A positive semidefinite matrix."""
    M = rng.normal(size=(n, n))
    return M @ M.T


def climb(pi: Any, W: Any, y: Any, pull: Any, total: Any, first: Any, X: Any) -> Any:
    return oracle.climb(listed.form(pi, 1.5, W, y), pull, total, first, 3, X)


def best(pi: Any, excess: Any, W: Any, y: Any, keep: Any, alike: Any) -> Any:
    return listed.best_vertices(pi, excess, W, y, keep, 100, alike)


def search(pi: Any, y: Any, table: Any, each: Any, tabled: Any) -> Any:
    return knapsack.search(knapsack.pricing(pi, y, 0.0, 2.0, table), -1.0, each, 50, False, tabled)


def neighbourhoods(pi: Any, y: Any, table: Any, tries: Any, free: Any, tabled: Any) -> Any:
    return knapsack.neighbourhoods(knapsack.pricing(pi, y, 0.0, 2.0, table), tries, free, tabled, 7)


def vertex_price(sets: Any, starts: Any, gain: Any, above: Any, y: Any, each: Any, scratch: Any) -> Any:
    return knapsack.vertex_price(knapsack.vertex_table(sets, starts, gain, above, scratch), y, y, -1.0, each)


def draw(codes: Any, rows: Any, weights: Any, out: Any, words: Any, first: Any, count: Any) -> Any:
    """Tables, and what is drawn from them."""
    entries = np.zeros(len(weights) << 1, np.uint64)
    kernel.build(weights, 1, entries)
    return kernel.drawing(codes, rows, entries, 1, out)(words)(first, count)


def texts(block: Any, starts: Any, ends: Any, edges: Any, chosen: Any) -> Any:
    """Numbers of texts, integers, and records with other texts."""
    some = Texts(block, starts, ends)
    some.numbered()
    some.integers()
    return replace_fields(b"ab;cd;e" * 5, edges, chosen, some)


def cone(pi: Any, center: Any, lower: Any, upper: Any) -> SetLevels:
    return SetLevels(pi, center, lower, upper, 0.05, 2.0)


def herd(pi: Any, center: Any, lower: Any, upper: Any, inverse: Any, y: Any, start: Any) -> Any:
    return level_search.herd(cone(pi, center, lower, upper), inverse, inverse, y, y, start, 3)


def bound(pi: Any, center: Any, lower: Any, upper: Any, d: Any, a: Any, most: Any, before: Any) -> Any:
    """A tree of cells over a set of priors."""
    n = len(d)
    weights = levels.Weights(d, np.eye(n), np.eye(n), a, d)
    return levels.bound(cone(pi, center, lower, upper), weights, 0.0, 0.1, most, before)


def nested(pi: Any, y: Any, inner: Any, outer: Any) -> Any:
    """Columns over a set of priors."""
    priors = ex.PriorSet.l1_ball(ex.Prior(pi / pi.sum()), 0.1)
    pricer = NestedPricer(priors, 2.0, ENTROPY)
    pricer.rise(y, inner, outer, Effort())
    return pricer.price(y, -1.0, 0.5, Effort(nodes=2000), 500)


Case = tuple[Callable[..., Any], Callable[[Draw, int], list[Any]]]


def _vertices(rng: Draw, n: int) -> list[Any]:
    sets, starts = knapsack.vertex_sets(rng.normal(size=1 << n), n, 1e-9)
    return [
        sets,
        starts,
        rng.normal(size=len(sets)),
        rng.normal(size=len(sets)),
        rng.normal(size=n),
        2,
        np.empty(1 << n),
    ]


def _set(rng: Draw, n: int) -> list[Any]:
    pi = masses(rng, n)
    return [pi, pi, 0.8 * pi, np.minimum(1.2 * pi, 1.0)]


CASES: dict[str, Case] = {
    "climb": (
        climb,
        lambda rng, n: [
            *(masses(rng, n), symmetric(rng, n), rng.normal(size=n), np.ones(n), np.zeros(n), 1),
            rng.normal(size=(3, n)),
        ],
    ),
    "fill": (oracle.fill, lambda rng, n: [masses(rng, n), 1.5, np.array([rng.permutation(n)] * 3)]),
    "best": (
        best,
        lambda rng, n: [masses(rng, n), 1.5, symmetric(rng, n), rng.normal(size=n), 5, rng.random(n) < 0.2],
    ),
    "search": (
        search,
        lambda rng, n: [
            masses(rng, n),
            rng.normal(size=n),
            rng.normal(size=(3, 9)),
            2,
            max(1, min(n // 2, 10)),
        ],
    ),
    "neighbourhoods": (
        neighbourhoods,
        lambda rng, n: [masses(rng, n), rng.normal(size=n), rng.normal(size=(3, 9)), 5, max(1, n - 1), 1],
    ),
    "fill lattice": (
        knapsack.lattice_fill,
        lambda rng, n: [rng.integers(1, 6, n), rng.normal(size=n), 3 * n, True],
    ),
    "trace lattice": (
        knapsack.lattice_trace,
        lambda rng, n: [np.ones(n, np.int64), np.ones((n, n + 1), np.bool_), n],
    ),
    "vertex sets": (knapsack.vertex_sets, lambda rng, n: [rng.normal(size=1 << min(n, 9)), min(n, 9), 1e-9]),
    "vertex price": (vertex_price, lambda rng, n: _vertices(rng, min(n, 9))),
    "draw": (
        draw,
        lambda rng, n: [
            *(rng.integers(0, 4, n, dtype=np.uint8), np.array([0, 1, 2], np.uint32)),
            np.array([[1 << 61, 1 << 61], [1 << 62, 0], [0, 1 << 62]], np.uint64),
            *(np.zeros(n, np.uint8), rng.integers(0, 2**63, n, dtype=np.uint64), 0, n),
        ],
    ),
    "tally": (kernel.tally, lambda rng, n: [rng.integers(0, 9, n, dtype=np.uint16), 5]),
    "texts": (
        texts,
        lambda rng, n: [
            b"12;ab;-7;" * n,
            *(np.arange(n) * 3, np.arange(n) * 3 + 2),
            np.array([[0, 2, 4, 7]] * 3),
            rng.integers(0, n, (3, 1)),
        ],
    ),
    "herd": (
        herd,
        lambda rng, n: [
            *(*_set(rng, n), symmetric(rng, n - 1), rng.normal(size=n)),
            rng.integers(0, 3, (4, n)),
        ],
    ),
    "bound": (
        bound,
        lambda rng, n: [
            *(*_set(rng, min(n, 6)), rng.random(min(n, 6)), rng.normal(size=(min(n, 6), levels.RANK))),
            *(40, np.zeros((0, levels.COLUMNS))),
        ],
    ),
    "nested": (
        nested,
        lambda rng, n: [
            *(masses(rng, min(n, 6)), rng.normal(size=min(n, 6))),
            *(rng.random((2, min(n, 6))) < 0.3, rng.random((2, min(n, 6))) < 0.6),
        ],
    ),
}


def _unaligned(array: Any) -> Any:
    room = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
    room[...] = array.ravel()
    return room.reshape(array.shape)


def _frozen(array: Any) -> Any:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _with_gaps(array: Any) -> Any:
    return np.repeat(array, 2, axis=-1)[..., ::2]


def _odd_numbers(array: Any, rng: Draw) -> Any:
    odd = array.copy()
    if odd.dtype.kind == "f":
        values: list[Any] = [np.nan, np.inf, -np.inf, 0.0, 1e300, -1.0]
    elif odd.dtype.kind in "iu":
        info = np.iinfo(odd.dtype)
        values = [info.min, info.max, 0, info.max // 2]
    else:
        return odd
    odd.ravel()[rng.integers(0, max(odd.size, 1))] = values[rng.integers(len(values))] if odd.size else 0
    return odd


CHANGES: list[Callable[[Any, Draw], Any]] = [
    lambda a, rng: a[:-1],
    lambda a, rng: a[:0],
    lambda a, rng: np.concatenate([a, a]),
    lambda a, rng: a[None],
    lambda a, rng: a.T,
    lambda a, rng: a[..., ::-1],
    lambda a, rng: np.asfortranarray(a),
    lambda a, rng: a.astype(rng.choice([np.float32, np.int32, np.int8, np.uint64, np.complex128, np.bool_])),
    lambda a, rng: a.astype(a.dtype.newbyteorder()),
    lambda a, rng: a.astype(object),
    lambda a, rng: a.tolist(),
    lambda a, rng: None,
    lambda a, rng: _unaligned(a),
    lambda a, rng: _frozen(a),
    lambda a, rng: _with_gaps(a),
    _odd_numbers,
    _odd_numbers,
]


def changed(value: Any, rng: Draw) -> Any:
    """What a careless caller might pass instead."""
    if isinstance(value, np.ndarray):
        return CHANGES[rng.integers(len(CHANGES))](value, rng)
    if isinstance(value, bytes):
        return value[: rng.integers(len(value))]
    if isinstance(value, float):
        return [np.nan, np.inf, -1.0, 0.0, 1e300, 2][rng.integers(6)]
    return [-1, 0, 1, value + 1, 63, 2**40, 2**63, 1.5, None][rng.integers(9)]


def bits(value: Any) -> bytes:
    """All numbers of a result."""
    if isinstance(value, np.ndarray | memoryview):
        return bytes(np.ascontiguousarray(value))
    if isinstance(value, list | tuple):
        return b"".join(map(bits, value))
    return bits(list(vars(value).values())) if hasattr(value, "__dict__") else repr(value).encode()


def main() -> None:
    library.LIBRARY = Path(sys.argv[1])
    rounds, rng = int(sys.argv[2]), np.random.default_rng(int(sys.argv[3]))
    done: Counter[str] = Counter()
    results = sha256()
    with np.errstate(all="ignore"):
        for k in range(rounds):
            for name, (function, arguments) in CASES.items():
                given = arguments(rng, int(rng.choice([2, 3, 5, 8, 40])))
                for _ in range(k % 3):
                    place = rng.integers(len(given))
                    try:
                        given[place] = changed(given[place], rng)
                    except REFUSED:
                        continue
                try:
                    result = function(*given)
                    if k % 3 == 0:
                        results.update(bits([result, *given]))
                    done[f"{name}: done"] += 1
                except REFUSED as error:
                    if k % 3 == 0:
                        raise SystemExit(f"{name} refused what is as it should be: {error!r}") from error
                    done[f"{name}: refused"] += 1
    for line in sorted(done):
        print(line, done[line])
    print(results.hexdigest())


if __name__ == "__main__":
    main()
