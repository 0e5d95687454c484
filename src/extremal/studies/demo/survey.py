"""The question of the demo: party identification in a real survey, answers in the order of the scale."""

from __future__ import annotations

EPSILON = 0.7
ORDER = [
    "Strong Democrat",
    "Weak Democrat",
    "Independent-Democrat",
    "Independent-Independent",
    "Independent-Republican",
    "Weak Republican",
    "Strong Republican",
]
