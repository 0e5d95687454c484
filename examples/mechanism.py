"""What a mechanism looks like.

A mechanism says how often each answer turns into each report. Rows are true answers, columns are reports, numbers are
percentages. An empty field never happens: whoever sees that report knows that this was not the answer. Still, no
report makes any guess more than about twice as likely to be right (ε = 0.7).
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
prior = ex.Prior({"never": 0.45, "once or twice": 0.35, "more often": 0.2})
design = ex.design(prior, 0.7)
P = design.mechanism.matrix


print(f"{P.shape[0]} answers, {P.shape[1]} reports, leakage {ex.epsilon_pml(prior, design.mechanism):.4f}")
print(f"one report is worth {design.value:.2f} true answers")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots(figsize=(6.4, 3.4))
axes.imshow(P, cmap="Blues", vmin=0, vmax=1)
for i in range(P.shape[0]):
    for j in range(P.shape[1]):
        if P[i, j] > 1e-9:
            color = "white" if P[i, j] > 0.6 else "black"
            axes.text(j, i, f"{P[i, j]:.0%}", ha="center", va="center", color=color)
axes.set_xticks(range(P.shape[1]), [f"report {label}" for label in design.mechanism.outputs])
axes.set_yticks(range(prior.size), prior.labels)
axes.grid(False)
for ending in ("png", "svg"):
    figure.savefig(folder / f"mechanism.{ending}")
