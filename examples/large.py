"""Shares of 22,000 answers.

How exactly do 1,000 people tell the share of one of 22,000 answers? The lower the line, the fewer people you must ask.
Windows, a start and a public step, reach what the best known methods of local differential privacy reach. Where the
prior is known, the same limit on leakage allows more.
"""

import math
import sys
from pathlib import Path

import matplotlib.pyplot as plt

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
ANSWERS, PEOPLE = 22_000, 1000
epsilons = [0.5 * k for k in range(2, 15)]
published = {"subset selection": 27.3, "recursive Hadamard response": 36.7, "Hadamard response": 68.9}


def in_points(squared):
    """The standard error of a share, in percentage points."""
    return 100 * math.sqrt(squared / PEOPLE)


everywhere = [in_points(ex.large.windows(ANSWERS, e).squared_error) for e in epsilons]
uniform = ex.Prior.uniform(ANSWERS)
known = [in_points(ex.large.windows(uniform, e).squared_error) for e in epsilons]


for e, one, other in zip(epsilons, everywhere, known, strict=True):
    if e in (1, 3, 5):
        print(f"ε = {e:g}: ± {one:.2f} points for every prior, ± {other:.2f} for a uniform one")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots()
axes.plot(epsilons, everywhere, color="C1", label="windows, limit for every prior (LDP)")
axes.plot(epsilons, known, color="C0", label="windows, limit for a uniform prior (PML)")
for (name, millionths), marker in zip(published.items(), "ovs", strict=True):
    axes.plot([5], [100 * math.sqrt(millionths / 1e6)], marker, color="0.4", label=f"{name}, published")
axes.set_yscale("log")
axes.set(xlabel="ε, the most that a report may leak (nats)", ylabel="standard error of a share (points)")
axes.legend(loc="upper right", fontsize=8)
for ending in ("png", "svg"):
    figure.savefig(folder / f"large.{ending}")
