"""How shares are estimated from the reports of a survey in the figure on it."""

from __future__ import annotations

import numpy as np

import extremal as ex
from extremal.estimation import information

from .panel import Floats


def estimator(prior: ex.Prior, mechanism: ex.Mechanism) -> Floats:
    """The matrix that takes frequencies of reports to unbiased estimates of shares, best near the prior."""
    weighted = mechanism.matrix / mechanism.output_distribution(prior)
    return np.asarray(np.linalg.solve(information(prior, mechanism), weighted))
