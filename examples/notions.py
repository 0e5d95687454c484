"""What stricter promises cost.

How much information is left under four promises of privacy. There are other promises than a limit on guessing (PML):
local differential privacy (LDP), local information privacy (LIP) and maximal leakage. For each the picture shows how
much information the best mechanism keeps if no report leaks more than ε. LDP and LIP never rule an answer out, and
keep less.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
prior = ex.Prior([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
epsilons = [0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0]
tables = [ex.compare(prior, epsilon).to_dict()["rows"] for epsilon in epsilons]
looks = zip(("C0", "C2", "C1", "C4", "0.4"), ("o-", "D-", "s-", "^:", "x--"), strict=True)


print(ex.compare(prior, 0.5))
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots()
for k, (color, style) in enumerate(looks):
    values = [rows[k]["value"] for rows in tables]
    axes.plot(epsilons, values, style, color=color, label=tables[0][k]["name"])
axes.set(xlabel="ε, the most that a report leaks (nats)", ylabel="information about the answer (nats)")
axes.legend()
for ending in ("png", "svg"):
    figure.savefig(folder / f"notions.{ending}")
