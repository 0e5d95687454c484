"""How much leaks, measured: PML by report and in the worst case, and other notions for comparison."""

from .auditing.envelope import Envelope, envelope
from .model.leakage import (
    LeakageDistribution,
    chi_squared_contraction,
    dobrushin,
    epsilon_pml,
    ldp_epsilon,
    leakage_distribution,
    lift,
    lip_epsilon,
    maximal_leakage,
    pml,
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
