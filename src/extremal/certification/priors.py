"""A prior in any form that people give it in; a mechanism file stands for the prior that it was certified for."""

from __future__ import annotations

from ..model.reading import Numbers, read_table
from .certified import Certified


def read_numbers(text: str) -> Numbers:
    """Labels and numbers as people type, paste and store them; those of a mechanism file once it is proved."""
    if text.lstrip("\ufeff \t\r\n")[:1] == "{" and '"extremal-mechanism"' in text:
        prior = Certified.from_json(text.removeprefix("\ufeff")).prior
        return Numbers(list(prior.labels), prior.probabilities.tolist())
    return read_table(text)
