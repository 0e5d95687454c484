"""How much leaks, measured: PML by report and in the worst case, and other notions for comparison."""

from __future__ import annotations

from .model.leakage import (
    LeakageDistribution,
    epsilon_pml,
    ldp_epsilon,
    leakage_distribution,
    lift,
    lip_epsilon,
    maximal_leakage,
    pml,
    tail_probability,
)

__all__ = [
    "LeakageDistribution",
    "epsilon_pml",
    "ldp_epsilon",
    "leakage_distribution",
    "lift",
    "lip_epsilon",
    "maximal_leakage",
    "pml",
    "tail_probability",
]
