"""Noise added to numbers: Laplace, Gaussian, geometric, bounded or not, and what each leaks."""

from .auditing.noise import Noise, NoiseAudit, audit, gaussian, geometric, laplace

__all__ = ["Noise", "NoiseAudit", "audit", "gaussian", "geometric", "laplace"]
