"""The most telling reports.

The worst report sets ε, and may be rare. The leakage envelope says what the most telling share of all reports can
tell. The orange mechanism keeps 0.5 nats for every report. The blue one keeps them for the worst fifth: a few reports
tell more, and all of them together are worth more.
"""

import sys
from pathlib import Path

import numpy as np

import extremal as ex
from extremal._common.plot import BLUE, GREY, ORANGE, picture

prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
every = ex.design(prior, 0.5, ex.mutual_information)
fifth = ex.design(prior, 1.0, ex.mutual_information, envelope={0.2: 0.5}, tolerance=0.02)
shares = np.geomspace(0.01, 1, 100)


def draw(axes):
    for design, color, name in (
        (fifth, BLUE, "0.5 nats for the worst fifth"),
        (every, ORANGE, "0.5 nats for every report"),
    ):
        envelope = ex.measures.envelope(prior, design.mechanism)
        axes.plot(shares, [envelope(share) for share in shares], color=color, label=name)
    axes.axvline(0.2, color=GREY, linestyle=":")
    axes.set(
        xscale="log", xlabel="share of the most telling reports", ylabel="what they tell in nats, at most"
    )
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower left")


print(f"mutual information {fifth.value:.2f} instead of {every.value:.2f}")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
picture(folder / "envelope", draw)
