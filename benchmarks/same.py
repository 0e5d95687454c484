"""Whether a commit gives what its parent gave: both run over one corpus on this machine, and every bit is compared.

    python benchmarks/same.py [--base REV] [--part designs certified draws estimates interface] [--few]
    python benchmarks/same.py --set NAME=NUMBER ...

Designs, certified files, keyed draws and estimates must be the same to the last bit. Where a design differs, its value
and bound are shown beside the old ones, and whether `check_design` proves it. Public signatures and help texts are
compared too; their differences are listed and are no fault. Exit status 1 if a bit differs. With `--set` this
tree is compared with itself, constants of `optimization/tuning.py` changed: one that nothing here tells from a rounder
number is to be that number.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import inspect
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
PARTS = ("designs", "certified", "draws", "estimates", "interface")
COMMANDS = "design certify privatize estimate regress plan audit survey tradeoff reproduce explore demo key"
KEY = bytes(range(32))
Found = dict[str, Any]
Case = tuple[str, Callable[[], Found]]


def priors(ex: Any, n: int) -> dict[str, Any]:
    """Priors of many shapes: steep, flat, with equal masses, with tiny ones, counts."""
    rng = np.random.default_rng((2026, n))
    ranks = np.arange(1, n + 1)
    masses = {
        "zipf": 1 / ranks,
        "zipf 1.5": ranks**-1.5,
        "uniform": np.ones(n),
        "geometric": 0.8 ** np.minimum(ranks, 100),
        "dirichlet": rng.dirichlet(np.ones(n)),
        "two levels": np.where(ranks <= (n + 1) // 2, 2.0, 1.0),
        "tiny tail": np.where(ranks <= (n + 1) // 2, 1.0, 1e-6),
        "counts": np.sort(rng.multinomial(10 * n, rng.dirichlet(np.full(n, 2.0))) + 1.0)[::-1],
    }
    return {name: ex.Prior.from_counts(np.asarray(weights, dtype=float)) for name, weights in masses.items()}


def sets(ex: Any, prior: Any) -> dict[str, Any]:
    """Sets around a prior."""
    pi = prior.probabilities
    return {
        "ball": ex.PriorSet.l1_ball(prior, 0.1),
        "intervals": ex.PriorSet.intervals(0.8 * pi, np.minimum(1.2 * pi, 1.0), nominal=prior),
        "at least": ex.PriorSet.at_least(prior, 0.0),
        "sample": ex.PriorSet.from_counts(np.round(1000 * pi).astype(int) + 1),
    }


def purposes(ex: Any, n: int) -> dict[str, Any]:
    """What designs are for."""
    half = max(n // 2, 1)
    return {
        "shares": ex.shares,
        "relative": ex.shares.relative,
        "mean": ex.mean(list(range(n))),
        "groups": ex.groups({"first": list(range(half)), "rest": list(range(half, n))}),
        "information": ex.mutual_information,
        "chi": ex.utilities.chi_squared,
        "variation": ex.utilities.total_variation,
        "gain": ex.ExpectedGain(np.random.default_rng(n).random((3, n))),
    }


def design_cases(ex: Any, few: bool) -> Iterator[Case]:
    """About 400 designs: sizes 2 to 300, families, levels, purposes, sets, notions and tolerances."""

    def case(*arguments: Any, **options: Any) -> Callable[[], Found]:
        return lambda: _designed(ex, ex.design(*arguments, **options))

    for n in (2, 3, 5, 8) if few else (2, 3, 4, 5, 6, 8, 12):
        for (family, prior), epsilon in itertools.product(priors(ex, n).items(), (0.1, 0.7, 2.0)):
            names = ("shares", "information") if n < 12 else ("shares",)
            for name in names:
                yield f"{n} {family} {epsilon} {name}", case(prior, epsilon, purposes(ex, n)[name])
    for n in (4,) if few else (4, 7, 11):
        prior = priors(ex, n)["zipf"]
        for (name, purpose), epsilon in itertools.product(purposes(ex, n).items(), (0.3, 1.5)):
            yield f"{n} zipf {epsilon} {name}", case(prior, epsilon, purpose)
        for notion in ("LDP", "LIP", "MaximalLeakage"):
            yield (
                f"{n} zipf 0.7 {notion}",
                case(prior, 0.7, ex.mutual_information, notion=getattr(ex, notion)),
            )
    for n in (3,) if few else (2, 3, 6, 9):
        for (kind, around), epsilon in itertools.product(sets(ex, priors(ex, n)["zipf"]).items(), (0.3, 1.5)):
            for name in ("shares", "information", "mean"):
                yield f"{n} {kind} {epsilon} {name}", case(around, epsilon, purposes(ex, n)[name])
    if few:
        return
    for n in (18, 24, 40, 64):
        for family in ("zipf", "dirichlet", "counts", "two levels"):
            for epsilon in (0.5, 1.5):
                yield f"{n} {family} {epsilon} shares", case(priors(ex, n)[family], epsilon)
                information = ex.mutual_information
                yield f"{n} {family} {epsilon} information", case(priors(ex, n)[family], epsilon, information)
    for n in (100, 300):
        for epsilon in (0.5, 1.5):
            yield f"{n} zipf {epsilon} shares", case(priors(ex, n)["zipf"], epsilon)
            yield (
                f"{n} zipf {epsilon} information",
                case(priors(ex, n)["zipf"], epsilon, ex.mutual_information),
            )
    for n in (12, 16):
        for kind, around in sets(ex, priors(ex, n)["zipf"]).items():
            yield f"{n} {kind} 1.0 information", case(around, 1.0, ex.mutual_information)
    for kind, around in sets(ex, priors(ex, 12)["zipf"]).items():
        yield f"12 {kind} 1.0 shares", case(around, 1.0)
    yield "30 ball 1.0 shares", case(ex.PriorSet.l1_ball(priors(ex, 30)["zipf"], 0.1), 1.0)
    yield (
        "30 ball 1.0 information",
        case(ex.PriorSet.l1_ball(priors(ex, 30)["zipf"], 0.1), 1.0, ex.mutual_information),
    )
    for tolerance in (0.1, 1e-5):
        yield (
            f"10 dirichlet 1.0 shares {tolerance}",
            case(priors(ex, 10)["dirichlet"], 1.0, tolerance=tolerance),
        )
        yield (
            f"20 dirichlet 1.0 information {tolerance}",
            case(priors(ex, 20)["dirichlet"], 1.0, ex.mutual_information, tolerance=tolerance),
        )


def certified_cases(ex: Any, few: bool) -> Iterator[Case]:
    """About 60 certified files: their digests and weights."""
    for n in (3, 5) if few else (2, 3, 4, 5, 7, 9, 12):
        for (family, prior), epsilon in itertools.product(priors(ex, n).items(), (0.5,)):
            yield f"{n} {family} {epsilon}", lambda p=prior, e=epsilon: _certified(ex, p, e)
    for kind, around in sets(ex, priors(ex, 4)["zipf"]).items():
        yield f"4 {kind} 0.5", lambda s=around: _certified(ex, s, 0.5)


def draw_cases(ex: Any, few: bool) -> Iterator[Case]:
    """About 40 keyed draws."""
    for n in (3,) if few else (2, 3, 5, 9):
        certified = ex.certify(ex.design(priors(ex, n)["dirichlet"], 0.6))
        labels = certified.prior.labels
        answers = [labels[i % n] for i in range(500)]
        for occasion, kind in itertools.product((None, "second", 3), ("text", "number")):
            ids = [f"person {i}" for i in range(500)] if kind == "text" else list(range(500))
            yield (
                f"{n} {occasion} {kind}",
                lambda c=certified, a=answers, i=ids, o=occasion: {"bits": _digest(_drawn(ex, c, a, i, o))},
            )


def estimate_cases(ex: Any, few: bool) -> Iterator[Case]:
    """About 50 estimates."""
    for n in (3,) if few else (2, 3, 5, 8):
        for family, prior in priors(ex, n).items():
            mechanism = ex.design(prior, 0.8).mechanism
            rng = np.random.default_rng(n)
            counts = rng.multinomial(2000, prior.probabilities @ mechanism.matrix)
            reports = dict(zip(mechanism.outputs, counts.tolist(), strict=True))
            for kind in ("all", "each"):
                yield (
                    f"{n} {family} {kind}",
                    lambda m=mechanism, r=reports, k=kind: _estimated(ex, m, r, k),
                )


def interface_cases(ex: Any, few: bool) -> Iterator[Case]:
    """Public signatures, and the help of every command."""
    things = {name: getattr(ex, name) for name in ex.__all__}
    for name, module in list(things.items()):
        if inspect.ismodule(module):
            things |= {f"{name}.{inner}": getattr(module, inner) for inner in getattr(module, "__all__", ())}
    for name, thing in things.items():
        yield name, lambda t=thing: {"text": _signature(t)}
    for command in COMMANDS.split():
        yield f"extremal {command} --help", lambda c=command: {"text": _help(c)}


CASES = {
    "designs": design_cases,
    "certified": certified_cases,
    "draws": draw_cases,
    "estimates": estimate_cases,
    "interface": interface_cases,
}


def _digest(*values: Any) -> str:
    found = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        found.update(
            repr(array.tolist()).encode()
            if array.dtype.kind in "OU"
            else np.ascontiguousarray(array).tobytes()
        )
    return found.hexdigest()[:24]


def _designed(ex: Any, found: Any) -> Found:
    checked = None
    try:
        checked = bool(ex.check_design(found).ok)
    except ex.errors.ExtremalError as error:
        checked = str(error)[:80]
    matrix = found.mechanism.matrix
    return {
        "bits": _digest(matrix, [found.value, found.upper_bound]),
        "value": float(found.value),
        "upper_bound": float(found.upper_bound),
        "outputs": matrix.shape[1],
        "rounds": found.stats.rounds,
        "nodes": getattr(found.stats, "nodes", None),
        "checked": checked,
    }


def _certified(ex: Any, prior: Any, epsilon: float) -> Found:
    found = ex.certify(ex.design(prior, epsilon))
    return {"bits": _digest(found.weights, [found.digest])}


def _drawn(ex: Any, certified: Any, answers: Any, ids: Any, occasion: Any) -> Any:
    if hasattr(ex, "Keyed"):
        return certified.privatize(answers, keyed=ex.Keyed(KEY, ids, occasion))
    return certified.privatize(answers, key=KEY, ids=ids, occasion=occasion)


def _estimated(ex: Any, mechanism: Any, reports: Any, kind: str) -> Found:
    found = ex.estimate(mechanism, reports, intervals=kind)
    return {"bits": _digest(found.shares, found.lower, found.upper, found.standard_errors)}


def _signature(thing: Any) -> str:
    try:
        return str(inspect.signature(thing))
    except (TypeError, ValueError):
        return type(thing).__name__


def _help(command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "extremal", command, "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"},
    )
    return done.stdout


def dump(parts: list[str], few: bool, constants: list[str]) -> dict[str, dict[str, Found]]:
    """What the library that this interpreter finds gives, with these constants, `NAME=NUMBER`."""
    import warnings

    if constants:  # before anything takes them from there
        from extremal.optimization import tuning

        for name, _, number in (one.partition("=") for one in constants):
            setattr(tuning, name, type(getattr(tuning, name))(float(number)))
    import extremal as ex

    warnings.simplefilter("ignore")
    found: dict[str, dict[str, Found]] = {}
    for part in parts:
        found[part] = {}
        for name, call in CASES[part](ex, few):
            try:
                found[part][name] = call()
            except ex.errors.ExtremalError as error:
                found[part][name] = {
                    "bits": "refused",
                    "error": f"{type(error).__name__}: {str(error)[:100]}",
                }
    return found


def run_in(
    source: Path, parts: list[str], few: bool, constants: list[str] | None = None
) -> dict[str, dict[str, Found]]:
    """The same in another process, with the library of that source tree."""
    command = [sys.executable, str(Path(__file__)), "--dump", "--part", *parts, *(["--few"] if few else [])]
    command += ["--set", *constants] if constants else []
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{source}: {done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


@contextlib.contextmanager
def built(commit: str) -> Iterator[Path]:
    """The source tree of a commit, compiled, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        command = ["git", "worktree", "add", "--detach", str(base), commit]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        try:
            command = [sys.executable, str(base / "tools" / "build_native.py")]
            subprocess.run(command, check=True, capture_output=True)
            yield base
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(base)], cwd=ROOT, check=True)


def compare(old: dict[str, dict[str, Found]], new: dict[str, dict[str, Found]]) -> int:
    """Print what differs, and count the differences in bits."""
    faults = 0
    for part in old:
        names = list(dict.fromkeys([*old[part], *new[part]]))
        differ = [name for name in names if old[part].get(name) != new[part].get(name)]
        bits = [name for name in differ if _bits(old[part].get(name)) != _bits(new[part].get(name))]
        print(
            f"{part}: {len(names)} cases, {len(bits)} differ in bits, {len(differ) - len(bits)} in other figures"
        )
        for name in differ:
            print(
                f"  {name}\n    before {_shown(old[part].get(name))}\n    now    {_shown(new[part].get(name))}"
            )
        faults += len(bits)
    return faults


def _bits(found: Found | None) -> Any:
    return None if found is None else found.get("bits")


def _shown(found: Found | None) -> str:
    if found is None:
        return "absent"
    return found["text"][:300] if "text" in found else str(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", default="HEAD^", help="the commit to compare with (default: %(default)s)")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--few", action="store_true", help="a small part of the corpus: a minute")
    parser.add_argument("--dump", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--set", nargs="+", metavar="NAME=NUMBER", default=[], help="constants to change")
    options = parser.parse_args()
    if options.dump:
        print(json.dumps(dump(options.part, options.few, options.set)))
        return 0
    if options.set:
        changed = run_in(ROOT, options.part, options.few, options.set)
        return 1 if compare(run_in(ROOT, options.part, options.few), changed) else 0
    with built(options.base) as base:
        old = run_in(base, options.part, options.few)
    return 1 if compare(old, run_in(ROOT, options.part, options.few)) else 0


if __name__ == "__main__":
    raise SystemExit(main())
