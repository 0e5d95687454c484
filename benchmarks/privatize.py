"""Records a second of privatising, beside its peers, in one run: python benchmarks/run.py --only privatize

Every figure is the best of several runs of the same call, after one that compiles: the machine may be shared, and
what is asked is what the code can do. What is compared in one process is run by turns. Targets are for 10^7 records,
which no cache holds; fewer favour numpy.
Peers, on the same 16 symbols:

- randomized response in vectorised numpy with its default generator, which is not secure;
- the client of multi-freq-ldpy, called record by record, as it is made to be, and in a compiled loop around it;
- OpenDP's randomized response, record by record, as it is made to be; its randomness is secure, as ours is.

A peer that is not installed, or fails, is listed as such: pip install -e ".[bench]" installs them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from report import Report, Table, Timed, best, isolated

import extremal as ex
from extremal.certification.certified import Certified
from extremal.certification.certify import certify
from extremal.draw.sampler import SecureWords

RECORDS = {"tiny": 100_000, "quick": 2_000_000, "normal": 10_000_000, "full": 10_000_000}
RUNS = {"tiny": 1, "quick": 5, "normal": 5, "full": 9}
EPSILON = 1.0
LIMIT = 120.0  # seconds, of a peer's process

SPEED = {16: 250, 256: 150, 1000: 100}  # targets: million records a second
OVER_NUMPY, OVER_CLIENT = 5, 50  # targets: times as fast as the peer
STRINGS = 2.0  # target: a column of strings takes at most so many times as long as codes
SECONDS = 10.0  # target: certify at N = M = 1000

COLUMNS = {"case": "<46", "million/s": "9.2f", "ns/record": "10.2f", "codes are": ">10", "note": "<30"}
Answer = dict[str, float]


def run(report: Report) -> None:
    codes = arrays(report)
    peers(report, codes)
    columns(report)
    certifying(report)


def arrays(report: Report) -> float:
    """Codes of several alphabets, and numpy on the same ones; returns records a second at k = 16."""
    count, runs = RECORDS[report.level], RUNS[report.level]
    table = report.table(f"{count} codes, randomized response of PML {EPSILON:g}", COLUMNS, f"best of {runs}")
    rates = {}
    for k, target in SPEED.items():
        c, codes = _mechanism(k), _codes(k, count, report.seed)
        ours, numpys = _by_turns(
            lambda c=c, codes=codes: c.privatize_codes(codes),
            lambda k=k, codes=codes: _numpy_response(codes, k, report.seed),
            runs,
        )
        rates[k] = count / ours.seconds
        what = f"codes, k = {k}"
        met = report.check(
            f"{what}: at least {target} million records/s, got {rates[k] / 1e6:.0f}", rates[k] >= target * 1e6
        )
        _row(table, what, rates[k], None, ok=met)
        ratio, met = numpys.seconds / ours.seconds, None
        if k == 16:
            met = report.check(
                f"codes, k = 16: at least {OVER_NUMPY} x numpy, got {ratio:.1f} x", ratio >= OVER_NUMPY
            )
        _row(
            table, f"numpy randomized response, k = {k}", count / numpys.seconds, ratio, "not secure", ok=met
        )
    words = np.empty(min(count, 1 << 22), dtype=np.uint64)
    alone = len(words) / _best(lambda: SecureWords().stream(len(words))(0, words), runs)
    _row(table, "the secure words alone, one thread", alone, rates[16] / alone)
    return rates[16]


def peers(report: Report, codes: float) -> None:
    """Libraries made for this, each in a process of its own."""
    table = report.table(
        "Peers: randomized response on 16 symbols, record by record",
        COLUMNS,
        f"fewer records, each peer in a process of its own, at most {LIMIT:g} s",
    )
    few = {"tiny": 500, "quick": 20_000}.get(report.level, 50_000)
    for name, function, count, note in (
        ("multi-freq-ldpy client", multi_freq_client, few, "not secure"),
        ("multi-freq-ldpy client in a compiled loop", multi_freq_loop, 10 * few, "not secure"),
        ("OpenDP make_randomized_response", opendp_response, few // 10, "secure"),
    ):
        done = isolated("privatize", function.__name__, {"count": count, "seed": report.seed}, LIMIT)
        if done.status != "ok":
            table.row(name, None, None, None, done.status)
            continue
        rate = count / done.result["seconds"]
        ratio, met = codes / rate, None
        if function is multi_freq_client:
            met = report.check(
                f"codes, k = 16: at least {OVER_CLIENT} x {name}, got {ratio:.0f} x", ratio >= OVER_CLIENT
            )
        _row(table, name, rate, ratio, note, ok=met)


def columns(report: Report) -> None:
    """Columns of labels: what the way from values to codes and back adds."""
    count, runs = RECORDS[report.level], RUNS[report.level]
    table = report.table(
        f"{count} labels in a column, k = 16",
        COLUMNS,
        f"best of {runs}; target: within {STRINGS:g} x of codes",
    )
    labels = [f"answer number {i}" for i in range(16)]
    numbers = _codes(16, count, report.seed)
    text, plain = _mechanism(16, labels), _mechanism(16)

    def plain_codes() -> Any:
        return text.privatize_codes(numbers)

    for name, build in _strings(labels).items():
        column = build(numbers)
        codes, labelled = _by_turns(plain_codes, lambda column=column: text.privatize(column), runs)
        clock, cpu = labelled.seconds / codes.seconds, labelled.cpu / codes.cpu
        what = f"{name}: within {STRINGS:g} x of codes, got {clock:.2f} x, cpu {cpu:.2f} x"
        met = report.check(what, min(clock, cpu) <= STRINGS)  # of a busy machine the clock says little
        _row(table, name, count / labelled.seconds, clock, f"cpu {cpu:.1f} x", ok=met)
    strings = _strings(labels)["arrow dictionary of strings"](numbers).dictionary_decode()
    some = [labels[i] for i in numbers[: count // 10].tolist()]
    integers, ids = numbers.astype(np.int64), np.arange(count)
    others: dict[str, tuple[int, Callable[[], Any]]] = {
        "arrow strings": (count, lambda: text.privatize(strings)),
        "numpy int64 labels": (count, lambda: plain.privatize(integers)),
        "list of strings": (len(some), lambda: text.privatize(some)),
        "codes, keyed, integer ids": (
            count,
            lambda: text.privatize_codes(numbers, keyed=ex.Keyed(bytes(range(32)), ids), column="answer"),
        ),
    }
    for name, (size, call) in others.items():
        codes, other = _by_turns(plain_codes, call, min(runs, 3))
        scale = count / size
        clock, cpu = scale * other.seconds / codes.seconds, scale * other.cpu / codes.cpu
        _row(table, name, size / other.seconds, clock, f"cpu {cpu:.1f} x")


def certifying(report: Report) -> None:
    """Seconds from a matrix to a proof, and from there to tables."""
    n = 100 if report.level == "tiny" else 1000
    rng = np.random.default_rng(report.seed + 1)
    prior, uniform = ex.Prior.from_counts(rng.dirichlet(np.ones(n))), ex.Prior.uniform(n)
    # `certify` refuses cells far below their column's average, which matrices of Dirichlet rows alone have.
    dense = ex.Mechanism(0.99 * rng.dirichlet(np.full(n, 0.5), size=n) + 0.01 / n, prior.labels)
    cases = {
        "randomized response": (prior, ex.theory.randomized_response_for_pml(prior, 1.0), 1.0),
        "uniform optimum, 37% zeros": (uniform, ex.theory.closed_form.uniform(n, 1.0), 1.0),
        "random matrix at its own leakage": (prior, dense, ex.epsilon_pml(prior, dense)),
        f"arc, {n} x {2 * n}": (prior, ex.theory.closed_form.arc(prior, 1.0), 1.0),
    }
    table = report.table(
        f"certify, N = {n}", {"case": "<46", "seconds": "8.2f", "tables": "8.2f", "note": "<51"}, "best of 2"
    )
    for name, (p, m, epsilon) in cases.items():
        seconds, _, c = best(lambda p=p, m=m, epsilon=epsilon: certify(p, m, epsilon), 2)
        tables = best(lambda c=c: type(c.sampler)(c.weights, c.inputs, c.outputs, bytes(32)).entries, 2)
        met = report.check(
            f"certify N = {n}, {name}: within {SECONDS:g} s, got {seconds:.1f} s", seconds <= SECONDS
        )
        table.row(name, seconds, tables.seconds, c.method, ok=met)


def _best(call: Callable[[], Any], runs: int) -> float:
    """Seconds of the fastest of several runs, after one that compiles."""
    call()
    return best(call, runs, 20.0).seconds


def _by_turns(first: Callable[[], Any], second: Callable[[], Any], runs: int) -> tuple[Timed, Timed]:
    """The fastest of each, by turns: whatever else the machine does then slows down both alike."""
    first()
    second()
    pairs = [(best(first, 1), best(second, 1)) for _ in range(runs)]
    return _least([one for one, _ in pairs]), _least([other for _, other in pairs])


def _least(runs: list[Timed]) -> Timed:
    return Timed(min(run.seconds for run in runs), min(run.cpu for run in runs), None)


def _row(
    table: Table, name: str, rate: float, ratio: float | None, note: str = "", ok: bool | None = None
) -> None:
    table.row(name, rate / 1e6, 1e9 / rate, None if ratio is None else f"{ratio:.1f} x", note, ok=ok)


def _mechanism(k: int, labels: list[str] | None = None) -> Certified:
    prior = ex.Prior.uniform(labels or k)
    return certify(prior, ex.theory.randomized_response_for_pml(prior, EPSILON), EPSILON)


def _codes(k: int, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, k, count, dtype=np.uint8 if k <= 256 else np.uint16)


def _truth(k: int) -> float:
    """How often the peers tell the truth."""
    return math.exp(EPSILON) / (math.exp(EPSILON) + k - 1)


def _numpy_response(codes: np.ndarray, k: int, seed: int) -> np.ndarray:
    """The truth with probability p, else one of the k - 1 others, evenly: two draws a record and no loop."""
    rng = np.random.default_rng(seed)
    lie = rng.random(len(codes)) >= _truth(k)
    shift = rng.integers(1, k, len(codes), dtype=codes.dtype)
    return np.where(lie, (codes.astype(np.uint32) + shift) % k, codes).astype(codes.dtype)


def _strings(labels: list[str]) -> dict[str, Callable[[np.ndarray], Any]]:
    """Columns of strings that are stored as numbers, from these numbers."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    def categories(dtype: Any) -> Callable[[np.ndarray], Any]:
        return lambda codes: pl.Series(labels, dtype=dtype).gather(codes.astype(np.uint32))

    return {
        "arrow dictionary of strings": lambda codes: pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int32)), pa.array(labels)
        ),
        "pandas categorical": lambda codes: pd.Series(
            pd.Categorical.from_codes(codes.astype(np.int8), labels)
        ),
        "polars Categorical": categories(pl.Categorical),
        "polars Enum": categories(pl.Enum(labels)),
    }


# What follows is called by name in processes of its own.


def multi_freq_client(count: int, seed: int) -> Answer:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    values = _codes(16, count, seed).tolist()
    return {"seconds": _best(lambda: [GRR_Client(value, 16, EPSILON) for value in values], 3)}


def multi_freq_loop(count: int, seed: int) -> Answer:
    import numba
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    @numba.njit
    def loop(codes: np.ndarray, k: int, epsilon: float) -> np.ndarray:
        out = np.empty_like(codes)
        for i in range(len(codes)):
            out[i] = GRR_Client(np.int64(codes[i]), k, epsilon)
        return out

    codes = _codes(16, count, seed)
    return {"seconds": _best(lambda: loop(codes, 16, EPSILON), 3)}


def opendp_response(count: int, seed: int) -> Answer:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measurement = dp.m.make_randomized_response(list(range(16)), prob=_truth(16))
    values = _codes(16, count, seed).tolist()
    return {"seconds": _best(lambda: [measurement(value) for value in values], 3)}
