"""Check wheels: names, contents, and the answers of each compiled library where this machine can run it.

    python tools/wheels.py [FOLDER]     the wheels for all platforms in a folder, dist if none is named

A library for another processor runs under qemu-user-static (with Debian's libc6-arm64-cross), one for musl with
the loader of Debian's musl, and one for Windows under wine. What could only be compiled is said. All must give the same
answers as this machine's own library, which the tests of the package check. Do not leave musl installed where Spark
runs, because its Snappy then takes the wrong library. Without installing it:

    apt-get download musl && dpkg -x musl_*.deb build/musl
    MUSL=build/musl/lib/ld-musl-x86_64.so.1 make release
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from build_native import ROOT, WHEELS, ZIG, library_for, wanted

ANSWERS = ROOT / "tools" / "known_answers.c"
ARM = "/usr/aarch64-linux-gnu"  # the C library that qemu's programs load
MUSL = str(Path(os.environ.get("MUSL", "/lib/ld-musl-x86_64.so.1")).absolute())  # musl's loader
STARTS = {"win": b"MZ", "macosx": b"\xcf\xfa\xed\xfe"}  # of a library; others begin as ELF does


def fail(wheel: Path, what: str) -> None:
    """Say what is wrong with a wheel, and end."""
    raise SystemExit(f"error: {wheel.name}: {what}")


def contents(wheel: Path, tag: str) -> tuple[bytes, dict[str, int]]:
    """The compiled library of a wheel, and the sums of its other files."""
    library = library_for(tag).relative_to(ROOT / "src").as_posix()
    with zipfile.ZipFile(wheel) as archive:
        sums = {one.filename: one.CRC for one in archive.infolist()}
        compiled = [name for name in sums if name.endswith((".so", ".dylib", ".dll"))]
        if compiled != [library]:
            fail(wheel, f"must hold the library {library} alone, got {compiled}")
        (about,) = (name for name in sums if name.endswith(".dist-info/WHEEL"))
        if Parser().parsestr(archive.read(about).decode())["Tag"] != f"py3-none-{tag}":
            fail(wheel, "its tag is not that of its name")
        content = archive.read(library)
    if not content.startswith(STARTS.get(tag.split("_")[0], b"\x7fELF")):
        fail(wheel, "its library is of another kind of system")
    return content, {name: crc for name, crc in sums.items() if name != library and ".dist-info/" not in name}


def runner(tag: str) -> list[str] | None:
    """What starts a program of a platform here; None where nothing does."""
    if tag == wanted():
        return []
    if tag == "manylinux_2_17_aarch64" and shutil.which("qemu-aarch64-static") and Path(ARM).exists():
        return ["qemu-aarch64-static", "-L", ARM]
    if tag == "musllinux_1_2_x86_64" and Path(MUSL).exists():
        return [MUSL]
    if tag == "win_amd64" and (wine := shutil.which("wine64") or shutil.which("wine")):
        return [wine]
    return None


def answers(tag: str, content: bytes, start: list[str]) -> str:
    """What the library says."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, library_for(tag).name)
        library.write_bytes(content)
        program = Path(folder, "answers.exe")
        command = [*ZIG, "-target", WHEELS[tag], "-O1", "-ffp-contract=off", str(ANSWERS), str(library)]
        subprocess.run([*command, "-o", str(program)], check=True, cwd=folder)
        variables = {"LD_LIBRARY_PATH": folder, "WINEDEBUG": "-all", "WINEPREFIX": f"{folder}/wine"}
        done = subprocess.run(
            [*start, str(program)], capture_output=True, text=True, env=os.environ | variables, cwd=folder
        )
        if done.returncode:
            raise SystemExit(f"error: {tag}: wrong answers\n{done.stdout}{done.stderr}")
        return done.stdout.replace("\r", "")


def main() -> None:
    folder = Path(*sys.argv[1:2] or [ROOT / "dist"])
    told: dict[str, str] = {}
    files: dict[str, dict[str, int]] = {}
    for tag in WHEELS:
        found = sorted(folder.glob(f"extremal-*-py3-none-{tag}.whl"))
        if len(found) != 1:
            raise SystemExit(f"error: {folder} must hold one wheel for {tag}, it holds {len(found)}")
        wheel = found[0]
        content, files[tag] = contents(wheel, tag)
        start = runner(tag)
        if start is None:
            print(f"{tag}: compiled, not run: nothing here runs it")
        else:
            told[tag] = answers(tag, content, start)
            print(f"{tag}: ran, known answers")
    if len({tuple(sorted(one.items())) for one in files.values()}) > 1:
        raise SystemExit("error: the wheels must hold the same files but for the library")
    if len(set(told.values())) > 1:
        raise SystemExit(f"error: platforms give different answers: {told}")


if __name__ == "__main__":
    main()
