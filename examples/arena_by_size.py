"""Beside the best of five clients, from 2 to 1000 labels.

The squared error of the best of five usual clients over that of the design, at ε = 1. Above 1 the design is better.
Blue: every client leaks no more than ε under the prior. Orange: all satisfy local differential privacy, and the design
knows nothing about the answers. Dots are histograms of a survey. `benchmarks/arena.py` measured the figures.
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
rows = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def ratio(row):
    errors = dict(row["errors"])
    own = errors.pop("ours")
    return min(errors.values()) / own


def chosen(notion, family):
    found = [row for row in rows if row["notion"] == notion and row["epsilon"] == 1]
    return [row for row in found if row["prior"].split()[0] in family]


for notion in ("PML", "LDP"):
    ratios = [ratio(row) for row in rows if row["notion"] == notion]
    behind = sum(value < 1 - 1e-3 for value in ratios)
    print(
        f"equal {notion}: {min(ratios):.3f} to {max(ratios):.1f} times, behind in {behind} of {len(ratios)}"
    )
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots()
for notion, color in (("PML", "C0"), ("LDP", "C1")):
    for family, line in (("Zipf", "-"), ("uniform", "--")):
        some = chosen(notion, [family])
        axes.plot(
            [row["labels"] for row in some],
            [ratio(row) for row in some],
            color=color,
            linestyle=line,
            label=f"{family} priors, equal {notion}",
        )
    survey = chosen(notion, ["party", "education", "income", "300"])
    axes.plot([row["labels"] for row in survey], [ratio(row) for row in survey], "o", color=color)
axes.set(xscale="log", yscale="log", xlabel="labels", ylabel="error of the best client / of the design")
axes.set_yticks([1, 2, 4], ["1", "2", "4"])
axes.minorticks_off()
axes.legend(loc="upper right")
for ending in ("png", "svg"):
    figure.savefig(folder / f"arena_by_size.{ending}")
