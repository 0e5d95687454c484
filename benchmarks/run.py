"""All benchmarks in one run: tables on the terminal, figures in a JSON file. See README.md beside this file.

    python benchmarks/run.py [--quick | --full] [--only design families ...] [--seed S] [--output FILE]

Exit status 0 even where a target is missed (it is a measurement, and says so loudly), 1 if a benchmark broke.
"""

from __future__ import annotations

import argparse
import importlib
import time
import traceback
from pathlib import Path

from report import Report

HERE = Path(__file__).parent
MODULES = (
    "design",
    "families",
    "shares",
    "peers",
    "privatize",
    "files",
    "spark",
    "estimate",
    "survey",
    "regress",
    "arena",
    "robust",
    "large",
    "threads",
)


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    seed = 0 if options.seed is None else options.seed
    report = Report(options.level, seed, untuned=options.seed is not None, verify=options.verify)
    m = report.machine
    print(f"extremal {m['versions']['extremal']} ({m['commit']}), level {report.level}, seed {seed}")
    print(f"{m['cpu']}, {m['cores']} cores, {m['memory_gb']} GB, {m['system']}, Python {m['python']}")
    print(", ".join(f"{name} {version}" for name, version in m["versions"].items() if name != "extremal"))
    if m["load"] > 0.5:
        print(f"NOTE: the machine is busy (load average {m['load']}): seconds are inflated, ratios less so")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    try:
        for name in options.only or MODULES:
            _run(name, report)
            options.output.write_text(report.to_json(), encoding="utf-8")  # what there is so far
    except KeyboardInterrupt:
        report.failures.append("interrupted from the keyboard")
        options.output.write_text(report.to_json(), encoding="utf-8")
    print(report.summary())
    print(f"figures in {options.output}")
    return 1 if report.failures else 0


def _run(name: str, report: Report) -> None:
    """One module; what it raises is reported, and the others still run."""
    if not (HERE / f"{name}.py").exists():
        return
    try:
        module = importlib.import_module(name)
        if not hasattr(module, "run"):
            print(f"\nbenchmarks/{name}.py left out: it has no run(report), start it by itself")
            return
        print(f"\n=== {name}: {(module.__doc__ or '').partition(chr(10))[0]}")
        begin = time.perf_counter()
        try:
            module.run(report)
        finally:
            report.parts[name] = round(time.perf_counter() - begin, 1)
    except Exception as error:
        package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if package not in ("", "extremal", "report", *MODULES):
            print(f"\nbenchmarks/{name}.py left out: {package} is not installed")
            return
        traceback.print_exc()
        report.failures.append(f"{name}: {type(error).__name__}: {error}")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    amount = parser.add_mutually_exclusive_group()
    for level, about in (
        ("tiny", "seconds: whether the benchmarks themselves work"),
        ("quick", "under 2 minutes"),
        ("full", "everything, N = 18 by enumeration and all cases of N = 1000 included: an hour"),
    ):
        amount.add_argument(f"--{level}", dest="level", action="store_const", const=level, help=about)
    parser.set_defaults(level="normal")
    parser.add_argument("--only", nargs="+", choices=MODULES, help="these benchmarks only, in this order")
    parser.add_argument(
        "--seed", type=int, help="other random priors, and more families with random parameters"
    )
    parser.add_argument(
        "--verify", action="store_true", help="check every certificate of the target table independently"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=HERE / "results" / "latest.json",
        help="the JSON file (default: %(default)s)",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
