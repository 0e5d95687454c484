"""What a collection will tell, before it starts."""

from .estimation.epsilons import LeastEpsilon, Precision, least_epsilon, precision
from .estimation.plan import Effect
from .estimation.plan_result import Plan, precision_sentence
from .estimation.planning import ExpectedError, SampleSizes, compare_sample_sizes, expected_error, sample_size

__all__ = [
    "Effect",
    "ExpectedError",
    "LeastEpsilon",
    "Plan",
    "Precision",
    "SampleSizes",
    "compare_sample_sizes",
    "expected_error",
    "least_epsilon",
    "precision",
    "precision_sentence",
    "sample_size",
]
