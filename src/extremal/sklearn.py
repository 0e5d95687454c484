"""For scikit-learn: a transformer that privatises columns inside a pipeline. Needs the extra `sklearn`."""

from .release.transformer import Privatizer

__all__ = ["Privatizer"]
