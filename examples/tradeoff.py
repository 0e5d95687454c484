"""Privacy against information, for a real survey.

Party identification of the 944 people of the American National Election Study 1996. The upper curve is the best that
any mechanism can do if no report may leak more than ε; the lower one is randomized response with the same leakage.
"""

import sys
from pathlib import Path

import numpy as np

import extremal as ex
from extremal._plot import BLUE, GREY, ORANGE, picture
from extremal.studies.data import anes96

prior = ex.Prior.from_data(anes96()["party"])
curve = ex.tradeoff(prior, np.linspace(0.05, prior.epsilon_max, 32), ex.mutual_information)


def draw(axes):
    axes.plot(curve.epsilons, curve.optimal, color=BLUE, label="optimal")
    axes.plot(
        curve.epsilons, curve.randomized_response, color=ORANGE, linestyle="--", label="randomized response"
    )
    axes.axhline(curve.ceiling, color=GREY, linestyle=":", label="the answer itself")
    axes.set(xlabel="ε, the most that a report may leak (nats)", ylabel="mutual information (nats)")
    axes.legend(loc="lower right")


for row in curve.rows()[::8]:
    print(
        f"ε = {row['epsilon']:.2f}: {row['optimal']:.4f} optimal, {row['randomized_response']:.4f} randomized response"
    )
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
picture(folder / "tradeoff", draw)
