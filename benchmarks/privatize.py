"""Records a second of privatising, beside its peers, in one run: python benchmarks/privatize.py [--json FILE]

Every figure is the best of several runs of the same call in this process: the machine may be shared, and what
is asked is what the code can do. Peers: randomized response in vectorised numpy with its default generator,
which is not secure, and the client of multi-freq-ldpy where it is installed (pip install --no-deps
multi-freq-ldpy), called record by record, as it is made to be, and in a compiled loop around it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import extremal as ex
from extremal.certify import certify
from extremal.sampling import SecureWords, cores

RECORDS = 10_000_000
EPSILON = 1.0


def best(call: Callable[[], Any], runs: int = 9) -> float:
    """Seconds of the fastest of several runs, after one that compiles."""
    call()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def numpy_randomized_response(codes: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """The truth with probability p, else one of the k - 1 others, evenly: two draws a record and no loop."""
    p = math.exp(EPSILON) / (math.exp(EPSILON) + k - 1)
    lie = rng.random(len(codes)) >= p
    shift = rng.integers(1, k, len(codes), dtype=codes.dtype if k <= np.iinfo(codes.dtype).max else np.uint32)
    return np.where(lie, (codes.astype(np.uint32) + shift) % k, codes).astype(codes.dtype)


def multi_freq_ldpy() -> tuple[Any, Any] | None:
    """The peer's client and a compiled loop that calls it, or None where it is not installed."""
    try:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    except ImportError:
        return None

    @numba.njit
    def loop(codes: np.ndarray, k: int, epsilon: float) -> np.ndarray:
        out = np.empty_like(codes)
        for i in range(len(codes)):
            out[i] = GRR_Client(np.int64(codes[i]), k, epsilon)
        return out

    return GRR_Client, loop


def mechanism(k: int, labels: list[str] | None = None) -> Any:
    prior = ex.Prior.uniform(labels or k)
    return certify(prior, ex.randomized_response_for_pml(prior, EPSILON), EPSILON)


def arrays() -> Iterator[tuple[str, float]]:
    """(case, records a second)."""
    rng = np.random.default_rng(0)
    for k, dtype in ((16, np.uint8), (256, np.uint8), (1000, np.uint16)):
        c, codes = mechanism(k), rng.integers(0, k, RECORDS).astype(dtype)
        yield f"codes, k = {k}", RECORDS / best(lambda c=c, codes=codes: c.privatize_codes(codes))
        peer = best(lambda k=k, codes=codes: numpy_randomized_response(codes, k, rng), 3)
        yield f"numpy randomized response, k = {k}", RECORDS / peer
    codes = rng.integers(0, 16, RECORDS).astype(np.uint8)
    found = multi_freq_ldpy()
    if found:
        client, loop = found
        part = codes[: RECORDS // 50]
        yield (
            "multi-freq-ldpy client in a compiled loop, k = 16",
            len(part) / best(lambda: loop(part, 16, EPSILON), 3),
        )
        values = part[: len(part) // 4].tolist()
        seconds = best(lambda: [client(value, 16, EPSILON) for value in values], 3)
        yield "multi-freq-ldpy client, k = 16", len(values) / seconds

    labels = [f"answer number {i}" for i in range(16)]
    c = mechanism(16, labels)
    columns = {
        "arrow dictionary of strings": pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int32)), pa.array(labels)
        ),
        "pandas categorical": pd.Series(pd.Categorical.from_codes(codes.astype(np.int8), labels)),
        "polars Enum": pl.Series(labels, dtype=pl.Enum(labels)).gather(codes.astype(np.uint32)),
        "polars Categorical": pl.Series(labels, dtype=pl.Categorical).gather(codes.astype(np.uint32)),
    }
    for name, column in columns.items():
        yield f"{name}, k = 16", RECORDS / best(lambda column=column: c.privatize(column))
    strings = columns["arrow dictionary of strings"].cast(pa.string())
    yield "arrow strings, k = 16", RECORDS / best(lambda: c.privatize(strings), 3)
    numbers = mechanism(16)
    integers = codes.astype(np.int64)
    yield "numpy int64 labels, k = 16", RECORDS / best(lambda: numbers.privatize(integers))
    some = [labels[i] for i in codes[: RECORDS // 10].tolist()]
    yield "list of strings, k = 16", len(some) / best(lambda: c.privatize(some), 3)
    key, ids = bytes(32), np.arange(RECORDS)
    yield (
        "keyed codes, integer ids, k = 16",
        RECORDS / best(lambda: c.privatize_codes(codes, key=key, ids=ids), 3),
    )
    out = np.empty(1 << 22, dtype=np.uint64)
    yield "secure words alone, one thread", len(out) / best(lambda: SecureWords().stream(len(out))(0, out))


def certifying() -> Iterator[tuple[str, float]]:
    """(case, seconds) of certify at N = M = 1000, tables included."""
    n = 1000
    rng = np.random.default_rng(1)
    prior = ex.Prior.from_counts(rng.dirichlet(np.ones(n)))
    uniform = ex.Prior.uniform(n)
    P = rng.dirichlet(np.full(n, 0.5), size=n)
    dense = ex.Mechanism(P, prior.labels)
    cases = {
        "randomized response": (prior, ex.randomized_response_for_pml(prior, 1.0), 1.0),
        "uniform optimum, 37% zeros": (uniform, ex.closed_form.uniform(n, 1.0), 1.0),
        "arc, 1000 x 2000": (prior, ex.closed_form.arc(prior, 1.0), 1.0),
        "random matrix at its own leakage": (prior, dense, ex.epsilon_pml(prior, dense)),
    }
    for name, (p, m, epsilon) in cases.items():
        yield f"certify N = 1000, {name}", best(lambda p=p, m=m, epsilon=epsilon: certify(p, m, epsilon), 2)
    c = certify(*cases["randomized response"])
    yield (
        "tables, 1000 x 1000",
        best(lambda: type(c.sampler)(c.weights, c.inputs, c.outputs, bytes(32)).entries, 3),
    )


TARGETS = {"codes, k = 16": 250e6, "codes, k = 256": 150e6, "codes, k = 1000": 100e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", metavar="FILE", help="also write the figures to this file")
    options = parser.parse_args()
    print(f"{platform.machine()}, {cores()} cores, load {os.getloadavg()[0]:.1f} at the start")
    print(f"\n{'million records/s':>18}  {'ns/record':>9}")
    speed = {}
    for name, rate in arrays():
        speed[name] = rate
        target = TARGETS.get(name)
        verdict = (
            "" if target is None else f"   target {target / 1e6:.0f}: {'ok' if rate >= target else 'MISSED'}"
        )
        print(f"{rate / 1e6:18.1f}  {1e9 / rate:9.2f}  {name}{verdict}", flush=True)
    print("\nratios")
    codes = speed["codes, k = 16"]
    ratios = {f"codes / {name}": codes / rate for name, rate in speed.items() if name != "codes, k = 16"}
    for k in (256, 1000):
        ratios[f"codes / numpy randomized response, k = {k}"] = (
            speed[f"codes, k = {k}"] / speed[f"numpy randomized response, k = {k}"]
        )
    for name, ratio in ratios.items():
        print(f"{ratio:10.2f}  {name}")
    print("\nseconds")
    seconds = dict(certifying())
    for name, value in seconds.items():
        print(f"{value:10.3f}  {name}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"records_per_second": speed, "ratios": ratios, "seconds": seconds}, file, indent=2)


if __name__ == "__main__":
    main()
