"""Figures beyond the paper: `python -P -m benchmarks.beyond --output DIR`, in the form of the paper's own."""

from . import neighbours, prior, size, survey

FIGURES = {
    "beyond-prior": prior.make,
    "beyond-size": size.make,
    "beyond-survey": survey.make,
    "beyond-neighbours": neighbours.make,
}
