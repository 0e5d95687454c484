"""Catch a leaky client from the outside.

A program claims to hide the true value among two decoys, but always puts the true value first. `audit_pairs` sees
only pairs of true value and report. From a few dozen pairs on it proves, with confidence 0.95, that more leaks than
was claimed (dashed). If the three values are shuffled, it finds nothing wrong.
"""

import math
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
labels = ["a", "b", "c", "d", "e"]
claim = math.log(5 / 3)
random = np.random.default_rng(1)
secrets = random.choice(labels, 3000).tolist()
leaky = [[x, *random.choice([y for y in labels if y != x], 2, replace=False).tolist()] for x in secrets]
honest = [random.permutation(report).tolist() for report in leaky]
sizes = [50, 100, 200, 400, 800, 1500, 3000]
shown = {
    name: [ex.audit_pairs(secrets[:n], reports[:n], epsilon=claim).epsilon_lower for n in sizes]
    for name, reports in {"true value first": leaky, "shuffled": honest}.items()
}


for name, bounds in shown.items():
    print(f"{name}: " + ", ".join(f"{bound:.3f} from {n}" for n, bound in zip(sizes, bounds, strict=True)))
print(f"claimed: {claim:.3f}")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots()
axes.plot(sizes, shown["true value first"], "o-", color="C3", label="true value first")
axes.plot(sizes, shown["shuffled"], "s-", color="C0", label="shuffled")
axes.axhline(claim, color="black", linestyle="--", label="claimed")
axes.set(xscale="log", xlabel="pairs of secret and report", ylabel="proven leakage (nats)")
axes.legend()
for ending in ("png", "svg"):
    figure.savefig(folder / f"audit_a_client.{ending}")
