"""What is known without a solver: closed forms, lift vectors, the polytope of mechanisms, majorization."""

from __future__ import annotations

from ..model import adversary
from ..model.mechanism import pair_outputs
from ..model.processing import induced_prior, postprocess, preprocess, restrict
from . import closed_form, majorization
from .closed_form import arc
from .enumeration import enumerated, polytope_vertices, vertices
from .lift_vectors import extremal_lift_vectors
from .randomized_response import (
    randomized_response,
    randomized_response_epsilon,
    randomized_response_for_pml,
    randomized_response_parameter,
    randomized_response_pml,
)
from .reduction import agreement, reduce_outputs

__all__ = [
    "adversary",
    "agreement",
    "arc",
    "closed_form",
    "enumerated",
    "extremal_lift_vectors",
    "induced_prior",
    "majorization",
    "pair_outputs",
    "polytope_vertices",
    "postprocess",
    "preprocess",
    "randomized_response",
    "randomized_response_epsilon",
    "randomized_response_for_pml",
    "randomized_response_parameter",
    "randomized_response_pml",
    "reduce_outputs",
    "restrict",
    "vertices",
]
