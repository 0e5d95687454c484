"""Several releases about the same people: what they leak together, and how many fit under a limit."""

from .auditing.composition import (
    Composition,
    PerRelease,
    added_with_ldp,
    compose_releases,
    epsilon_per_release,
    joint_release,
    leakage_limit,
    releases_within,
    repeat_release,
)
from .auditing.joint import audit_columns
from .auditing.transcript import Transcript, adaptive, posterior

__all__ = [
    "Composition",
    "PerRelease",
    "Transcript",
    "adaptive",
    "added_with_ldp",
    "audit_columns",
    "compose_releases",
    "epsilon_per_release",
    "joint_release",
    "leakage_limit",
    "posterior",
    "releases_within",
    "repeat_release",
]
