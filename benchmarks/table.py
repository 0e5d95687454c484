"""The table of the README from the figures of a run: python benchmarks/table.py [FILE]

FILE is results/reference.json unless given.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).parent / "results" / "reference.json"


def markdown(path: Path = REFERENCE) -> str:
    """A Markdown table of the main figures, and a line that says where they were measured."""
    run = json.loads(path.read_text(encoding="utf-8"))
    lines = ["| what | target | measured |", "|---|---|---|"]
    lines += [f"| {what} | {target} | {measured} |" for what, target, measured in _rows(run)]
    machine, met = run["machine"], sum(target["met"] for target in run["targets"])
    lines += [
        "",
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, {run['date'][:10]}, load average "
        f"{machine['load']} at the start; {met} of {len(run['targets'])} targets met.",
    ]
    return "\n".join(lines) + "\n"


def _rows(run: dict[str, Any]) -> list[tuple[str, str, str]]:
    def table(start: str) -> list[dict[str, Any]]:
        return next(table["rows"] for table in run["tables"] if table["title"].startswith(start))

    def cases(n: int) -> list[dict[str, Any]]:
        return [case for row in table(f"N = {n}, column") for case in row["cases"]]

    def certified(found: list[dict[str, Any]]) -> str:
        gap, seconds = max(case["gap"] for case in found), max(case["seconds"] for case in found)
        return f"{len(found)} cases: gap up to {gap:.0e}, {seconds:.1f} s"

    def rate(start: str, case: str) -> str:
        return next(f"{row['million/s']:.0f}" for row in table(start) if row["case"] == case)

    def times(row: dict[str, Any]) -> float:
        return float(row["codes are"].removesuffix(" x"))

    speedup = [row["x HiGHS"] for row in table("Enumeration") if row["N"] == 16]
    differences = [row["worst difference"] for row in table("Every separable")]
    arcs = [row["seconds"] for row in table("N = 100,000")]
    peers = {row["case"]: times(row) for row in table("Peers: randomized")}
    numpy = next(times(row) for row in table("10000000 codes") if row["case"].startswith("numpy"))
    strings = [times(row) for row in table("10000000 labels")[:4]]
    parquet = {row["job"]: row for row in table("parquet")}
    spark = [row["ratio"] for row in table("Spark") if "ok" in row]
    counts = [row["estimate s"] for row in table("Maximum likelihood")]
    raw = [row["ratio"] for row in table("1000000 raw") if "ok" in row]
    imported = next(row["x numpy"] for row in table("Import") if row["program"] == "import extremal")
    return [
        (
            "design, N = 8, 12, 16, five utilities, against enumeration",
            "1e-9",
            f"at most {max(differences):.0e} apart",
        ),
        (
            "N = 16, ε = log 2, against Algorithm 1 + HiGHS",
            "100 ×",
            f"{min(speedup):.0f} to {max(speedup):.0f} × ({sum(x >= 100 for x in speedup)} of {len(speedup)} priors)",
        ),
        ("design, N = 10, 20, 30", "1e-6, 5 s", certified([*cases(10), *cases(20), *cases(30)])),
        ("design, N = 100", "1e-6 moderate ε, else 1e-4; 15 s", certified(cases(100))),
        ("design, N = 1000", "1e-4, 60 s", certified(table("N = 1000, column"))),
        ("arc, N = 100,000", "1 s", f"{max(arcs):.2f} s"),
        ("codes, k = 16 / 256 / 1000", "250 / 150 / 100 M/s",
         " / ".join(rate("10000000 codes", f"codes, k = {k}") for k in (16, 256, 1000)) + " M/s"),
        ("against numpy / multi-freq-ldpy / OpenDP", "5 × / 50 × / –",
         f"{numpy:.1f} × / {peers['multi-freq-ldpy client']:.0f} × / "
         f"{peers['OpenDP make_randomized_response']:.0f} ×"),
        ("columns of strings (arrow, pandas, polars), against codes", "2 ×",
         f"{min(strings):.1f} to {max(strings):.1f} ×"),
        ("Parquet, 10^7 rows, against a copy", "1.5 ×, 1 GB",
         f"{parquet['privatise']['x clock']:.2f} ×, {parquet['privatise']['peak MB']:.0f} MB"),
        ("Spark, 10^7 rows, against the identity", "1.3 ×", f"{min(spark):.2f} to {max(spark):.2f} ×"),
        ("certify, 1000 × 1000", "10 s", f"{max(row['seconds'] for row in table('certify')):.1f} s"),
        ("estimate from 10^8 counted reports, N = 200", "1 s", f"{max(counts):.2f} s"),
        ("estimate from 10^6 raw reports, against bincount", "3 ×", f"{min(raw):.1f} to {max(raw):.1f} ×"),
        ("import, against numpy", "–", f"{imported:.2f} ×"),
    ]  # fmt: skip


if __name__ == "__main__":
    print(markdown(*map(Path, sys.argv[1:])), end="")
