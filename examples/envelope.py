"""The most telling reports.

The worst report sets ε, and may be rare. The leakage envelope says what the most telling share of all reports can
tell. Both mechanisms keep 0.5 nats for every report. All reports of the design tell nearly as much; those of randomized
response do so only if they name a rare answer, which is why they are worth less.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
best = ex.design(prior, 0.5, ex.mutual_information).mechanism
response = ex.theory.randomized_response_for_pml(prior, 0.5)
shares = np.geomspace(0.01, 1, 100)


told = ex.mutual_information
print(f"mutual information {told(prior, best):.2f} and {told(prior, response):.2f}")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots()
for mechanism, color, name in ((best, "C0", "design"), (response, "C1", "randomized response")):
    envelope = ex.measures.envelope(prior, mechanism)
    axes.plot(shares, [envelope(share) for share in shares], color=color, label=name)
axes.set(xscale="log", xlabel="share of the most telling reports", ylabel="what they tell in nats, at most")
axes.set_ylim(bottom=0)
axes.legend(loc="lower left")
for ending in ("png", "svg"):
    figure.savefig(folder / f"envelope.{ending}")
