"""Sets of items, as texts of 0 and 1: their priors, and what one report for each item leaks about the set."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..certification.certified import Certified
from ..errors import SizeError
from ..model.leakage import epsilon_pml
from ..model.mechanism import Mechanism
from ..model.prior import Prior

NO, YES = "no", "yes"


def subsets_of(items: int) -> tuple[str, ...]:
    """All subsets as texts of 0 and 1."""
    return tuple("".join(bits) for bits in product("01", repeat=items))


def members(items: tuple[str, ...]) -> dict[str, list[str]]:
    """For each item the subsets that it is in."""
    return {item: [s for s in subsets_of(len(items)) if s[k] == "1"] for k, item in enumerate(items)}


def item_prior(shares: list[float]) -> Prior:
    """The prior of subsets of independent items."""
    masses = np.ones(1)
    for share in shares:
        masses = np.outer(masses, [1 - share, share]).ravel()
    return Prior(masses, subsets_of(len(shares)))


def item_priors(prior: Prior, items: int) -> list[Prior]:
    """For each item the prior of "no" and "yes", from that of the subsets."""
    bits = np.array([[c == "1" for c in str(label)] for label in prior.labels])
    shares = prior.probabilities @ bits
    return [Prior([1 - share, share], [NO, YES]) for share in shares[:items].tolist()]


def set_leakage(prior: Prior, mechanisms: tuple[Certified, ...]) -> float:
    """What one report for each item leak together about the set, exactly."""
    return epsilon_pml(prior, set_mechanism(prior, mechanisms))


def set_mechanism(prior: Prior, mechanisms: tuple[Certified, ...]) -> Mechanism:
    """The mechanism from subsets to the reports of all items."""
    matrix: Any = np.ones((prior.size, 1))
    outputs: list[tuple[Any, ...]] = [()]
    for k, certified in enumerate(mechanisms):
        rows = [certified.inputs.index(YES if str(label)[k] == "1" else NO) for label in prior.labels]
        if matrix.shape[1] * len(certified.outputs) * prior.size > 1 << 24:
            raise SizeError(
                "too many combinations of reports", given=len(mechanisms), remedy="ask fewer items"
            )
        part = certified.mechanism.matrix[rows]
        matrix = np.einsum("ij,ik->ijk", matrix, part).reshape(prior.size, -1)
        outputs = [(*done, y) for done in outputs for y in certified.outputs]
    return Mechanism(matrix, prior.labels, outputs)
