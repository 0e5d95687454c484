"""Compiles the C sources when the package is built or installed, editable or not."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "tools"))

from build_native import build, compiler, library_for, named_compiler, platform_tag


class NativeHook(BuildHookInterface[Any]):
    """Puts the library into the package and names the platform, but no version of Python, in the wheel's tag."""

    def dependencies(self) -> list[str]:
        """The compiler that comes as a wheel, unless another is named or nothing is compiled."""
        own = os.environ.get("EXTREMAL_PLATFORM") or not named_compiler()
        return ["ziglang>=0.13"] if self.target_name == "wheel" and own else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel":
            tag = platform_tag()
            library = build(compiler(), library=library_for(tag)).relative_to(self.root).as_posix()
            build_data["artifacts"].append(f"/{library}")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{tag}"
