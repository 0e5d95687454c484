"""Compile the C sources in src/extremal/_native into the library that the package loads.

    python tools/build_native.py                in a source tree
    python tools/build_native.py --cc gcc       with another compiler
    python tools/build_native.py --sanitize     with checks of addresses and undefined behaviour, by gcc or clang
    python tools/build_native.py --if-stale     only if the library is not made of the sources as they are

EXTREMAL_PLATFORM=TAG makes the library, and so the wheel, for another platform, one of WHEELS below, with zig on any
machine.

The compiler is that of --cc, of EXTREMAL_CC, or of CC, whichever is given first; otherwise zig's (`pip install
ziglang`), and `cc` where that is not installed. Warnings are errors if EXTREMAL_WERROR=1, as in continuous integration.
Installing the package runs this too (hatch_build.py). The same sources give the same results on every processor:
no option allows the compiler to reorder or fuse floating-point operations, or to use what this machine alone has.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import platform
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = runpy.run_path(str(ROOT / "src" / "extremal" / "_native" / "sources.py"))
LIBRARY: Path = SOURCES["LIBRARY"]

MACOS = "11.0"  # the oldest that the result runs with; of Linux the C library glibc 2.17 or musl 1.2
WHEELS = {  # the last part of a wheel's name, and zig's word for that platform
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "macosx_11_0_x86_64": f"x86_64-macos.{MACOS}",
    "macosx_11_0_arm64": f"aarch64-macos.{MACOS}",
    "win_amd64": "x86_64-windows-gnu",
}
ENDINGS = {
    "win": ".dll",
    "macosx": ".dylib",
}  # of a library, by the first word of the platform; others have .so
FLAGS = [
    *("-std=c11", "-O3", "-g0", "-shared", "-fvisibility=hidden"),
    *("-ffp-contract=off", "-fno-math-errno"),  # IEEE arithmetic as written; sqrt is one instruction
    *("-Wall", "-Wextra"),
]
SANITIZE = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
ZIG = [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline", "-s"]


def wanted() -> str:
    """The platform to compile for, as wheels name it: the one of EXTREMAL_PLATFORM, or this machine's."""
    if named := os.environ.get("EXTREMAL_PLATFORM"):
        if named not in WHEELS:
            raise SystemExit(f"EXTREMAL_PLATFORM must be one of {', '.join(WHEELS)}, got {named}")
        return named
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    if sys.maxsize > 2**32 and sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        return f"manylinux_2_17_{machine}"
    if sys.platform == "darwin":
        return f"macosx_11_0_{machine.replace('aarch64', 'arm64')}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def named_compiler() -> str:
    """The compiler that the environment asks for, "" for none."""
    return os.environ.get("EXTREMAL_CC") or os.environ.get("CC") or ""


def compiler(named: str = "") -> list[str]:
    """The command that compiles: the one of this name, the one that the environment asks for, zig's, or `cc`."""
    if os.environ.get("EXTREMAL_PLATFORM"):
        return [*ZIG, "-target", WHEELS[wanted()]]
    oldest = [f"-mmacosx-version-min={MACOS}"] if sys.platform == "darwin" else []
    if named := named or named_compiler():
        return [*shlex.split(named, posix=sys.platform != "win32"), *oldest]
    if importlib.util.find_spec("ziglang"):
        triple = WHEELS.get(wanted())
        return [*ZIG, "-target", triple] if triple else ZIG
    if found := shutil.which("cc"):
        return [found, *oldest]
    raise SystemExit("no C compiler found: pip install ziglang, or name one in EXTREMAL_CC")


def platform_tag() -> str:
    """The last part of the wheel's name: only zig's compiler makes what runs with older C libraries of Linux."""
    ours = compiler()[: len(ZIG)] == ZIG or sys.platform == "darwin"
    return wanted() if ours else sysconfig.get_platform().replace("-", "_").replace(".", "_")


def library_for(tag: str) -> Path:
    """Where the library for a platform lies in the package."""
    return LIBRARY.with_suffix(ENDINGS.get(tag.split("_")[0], ".so"))


def build(command: list[str], flags: list[str] | None = None, library: Path = LIBRARY) -> Path:
    """The library, compiled by this command from the sources as they are now."""
    files = sorted(path.name for path in SOURCES["FOLDER"].glob("*.c"))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, library.name)
        define = f'-DSOURCE_DIGEST="{SOURCES["source_digest"]()}"'
        position = [] if library.suffix == ".dll" else ["-fPIC"]
        strict = ["-Werror"] if os.environ.get("EXTREMAL_WERROR") == "1" else []
        command = [*command, *FLAGS, *position, *strict, *(flags or []), define, *files, "-o", str(made)]
        # Zig's cache lies in the user's cache folder, or, where that cannot be written, in a temporary one.
        caches = {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}
        for variables in ({}, caches):
            done = subprocess.run(
                command,
                cwd=SOURCES["FOLDER"],
                env={**os.environ, **variables},
                capture_output=True,
                text=True,
            )
            if done.returncode == 0:
                break
        if done.returncode or not made.exists():
            raise SystemExit(f"compiling failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
        if done.stderr:
            print(done.stderr, file=sys.stderr)
        # Replaced in one step: another process may have the old one open.
        fresh = library.with_name(f"{library.name}.{os.getpid()}.part")
        fresh.write_bytes(made.read_bytes())
        os.replace(fresh, library)
    return library


def is_stale() -> bool:
    """Whether the library is missing, broken, or made of other sources."""
    try:
        made_of = ctypes.CDLL(str(LIBRARY)).extremal_source_digest
        made_of.restype = ctypes.c_char_p
        return bool(made_of() != SOURCES["source_digest"]().encode())
    except (OSError, AttributeError):
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description="Compile the C sources of the package.")
    parser.add_argument("--cc", default="", help="the compiler")
    parser.add_argument(
        "--sanitize", action="store_true", help="check addresses and arithmetic, with gcc or clang"
    )
    parser.add_argument("--if-stale", action="store_true", help="do nothing if the library fits the sources")
    given = parser.parse_args()
    if given.if_stale and not is_stale():
        return
    if given.sanitize:
        print(build(compiler(given.cc or named_compiler() or "gcc"), SANITIZE))
    else:
        print(build(compiler(given.cc), library=library_for(wanted())))


if __name__ == "__main__":
    main()
