"""The start of column generation over a set of priors: a program that has a solution."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...._common.types import Floats
from ....model.prior_set import PriorSet
from ....model.utility import FInformation
from ...effort import Budget
from ...generate import Run, Utilities
from ...masters.alike import AlikeMaster, alike
from ...masters.linear import Master
from ...problem import Task
from .lift_program import admissible


@dataclass
class Columns:
    """The columns of a program, so that none comes twice."""

    seen: set[bytes] = field(default_factory=set)

    def add(self, run: Run, lifts: Floats) -> int:
        """Add the columns that differ from all others by more than rounding and say how many did."""
        new = []
        for k, row in enumerate(np.round(lifts, 9) + 0.0):
            if row.tobytes() not in self.seen:
                self.seen.add(row.tobytes())
                new.append(k)
        return run.add(lifts[new])


def started(task: Task, priors: PriorSet, c: float, mu: Utilities, columns: Columns, budget: Budget) -> Run:
    """A run with columns enough for a mechanism: each symbol raised alone, or lowered alone."""
    pi, n = priors.nominal.probabilities, priors.size
    alone = admissible(priors, c, np.diag(1 / pi))
    scale = max(float(np.abs(mu(alone)).max()), 1e-300)
    high, classes = float(min(c, 1 / pi.min())), alike(priors)
    shared = isinstance(task.utility, FInformation) and classes.max() + 1 < n
    master = AlikeMaster(pi, 0.0, high, scale, classes) if shared else Master(pi, 0.0, high, scale)
    run = Run(pi, mu, master, task.tolerance, budget, task.progress)
    columns.add(run, alone)
    columns.add(run, admissible(priors, c, np.ones((n, n)) - np.eye(n)))
    return run
