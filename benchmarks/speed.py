"""Whether a commit is as fast as an earlier one: cases of every benchmark, in both by turns, in processor time.

    python benchmarks/speed.py [--base REV or FOLDER] [--only WORD ...] [--turns 7]

Each commit has a process of its own, both on one core. A case is prepared and run once in both, then they take turns;
what is compared are the medians. Short calls are repeated within a turn. What a commit does not know is listed. Exit
status 1 if the geometric mean of the ratios is above 1.02 or one of them above 1.10.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from same import KEY, ROOT, built, priors, purposes, sets

LEAST = 0.05  # seconds of processor time that a turn takes at least
MEAN, WORST = 1.02, 1.10
Case = tuple[str, Callable[[], Any], Callable[[Any], Any]]  # name; what is prepared; what is timed, with that


def designing(ex: Any) -> Iterator[Case]:
    """Of every kind of purpose and lift set, small and large."""

    def case(name: str, around: Any, epsilon: float, *utility: Any, **options: Any) -> Case:
        return name, lambda: around, lambda prior: ex.design(prior, epsilon, *utility, **options)

    zipf, information = (lambda n: priors(ex, n)["zipf"]), ex.mutual_information
    for n in (3, 5, 8, 12, 18, 30, 60, 100, 300):
        for epsilon in (0.5, 2.0):
            yield case(f"shares {n} {epsilon}", zipf(n), epsilon)
    for n, family in ((8, "dirichlet"), (12, "two levels"), (13, "uniform"), (40, "counts")):
        yield case(f"shares {n} {family}", priors(ex, n)[family], 1.0)
    for n in (10, 16, 24, 30, 64, 100, 300, 1000, 4096):
        for epsilon in (0.5, 2.0):
            yield case(f"information {n} {epsilon}", zipf(n), epsilon, information)
    for n in (6, 12, 24):
        for name in ("relative", "mean", "groups", "chi", "variation", "gain")[: 6 if n <= 12 else 5]:
            yield case(f"{name} {n}", priors(ex, n)["dirichlet"], 1.0, purposes(ex, n)[name])
    for n in (5, 12):
        for kind, around in sets(ex, zipf(n)).items():
            yield case(f"information {n} {kind}", around, 1.0, information)
            yield case(f"shares {n} {kind}", around, 1.0)
    yield case("information 30 ball", sets(ex, zipf(30))["ball"], 0.5, information)
    yield case("information 30 at least", sets(ex, zipf(30))["at least"], 0.5, information)
    yield case("shares 30 ball", sets(ex, zipf(30))["ball"], 0.5)
    for notion in (ex.LDP, ex.LIP, ex.MaximalLeakage):
        yield case(f"information 10 {notion}", zipf(10), 1.0, information, notion=notion)
    yield "curve 12", lambda: zipf(12), lambda prior: ex.tradeoff(prior, [0.2, 0.5, 1.0])
    yield "samples 6", lambda: zipf(6), lambda prior: ex.sample_tradeoff(prior, 1.0, [100, 1000])
    yield "comparison 6", lambda: zipf(6), lambda prior: ex.compare(prior, 1.0)
    yield "fewer reports 12", lambda: ex.design(zipf(12), 1.0), lambda found: ex.fewer_reports(found, 16)
    yield "arcs 300", lambda: zipf(300), lambda prior: ex.theory.closed_form.arc(prior, 1.0)
    yield "vertices 12", lambda: zipf(12), lambda prior: ex.theory.extremal_lift_vectors(prior, 1.0)


def proving(ex: Any) -> Iterator[Case]:
    """The check, the certificate, its file and its audit."""
    zipf, information = (lambda n: priors(ex, n)["zipf"]), (ex.mutual_information,)

    def file(found: Any) -> Path:
        path = Path(tempfile.mkdtemp()) / "mechanism.json"
        ex.certify(found).save(path)
        return path

    for name, around, utility in (
        *((f"shares {n}", zipf(n), ()) for n in (3, 12, 60)),
        *((f"information {n}", zipf(n), information) for n in (12, 100)),
        ("shares 12 ball", sets(ex, zipf(12))["ball"], ()),
        ("information 12 ball", sets(ex, zipf(12))["ball"], information),
        ("blocks 20000", zipf(20_000), information),
    ):
        make = partial(ex.design, around, 1.0, *utility)
        yield f"check {name}", make, ex.check_design
        yield f"certify {name}", make, ex.certify
        yield f"load {name}", lambda make=make: file(make()), ex.load
        yield f"audit {name}", lambda make=make: ex.certify(make()), lambda found: ex.audit(found).epsilon
    prior, repeat = zipf(5), ex.composition.repeat_release
    yield (
        "composition 5",
        lambda: ex.theory.randomized_response_for_pml(prior, 0.5),
        lambda m: repeat(prior, m, 3),
    )
    large = zipf(1000)
    response = ex.theory.randomized_response_for_pml(large, 1.0)
    yield "certify 1000 x 1000", lambda: response, lambda response: ex.certify(large, response, 1.0)


def releasing(ex: Any) -> Iterator[Case]:
    """Arrays and files, drawn by chance and with a key; lists."""
    rng, words = np.random.default_rng(1), [f"answer number {i}" for i in range(16)]

    def certified(answers: Any) -> Any:
        prior = ex.Prior.uniform(answers)
        return ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 1.0), 1.0)

    def keyed(ids: Any) -> dict[str, Any]:
        return {"keyed": ex.Keyed(KEY, ids)} if hasattr(ex, "Keyed") else {"key": KEY, "ids": ids}

    ids = np.arange(10**6)
    for k in (16, 256, 1000):
        codes, make = rng.integers(0, k, len(ids)).astype(np.uint16), partial(certified, k)
        yield f"codes {k}", make, lambda c, x=codes: c.privatize_codes(x)
        yield f"values {k}", make, lambda c, x=codes: c.privatize(x)
        yield f"keyed {k}", make, lambda c, x=codes: c.privatize(x, column="answer", **keyed(ids))
    column, make = np.array(words)[rng.integers(0, 16, len(ids))], partial(certified, words)
    few, names = column[:100_000].tolist(), [f"person {i}" for i in range(100_000)]
    yield "strings", make, lambda c: c.privatize(column)
    yield "keyed strings", make, lambda c: c.privatize(few, column="answer", **keyed(names))
    for suffix in ("csv", "parquet"):
        for kind, how in (("by chance", {}), ("keyed", keyed("id"))):
            yield f"{suffix} {kind}", make, partial(_file, ex, how, _table(words, suffix))
    answers = rng.integers(0, 22_000, 100_000)
    make = partial(ex.large.windows, 22_000, 3.0)
    yield "list", lambda: None, lambda _: make()
    yield "list privatize", make, lambda w: w.privatize(answers)
    drawn = lambda w: (w, w.privatize(answers, source=ex.randomness.SeededWords(1)))  # noqa: E731
    yield "list estimate", lambda: drawn(make()), lambda both: ex.large.estimate(*both)


def _table(words: list[str], suffix: str) -> Path:
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng, rows, path = np.random.default_rng(2), 300_000, Path(tempfile.mkdtemp()) / f"source.{suffix}"
    answers = pa.array(words).take(pa.array(rng.integers(0, 16, rows)))
    table = pa.table({"id": np.arange(rows), "answer": answers, "weight": rng.random(rows)})
    (csv.write_csv if suffix == "csv" else parquet.write_table)(table, path)
    return path


def _file(ex: Any, how: dict[str, Any], source: Path, certified: Any) -> None:
    target = source.with_name(f"target{source.suffix}")
    ex.privatize(source, target=target, mechanisms={"answer": certified}, overwrite=True, **how)


def estimating(ex: Any) -> Iterator[Case]:
    """Counts, raw reports, intervals, regression and plans."""
    rng = np.random.default_rng(3)
    for n in (8, 16, 50, 200):
        prior = ex.Prior(rng.dirichlet(np.full(n, 2.0)))
        mechanisms = {
            "response": ex.theory.randomized_response_for_pml(prior, 1.0),
            "random": ex.Mechanism(rng.dirichlet(np.ones(n), size=n)),
            "information": ex.design(prior, 1.0, ex.mutual_information).mechanism,
        }
        for kind, mechanism in mechanisms.items():
            q = prior.probabilities @ mechanism.matrix
            counts = rng.multinomial(10**6, q / q.sum())
            raw = rng.permutation(np.repeat(np.array(mechanism.outputs), counts))
            given = dict(zip(mechanism.outputs, counts.tolist(), strict=True))
            make = lambda m=mechanism: m  # noqa: E731
            yield f"raw {kind} {n}", make, lambda m, x=raw: ex.estimate(m, x)
            yield f"counts {kind} {n}", make, lambda m, x=given: ex.estimate(m, x).lower
            if n <= 16:
                yield (
                    f"intervals {kind} {n}",
                    make,
                    lambda m, x=given: ex.estimate(m, x, intervals="all").upper,
                )
    rows, answers, names = 50_000, 7, [f"x{k}" for k in range(5)]
    make = lambda: ex.certify(ex.design(ex.Prior.uniform(answers), 1.5))  # noqa: E731
    reports = np.asarray(
        make().privatize(rng.integers(0, answers, rows), source=ex.randomness.SeededWords(1))
    )
    data = dict(zip(names, rng.standard_normal((5, rows)), strict=True)) | {"y": reports}
    groups = np.array(["a", "b", "c", "d"])[rng.integers(0, 4, rows)]
    yield "regress", make, lambda c: ex.regress(c, "y ~ " + " + ".join(names), data)
    yield "by groups", make, lambda c: ex.estimate(c, reports, by=groups)
    yield "plan", lambda: priors(ex, 6)["zipf"], lambda prior: ex.plan(prior, epsilon=1.0, width=0.04)


def starting(ex: Any) -> Iterator[Case]:
    """New processes."""
    design = (
        "import extremal as ex; ex.design(ex.Prior.from_counts(range(1, 26)), 1.0, ex.mutual_information)"
    )
    for name, arguments in (
        ("import", ["-c", "import extremal"]),
        ("first design", ["-c", design]),
        ("help", ["-m", "extremal", "--help"]),
        ("command", ["-m", "extremal", "design", "--prior", "0.5,0.3,0.2", "--epsilon", "1"]),
    ):
        command = [sys.executable, *arguments]
        yield name, lambda c=command: c, lambda c: subprocess.run(c, capture_output=True, check=True)


PARTS = {
    "design": designing,
    "prove": proving,
    "release": releasing,
    "estimate": estimating,
    "start": starting,
}


def serve() -> None:
    """The process of one commit: the name of a case prepares it, an empty line is a turn."""
    import extremal as ex

    replies, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    known = {f"{part}: {name}": rest for part, each in PARTS.items() for name, *rest in each(ex)}
    print(json.dumps(list(known)), file=replies, flush=True)
    call: Callable[[], Any] = int
    for line in sys.stdin:
        try:
            if name := line.strip():
                prepare, timed = known[name]
                call = partial(timed, prepare())
                call()
            reply = "" if name else _turn(call)
        except Exception as error:
            reply = f"{type(error).__name__}: {error}"[:120]
        print(json.dumps(reply), file=replies, flush=True)


def _turn(call: Callable[[], Any]) -> float:
    """Seconds of processor time of one call, those of processes that it starts included."""
    gc.collect()
    begin, calls = _spent(), 0
    while calls == 0 or _spent() - begin < LEAST:
        call()
        calls += 1
    return (_spent() - begin) / calls


def _spent() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


class Commit:
    """A process that runs the library of one source tree."""

    def __init__(self, source: Path, folder: str) -> None:
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        environment = {
            **os.environ,
            "PYTHONPATH": str(source / "src"),
            "OPENBLAS_NUM_THREADS": "1",
            "TMPDIR": folder,
        }
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"], env=environment, text=True, **pipes
        )
        self.cases = self.heard()

    def heard(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def ask(self, name: str = "") -> Any:
        """Why the case cannot be run, "" if it can; without a name the seconds of a turn."""
        assert self.process.stdin
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return self.heard()


def compare(base: Path, words: list[str], turns: int, folder: str) -> int:
    """Print the median milliseconds of both for every case, and their ratios together."""
    commits = Commit(base, folder), Commit(ROOT, folder)
    ratios: dict[str, float] = {}
    for name in dict.fromkeys(name for commit in commits for name in commit.cases):
        if words and not any(word in name for word in words):
            continue
        if unknown := [reply for commit in commits if (reply := commit.ask(name))]:
            print(f"{name:<36} left out: {'; '.join(unknown)}", flush=True)
            continue
        seconds = [[commit.ask() for commit in commits] for _ in range(turns)]
        before, now = (statistics.median(column) for column in zip(*seconds, strict=True))
        ratios[name] = now / before
        mark = "!" if ratios[name] > WORST else ""
        print(f"{name:<36} {1e3 * before:11.3f} {1e3 * now:11.3f} {ratios[name]:7.3f} {mark}", flush=True)
    for commit in commits:
        commit.process.terminate()
    mean, worst = statistics.geometric_mean(ratios.values()), max(ratios, key=lambda name: ratios[name])
    print(f"{len(ratios)} cases: geometric mean {mean:.3f}, worst {ratios[worst]:.3f} ({worst})")
    return int(mean > MEAN or ratios[worst] > WORST)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", default="HEAD^", help="a commit, or a folder with one, compiled")
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", default=[], help="cases with one of these in their names"
    )
    parser.add_argument("--turns", type=int, default=7, help="of each commit (default: %(default)s)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    here = Path(options.base).is_dir()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.nullcontext(Path(options.base)) if here else built(options.base) as base,
    ):
        return compare(base, options.only, options.turns, folder)


if __name__ == "__main__":
    raise SystemExit(main())
