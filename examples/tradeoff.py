"""Privacy against precision.

The more a report may leak (ε), the more it is worth. The blue line is the best that any mechanism can do: how many
true answers one report is worth for estimating shares. The orange line is randomized response under the same limit.
The example is party identification in the American National Election Study of 1996.
"""

import sys
from pathlib import Path

import numpy as np

import extremal as ex
from extremal._common.plot import BLUE, GREY, ORANGE, picture
from extremal.studies.data import anes96

prior = ex.Prior.from_data(anes96()["party"])
curve = ex.tradeoff(prior, np.linspace(0.1, prior.epsilon_max, 12))


def draw(axes):
    axes.plot(curve.epsilons, curve.optimal, color=BLUE, label="best design")
    axes.plot(
        curve.epsilons, curve.randomized_response, color=ORANGE, linestyle="--", label="randomized response"
    )
    axes.axhline(curve.ceiling, color=GREY, linestyle=":", label="the answer itself")
    axes.set(xlabel="ε, the most that a report may leak", ylabel="true answers that a report is worth")
    axes.legend(loc="lower right")


for row in curve.rows()[::4]:
    best, response = row["optimal"], row["randomized_response"]
    print(f"ε = {row['epsilon']:.2f}: {best:.2f} by the best design, {response:.2f} by randomized response")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
picture(folder / "tradeoff", draw)
