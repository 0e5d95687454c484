"""Privacy against precision.

The more a report may leak (ε), the more it is worth. The blue line is the best that any mechanism can do: how many
true answers one report is worth for estimating shares. The orange line is randomized response under the same limit.
The example is party identification in the American National Election Study of 1996.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import extremal as ex

plt.style.use(Path(__file__).with_name("extremal.mplstyle"))
prior = ex.Prior.from_data(ex.datasets.anes96()["party"])
curve = ex.tradeoff(prior, np.linspace(0.1, prior.epsilon_max, 12))


for row in curve.rows()[::4]:
    best, response = row["optimal"], row["randomized_response"]
    print(f"ε = {row['epsilon']:.2f}: {best:.2f} by the best design, {response:.2f} by randomized response")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
figure, axes = plt.subplots()
axes.plot(curve.epsilons, curve.optimal, color="C0", label="best design")
axes.plot(curve.epsilons, curve.randomized_response, color="C1", linestyle="--", label="randomized response")
axes.axhline(curve.ceiling, color="0.4", linestyle=":", label="the answer itself")
axes.set(xlabel="ε, the most that a report may leak", ylabel="true answers that a report is worth")
axes.legend(loc="lower right")
for ending in ("png", "svg"):
    figure.savefig(folder / f"tradeoff.{ending}")
