"""Compile the C sources in src/extremal/_native into the library that the package loads.

    python tools/build_native.py                in a source tree
    python tools/build_native.py --cc gcc       with another compiler
    python tools/build_native.py --sanitize     with checks of addresses and undefined behaviour, by gcc or clang
    python tools/build_native.py --if-stale     only if the library is not made of the sources as they are

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

GLIBC = (2, 17)  # the oldest C library of Linux that the result runs with
MACOS = (11, 0)
FLAGS = [
    *("-std=c11", "-O3", "-g0", "-shared", "-fvisibility=hidden"),
    *("-ffp-contract=off", "-fno-math-errno"),  # IEEE arithmetic as written; sqrt is one instruction
    *("-Wall", "-Wextra"),
]
SANITIZE = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
ZIG = [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline", "-s"]


def target() -> tuple[str, str]:
    """What to compile for, in zig's words and in those of wheels; zig's is empty where it must find out itself."""
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    if sys.maxsize < 2**32 or machine not in ("x86_64", "aarch64"):
        return "", sysconfig.get_platform()
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        version = "{}.{}".format(*GLIBC)
        return f"{machine}-linux-gnu.{version}", f"manylinux_{version}_{machine}"
    if sys.platform == "darwin":
        name = "arm64" if machine == "aarch64" else machine
        return f"{machine}-macos.{MACOS[0]}.{MACOS[1]}", f"macosx_{MACOS[0]}_{MACOS[1]}_{name}"
    if sys.platform == "win32":
        return f"{machine}-windows-gnu", sysconfig.get_platform()
    return "", sysconfig.get_platform()


def named_compiler() -> str:
    """The compiler that the environment asks for, "" for none."""
    return os.environ.get("EXTREMAL_CC") or os.environ.get("CC") or ""


def compiler(named: str = "") -> list[str]:
    """The command that compiles: the one of this name, the one that the environment asks for, zig's, or `cc`."""
    oldest = ["-mmacosx-version-min={}.{}".format(*MACOS)] if sys.platform == "darwin" else []
    if named := named or named_compiler():
        return [*shlex.split(named, posix=sys.platform != "win32"), *oldest]
    if importlib.util.find_spec("ziglang"):
        triple = target()[0]
        return [*ZIG, "-target", triple] if triple else ZIG
    if found := shutil.which("cc"):
        return [found, *oldest]
    raise SystemExit("no C compiler found: pip install ziglang, or name one in EXTREMAL_CC")


def platform_tag() -> str:
    """The last part of the wheel's name: only zig's compiler makes what runs with older C libraries of Linux."""
    ours = compiler()[: len(ZIG)] == ZIG or sys.platform == "darwin"
    return (target()[1] if ours else sysconfig.get_platform()).replace("-", "_").replace(".", "_")


def build(command: list[str], flags: list[str] | None = None, library: Path = LIBRARY) -> Path:
    """The library, compiled by this command from the sources as they are now."""
    files = sorted(path.name for path in SOURCES["FOLDER"].glob("*.c"))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, LIBRARY.name)
        define = f'-DSOURCE_DIGEST="{SOURCES["source_digest"]()}"'
        position = [] if sys.platform == "win32" else ["-fPIC"]
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
        print(build(compiler(given.cc)))


if __name__ == "__main__":
    main()
