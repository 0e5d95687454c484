"""Where random words come from: the operating system, or a seed in experiments."""

from .draw.sampler import SecureWords, SeededWords, Words

__all__ = ["SecureWords", "SeededWords", "Words"]
