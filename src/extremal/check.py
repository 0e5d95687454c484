"""An independent check of a design: feasible, epsilon-PML, worth what it says, and not far from the optimum.

Shares no code with the solver. What is proved about the optimum rests on weak duality: for *any* vector y,

    U* <= sum(y) + Delta(y),   Delta(y) = max of mu(lam) - y.lam over lift vectors lam,

where a lift vector has low <= lam_i <= c = e^epsilon and pi.lam = 1. So the dual vector a solver hands over
needs no trust; only an upper bound on Delta(y) must be computed:

- expected gain: Delta is a continuous knapsack for each decision, solved by sorting.
- f-information is separable. With any multiplier theta,
  mu(lam) - y.lam = theta + sum_i g_i(lam_i),   g_i(t) = pi_i f(t) - (y_i + theta pi_i) t,
  and as g_i is convex, Delta <= theta + sum_i max(g_i(l_i), g_i(u_i)) where lam_i can only be in [l_i, u_i]:
  the chord bound. At a vertex every symbol but one is empty (lam = low) or full (lam = c). What a symbol falls
  short of its maximum is its loss, >= 0; Delta is the chord bound minus the smallest total loss of a vertex.
  That is found by a dynamic programme over the total if the prior comes from counts, else by meeting in the
  middle: all subsets of either half of the symbols with few enough losses, matched by branch and bound.
- any other utility: all vertices, while there are few enough symbols.

Rounding. Sums of masses are uncertain by a few 1e-16, so the lift of the partial symbol is taken to be
anywhere in an interval of that width; being convex, g is largest at its ends. f is taken to be accurate to 16
units in the last place of 1 + |f|. All such errors are added to the bound before it is compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import EpsilonError, MechanismError, UtilityError
from .leakage import lift
from .mechanism import Mechanism
from .prior import Prior
from .regions import check_epsilon, largest_lift
from .utility import ExpectedGain, FInformation, Utility

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
State = TypeVar("State")

EXACT = 1e-12  # what rows and leakage may be off by
RELATIVE = 1e-9  # what a value or a bound may be off by
STEEP = 1e-7  # what a bound may be off by where rounding a mass moves the optimum this much (f'(0) = -inf)
ULP = 2.0**-52
ENUMERABLE = 20  # symbols whose subsets are listed one by one
LARGEST_COUNT, MOST_CELLS = 2_000_000, 4_000_000_000  # of a dynamic programme: total count, cells visited
LONGEST = 1 << 18  # subsets of a half that are told apart: all of them up to 36 symbols
MOST_PAIRS = 1_000_000_000  # pairs of blocks looked at before the search stops with what it has proved
CHUNK = 1 << 20
