"""Values that cannot be wrong once built (priors, mechanisms, utilities) and what is measured on them."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["adversary"])
