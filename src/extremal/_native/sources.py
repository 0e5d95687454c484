"""Where the C sources and the library made of them lie. Also read by the build, so it needs Python alone."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
LIBRARY = FOLDER / ("extremal" + {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so"))


def source_digest() -> str:
    """SHA-256 of the C sources: the library carries that of the sources it was made of."""
    digest = hashlib.sha256()
    for path in sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.h")]):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
