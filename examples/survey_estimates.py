"""From a survey to published shares.

Shares estimated from the reports of 944 people, beside what they really said. The black marks are the truth. Nobody
who sees the reports knows them. The blue intervals are estimated from reports of the best design, the orange ones
from randomized response under the same limit.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
answers = ex.datasets.anes96()["party"]
order = ["Strong Democrat", "Weak Democrat", "Independent-Democrat", "Independent-Independent"]
order += ["Independent-Republican", "Weak Republican", "Strong Republican"]
prior = ex.Prior.from_data(answers, labels=order)
epsilon = 1.5
methods = {
    "best for shares": ex.design(prior, epsilon).mechanism,
    "randomized response": ex.theory.randomized_response_for_pml(prior, epsilon),
}
estimates = {}
for name, mechanism in methods.items():
    certified = ex.certify(prior, mechanism, epsilon)
    reports = certified.privatize(answers, source=ex.randomness.SeededWords(1))  # a seed for the picture only
    estimates[name] = ex.estimate(certified, reports)


for name, e in estimates.items():
    wrong = 100 * np.sqrt(np.mean((e.shares - prior.probabilities) ** 2))
    print(f"{name}: off by {wrong:.2f} percentage points (root mean square)")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots(figsize=(7.2, 4.4))
rows = np.arange(prior.size)
axes.plot(100 * prior.probabilities, rows, "|", color="black", markersize=22, label="what people said")
for (name, e), color, shift in zip(estimates.items(), ("C0", "C1"), (-0.15, 0.15), strict=True):
    width = 100 * np.array([e.shares - e.lower, e.upper - e.shares])
    x = 100 * e.shares
    axes.errorbar(x, rows + shift, xerr=width, fmt="o", color=color, capsize=3, label=name)
axes.set_yticks(rows, prior.labels)
axes.invert_yaxis()
axes.set(xlabel="share in percent, with 95% intervals, each by itself")
axes.legend()
for ending in ("png", "svg"):
    figure.savefig(folder / f"survey_estimates.{ending}")
