"""What a collection will tell, before it starts."""

from __future__ import annotations

from .estimation.planning import ExpectedError, SampleSizes, compare_sample_sizes, expected_error, sample_size

__all__ = ["ExpectedError", "SampleSizes", "compare_sample_sizes", "expected_error", "sample_size"]
