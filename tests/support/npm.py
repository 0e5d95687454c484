"""What npm installs for the tests, and the package that this repository makes for it.

Without npm or a registry the tests are skipped, unless EXTREMAL_REQUIRE_NODE=1 (.ci/run sets it).
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile

import pytest

from tests.support.root import ROOT

HOSTS = ROOT / "tests" / "support" / "hosts"
QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]


def lacking(what):
    """Skip, or fail where these tests are required."""
    if os.environ.get("EXTREMAL_REQUIRE_NODE") == "1":
        pytest.fail(f"EXTREMAL_REQUIRE_NODE=1, but {what}")
    pytest.skip(what)


def npm(*arguments, cwd):
    """Run npm; nothing of it is written into anybody's home."""
    program = shutil.which("npm")
    if program is None:
        lacking("there is no npm")
    return subprocess.run([program, *arguments, *QUIET], cwd=cwd, capture_output=True, text=True, timeout=600)


def installed_hosts():
    """The folder node_modules with the survey tools of the lock; it is filled once."""
    lock = (HOSTS / "package-lock.json").read_bytes()
    folder = ROOT / "build" / f"hosts-{hashlib.sha256(lock).hexdigest()[:12]}"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(HOSTS / name, folder / name)
        done = npm("ci", cwd=folder)
        if done.returncode:
            lacking(f"npm cannot install: {done.stderr.strip().partition(chr(10))[0]}")
        (folder / "ready").touch()
    return folder / "node_modules"


def packed(folder):
    """The package as `npm pack` writes it: its path, and the folder that it unpacks to."""
    made = folder / "npm"
    subprocess.run([sys.executable, str(ROOT / "tools" / "npm_package.py"), str(made)], check=True)
    done = npm("pack", str(made), "--pack-destination", str(folder), cwd=folder)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return archive, folder / "package"
