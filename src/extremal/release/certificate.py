"""What may draw: a mechanism that was certified, and nothing that merely looks like one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..draw.sampler import Sampler
from ..errors import ValuesError
from ..model.doubt import check_protected


class Certificate:
    """A mechanism whose weights were proved to keep their epsilon.

    Drawing stands before certification in the order of the packages, so it cannot name the class that proves.
    It knows it by this base, which no other package may derive from.
    """

    prior: Any
    prior_set: Any
    epsilon: float
    digest: str
    weights: NDArray[np.uint64]
    blocks: NDArray[np.uint32] | None
    mechanism: Any
    between: Any
    prior_between: Any
    doubt: Any
    sampler: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.__module__.startswith(f"{__name__.partition('.')[0]}.certification."):
            raise TypeError(
                "only certified mechanisms draw; make one with certify(prior, mechanism, epsilon)"
            )


def sampler_to_draw(certified: Any, allow_true_answers: bool, name: Any = None) -> Sampler:
    """The sampler for a release; reports that disclose the answers are refused unless somebody asked for them."""
    sampler = sampler_of(certified, name)
    check_protected(certified.doubt, allow_true_answers, name)
    return sampler


def sampler_of(certified: Any, name: Any = None) -> Sampler:
    """The sampler of a certified mechanism; anything else is refused, whatever attributes it has."""
    if isinstance(certified, Certificate):
        sampler = certified.sampler
        if (
            isinstance(sampler, Sampler)
            and sampler.weights is certified.weights
            and sampler.blocks is certified.blocks
        ):
            return sampler
    of = f" for {name!r}" if name else ""
    raise ValuesError(
        f"the mechanism{of} must be a certified one",
        given=type(certified).__name__,
        remedy="make one with certify(prior, mechanism, epsilon) or load(path)",
    )
