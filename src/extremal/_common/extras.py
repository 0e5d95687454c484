"""What to do where packages of an extra are missing: said once, in words that work from a checkout."""

from __future__ import annotations


def missing(problem: str, extra: str) -> ImportError:
    """The error for something that needs an extra, e.g. missing("pictures need matplotlib", "plot")."""
    return ImportError(f'{problem}; run pip install ".[{extra}]" in the project\'s folder')
