"""What is known without a solver: closed forms, lift vectors, the polytope of mechanisms, majorization."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["closed_form", "majorization"])
