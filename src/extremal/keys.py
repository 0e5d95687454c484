"""Secret keys for keyed draws: write a fresh one to a file, read it back."""

from .draw.keys import read_key as read
from .draw.keys import write_key as write

__all__ = ["read", "write"]
