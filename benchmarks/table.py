"""Tables of the documentation from the figures of a run.

    python benchmarks/table.py [FILE]             the tables of docs/results.md
    python benchmarks/table.py --arena [FILE]     those of docs/compared.md, from examples/arena_by_size.json
    python benchmarks/table.py --write [FILE]     write all of them, and examples/arena_by_size.json, from one run

FILE is results/reference.json unless given.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)  # the levels of the tables of gaps
ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "benchmarks" / "results" / "reference.json"
ARENA = ROOT / "examples" / "arena_by_size.json"
SHOWN = ("party of the survey", "income of the survey", "300 cells of the survey", "uniform 100", "Zipf 100")
GAPS = ("Shares, N = ", "Shares over sets", "Mutual information over sets")


def markdown(path: Path = REFERENCE) -> str:
    """A Markdown table of the main figures, and a line that says where they were measured."""
    run = json.loads(path.read_text(encoding="utf-8"))
    lines = ["| what | target | measured |", "|---|---|---|"]
    lines += [
        f"| {what} | {target} | {measured} |" for what, target, measured in (*_rows(run), *_optional(run))
    ]
    machine, met = run["machine"], sum(target["met"] for target in run["targets"])
    lines += [
        "",
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, {run['date'][:10]}, load average "
        f"{machine['load']} at the start; {met} of {len(run['targets'])} targets met.",
        *gaps(run),
    ]
    return "\n".join(lines) + "\n"


def write(path: Path = REFERENCE) -> None:
    """The pages with the tables of a run, and the figures of the picture."""
    run = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        {"notion": table["title"][-3:], **{key: row[key] for key in ("prior", "epsilon", "labels")}}
        | {"errors": {name: float(f"{error:.4g}") for name, error in row["errors"].items()}}
        for table in run["tables"]
        if table["title"].startswith("Squared error of shares, times people")
        for row in table["rows"]
    ]
    figures, tables = markdown(path), beside_clients(rows)  # both before anything is written
    text = ",\n".join(map(json.dumps, rows))
    ARENA.write_text(f"[\n{text}\n]\n", encoding="utf-8")
    _between(ROOT / "docs" / "results.md", "figures", figures)
    for notion, table in tables.items():
        _between(ROOT / "docs" / "compared.md", f"arena {notion}", table)


def _between(page: Path, mark: str, text: str) -> None:
    """The text between two marks of a page."""
    begin, end = f"<!-- {mark} -->", f"<!-- {mark}:end -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"error: {page} must have {begin} and {end}")
    page.write_text(f"{before}{begin}\n{text.strip()}\n\n{end}{after}", encoding="utf-8")


def gaps(run: dict[str, Any]) -> list[str]:
    """The largest gap at each level of the tables of gaps, and the slowest design; nothing if the run has none."""
    lines = []
    for table in run["tables"]:
        if table["title"].startswith(GAPS):
            cases = [case for row in table["rows"] for case in row.get("cases", [row.get("case")]) if case]
            cells = []
            for level in EPSILONS:
                found = [case["gap"] for case in cases if case["epsilon"] == level]
                cells.append(f"{small(max(found))} ({len(found)})" if found else "")
            seconds = max(case["cpu_seconds"] for case in cases)
            lines.append(f"| {table['title'].partition(':')[0]} | {' | '.join(cells)} | {seconds:.1f} s |")
    if not lines:
        return []
    levels = " | ".join(f"ε = {level:g}" for level in EPSILONS)
    head = f"| largest gap (designs) | {levels} | slowest |"
    return ["", head, "|---" * (len(EPSILONS) + 2) + "|", *lines]


def arena(path: Path = ARENA) -> str:
    """Both tables of `beside_clients`."""
    return "\n\n".join(beside_clients(json.loads(path.read_text(encoding="utf-8"))).values()) + "\n"


def beside_clients(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Squared errors of the shares, times people, by notion: ours and the best client's, the smaller in bold."""
    cells = {(row["notion"], row["prior"], row["epsilon"]): _beside(row["errors"]) for row in rows}
    levels = sorted({row["epsilon"] for row in rows})
    found = {}
    for notion in ("PML", "LDP"):
        head = f"| at equal {notion} | " + " | ".join(f"ε = {level:g}" for level in levels) + " |"
        lines = [
            f"| {prior} | " + " | ".join(cells[notion, prior, e] for e in levels) + " |" for prior in SHOWN
        ]
        found[notion] = "\n".join([head, "|---" * (len(levels) + 1) + "|", *lines])
    return found


def _beside(errors: dict[str, float]) -> str:
    ours, others = errors["ours"], {name: error for name, error in errors.items() if name != "ours"}
    name = min(others, key=others.__getitem__)
    best = others[name]
    texts = [f"{x:,.0f}" if x >= 1000 else f"{x:.4g}" for x in (ours, best)]
    bold = [
        f"**{text}**" if x == min(ours, best) else text for x, text in zip((ours, best), texts, strict=True)
    ]
    return f"{bold[0]} / {bold[1]} {name[0]}"


def small(gap: float) -> str:
    """In per cent with two digits, if it is not very small."""
    return "< 0.0001 %" if gap < 1e-6 else _percent(gap, 2)


def _percent(gap: float, digits: int = 1) -> str:
    """Rounded up to one digit, or more, and never as a power of ten."""
    exact = Decimal(100 * gap)
    return f"{exact.quantize(Decimal(1).scaleb(exact.adjusted() + 1 - digits), ROUND_CEILING):f} %"


def _optional(run: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Rows of parts that a run may lack."""
    found = {table["title"]: table["rows"] for table in run["tables"]}

    def rows(start: str) -> list[dict[str, Any]]:
        return next((rows for title, rows in found.items() if title.startswith(start)), [])

    for row in rows("Multinomial logit"):
        if row["who"] == "extremal, ε = 1.5" and row["rows"] == 1_000_000:
            figures = f"{row['seconds']:.1f} s, {row['peak MB']:.0f} MB"
            yield "regression from 10^6 reports, ten covariates; memory", "10 s, 2 GB", figures
    for row in rows("Reports through the server")[:1]:
        yield "survey server, each report on disk: reports a second", "1,000", f"{row['a second']:,.0f}"
    lost = [row["lost"] for row in rows("kill -9 under load")]
    if lost:
        yield "survey server, killed under load: confirmed reports lost", "0", f"{sum(lost)}"
    windows = [
        row["error"] for row in rows("Squared error of a share of 22000") if "windows" in row["method"]
    ]
    if windows:
        what = "windows of 22,000 answers, ε = 5, 1,000 people: squared error of a share, without a prior / with one"
        yield what, "27.3 (subset selection)", " / ".join(f"{error:.1f}" for error in windows)


def _rows(run: dict[str, Any]) -> list[tuple[str, str, str]]:
    def table(start: str) -> list[dict[str, Any]]:
        return next(table["rows"] for table in run["tables"] if table["title"].startswith(start))

    def cases(n: int) -> list[dict[str, Any]]:
        return [case for row in table(f"N = {n}, column") for case in row["cases"]]

    def certified(found: list[dict[str, Any]]) -> str:
        gap, seconds = max(case["gap"] for case in found), max(case["seconds"] for case in found)
        return f"within {_percent(gap)} of the optimum, {seconds:.1f} s ({len(found)} cases)"

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
            "design, 8 to 16 answers, five utilities: difference from enumeration",
            "1e-9",
            f"at most {max(differences):.0e}",
        ),
        (
            "design, 16 answers, ε = log 2: faster than Algorithm 1 with HiGHS by",
            "100 ×",
            f"{min(speedup):.0f} to {max(speedup):.0f} × ({sum(x >= 100 for x in speedup)} of {len(speedup)} priors)",
        ),
        ("design, 10 to 30 answers", "0.0001 %, 5 s", certified([*cases(10), *cases(20), *cases(30)])),
        ("design, 100 answers", "0.0001 % (0.01 % for small and large ε), 15 s", certified(cases(100))),
        ("design, 1000 answers", "0.01 %, 60 s", certified(table("N = 1000, column"))),
        ("arc mechanism of 100,000 answers, without its matrix", "1 s", f"{max(arcs):.2f} s"),
        ("reports from codes, 16 / 256 / 1000 answers", "250 / 150 / 100 million/s",
         " / ".join(rate("10000000 codes", f"codes, k = {k}") for k in (16, 256, 1000)) + " million/s"),
        ("the same, faster than numpy / multi-freq-ldpy / OpenDP by", "5 × / 50 × / –",
         f"{numpy:.1f} × / {peers['multi-freq-ldpy client']:.0f} × / "
         f"{peers['OpenDP make_randomized_response']:.0f} ×"),
        ("columns of strings (arrow, pandas, polars): time over that of codes", "2 ×",
         f"{min(strings):.1f} to {max(strings):.1f} ×"),
        ("Parquet, 10^7 rows: time over that of a copy; memory", "1.5 ×, 1 GB",
         f"{parquet['privatise']['x clock']:.2f} ×, {parquet['privatise']['peak MB']:.0f} MB"),
        ("Spark, 10^7 rows: time over that of the identity", "1.3 ×", f"{min(spark):.2f} to {max(spark):.2f} ×"),
        ("certify, 1000 answers and reports", "10 s", f"{max(row['seconds'] for row in table('certify')):.1f} s"),
        ("estimate from 10^8 counted reports, 200 answers", "1 s", f"{max(counts):.2f} s"),
        ("estimate from 10^6 raw reports: time over that of bincount", "3 ×", f"{min(raw):.1f} to {max(raw):.1f} ×"),
        ("import: time over that of numpy", "–", f"{imported:.2f} ×"),
    ]  # fmt: skip


if __name__ == "__main__":
    files = [Path(word) for word in sys.argv[1:] if not word.startswith("--")]
    if "--write" in sys.argv[1:]:
        write(*files)
    else:
        print(arena(*files) if "--arena" in sys.argv[1:] else markdown(*files), end="")
