"""What ε means: the chance of guessing right.

How much a report can improve a guess, for three values of ε. Somebody wants to know something about one person, and
would guess it with the chance on the horizontal axis. After seeing the report, the chance is at most the one on the
line for this ε: e^ε times as large. The crosses are the worst facts that one could want to know; some of them reach
the line.
"""

import math
import sys
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.15, "daily": 0.05})
levels = {0.2: "C2", 0.6: "C0", 1.2: "C1"}


def worst(epsilon):
    """For each set of answers: its probability, and the largest it can have after a report."""
    posterior = (ex.measures.lift(prior, ex.design(prior, epsilon).mechanism).T * prior.probabilities).T
    for size in range(1, prior.size):
        for chosen in combinations(range(prior.size), size):
            yield prior.probabilities[list(chosen)].sum(), posterior[list(chosen)].sum(axis=0).max()


for epsilon in levels:
    attained = max(after / before for before, after in worst(epsilon))
    print(f"ε = {epsilon}: factor {attained:.4f} attained, {math.exp(epsilon):.4f} allowed")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots()
before = np.linspace(0, 1, 201)
for epsilon, color in levels.items():
    axes.plot(before, np.minimum(1, math.exp(epsilon) * before), color=color, label=f"ε = {epsilon}")
    axes.plot(*zip(*worst(epsilon), strict=True), "x", color=color)
axes.plot(before, before, color="0.4", linestyle=":", label="no report at all")
axes.set(xlabel="chance to guess right before", ylabel="chance to guess right after the report")
axes.legend(loc="lower right")
for ending in ("png", "svg"):
    figure.savefig(folder / f"guessing_risk.{ending}")
