"""Design for what you want to know.

How many people it takes to know all shares to ±2.5 percentage points. A design for the most information (blue) can
need more people than randomized response, because it mixes answers up. Where its line is missing, no number of people
is enough. A design for shares (green) does well throughout.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
epsilons = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0, 1.2])
methods = {
    "design for shares": lambda epsilon: ex.design(prior, epsilon).mechanism,
    "design for mutual information": lambda epsilon: (
        ex.design(prior, epsilon, ex.mutual_information).mechanism
    ),
    "randomized response": lambda epsilon: ex.theory.randomized_response_for_pml(prior, epsilon),
}


def reports_needed(mechanism):
    """Not a number where reports cannot tell all shares apart, however many there are."""
    if np.linalg.matrix_rank(mechanism.matrix, tol=1e-6) < prior.size:
        return np.nan
    return ex.planning.sample_size(prior, mechanism, width=0.05)


needed = {name: [reports_needed(make(e)) for e in epsilons] for name, make in methods.items()}


for name, numbers in needed.items():
    found = dict(zip(epsilons, numbers, strict=True))
    print(f"{name}: {', '.join(f'{found[e]} at {e}' for e in (0.2, 0.6, 1.0))}")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots()
for (name, numbers), color, style in zip(
    needed.items(), ("C2", "C0", "C1"), ("o-", "D-", "s--"), strict=True
):
    axes.plot(epsilons, numbers, style, color=color, label=name)
axes.set(yscale="log", xlabel="ε (nats), the same for all", ylabel="reports needed for ±2.5 points")
axes.set_ylim(top=1e9)
axes.legend(loc="upper right")
for ending in ("png", "svg"):
    figure.savefig(folder / f"utility_matters.{ending}")
