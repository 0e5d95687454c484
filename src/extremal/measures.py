"""How much leaks, measured: PML by report and in the worst case, and other notions for comparison."""

from .auditing.envelope import Envelope, envelope
from .model.leakage import epsilon_pml, lift, pml
from .model.leakage_measures import (
    LeakageDistribution,
    chi_squared_contraction,
    dobrushin,
    ldp_epsilon,
    leakage_distribution,
    lip_epsilon,
    maximal_leakage,
    pointwise_cost,
    record_leakage,
    tail_probability,
)

__all__ = [
    "Envelope",
    "LeakageDistribution",
    "chi_squared_contraction",
    "dobrushin",
    "envelope",
    "epsilon_pml",
    "ldp_epsilon",
    "leakage_distribution",
    "lift",
    "lip_epsilon",
    "maximal_leakage",
    "pml",
    "pointwise_cost",
    "record_leakage",
    "tail_probability",
]
