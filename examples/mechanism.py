"""What an optimal mechanism looks like.

Rows are true answers, columns are reports; the darker a field, the more often this answer gets this report. White
fields never happen: the optimal mechanism at this level makes some pairs of answer and report impossible, and so it is
not differentially private at any level, while no report leaks more than ε.
"""

import sys
from pathlib import Path

import numpy as np

import extremal as ex
from extremal._plot import picture
from extremal.studies.data import anes96
from extremal.studies.demo.survey import ORDER

prior = ex.Prior.from_data(anes96()["party"], labels=ORDER)
design = ex.design(prior, 1.0, ex.mutual_information)
mechanism = design.mechanism
order = np.argsort([prior.index(label) for label in mechanism.outputs])
reports = [mechanism.outputs[j] for j in order]
P = mechanism.matrix[:, order]


def draw(axes):
    axes.imshow(np.where(P > 1e-12, P, np.nan), cmap="Blues", vmin=0, vmax=1)
    for i, j in np.argwhere(P > 1e-12):
        color = "white" if P[i, j] > 0.6 else "black"
        axes.text(j, i, f"{100 * P[i, j]:.0f}", ha="center", va="center", color=color)
    axes.set_xticks(range(len(reports)), reports, rotation=40, ha="right")
    axes.set_yticks(range(prior.size), prior.labels)
    axes.set(xlabel="report", ylabel="true answer", title="how often, in percent")
    axes.grid(False)


print(
    design.mechanism.shape,
    f"leaks {ex.epsilon_pml(prior, mechanism):.4f}, LDP {ex.measures.ldp_epsilon(mechanism)}",
)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/gallery")
folder.mkdir(parents=True, exist_ok=True)
picture(folder / "mechanism", draw, (7.2, 5.4))
