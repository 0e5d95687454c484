"""A PostgreSQL of the tests' own: a new cluster on the loopback address, gone afterwards."""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from tests.support.ports import free_port

REQUIRED = os.environ.get("EXTREMAL_REQUIRE_POSTGRESQL") == "1"


def program(name):
    """The newest program of that name: Debian keeps them out of the path."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return found[-1] if found else shutil.which(name)


def available():
    """Whether a cluster can be made here: root needs somebody else to run it."""
    return bool(program("initdb")) and (os.geteuid() != 0 or _somebody() is not None)


def _somebody():
    """The name of an unprivileged user; PostgreSQL refuses to run as root."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None


class Cluster:
    """A running server, which can be stopped and started again."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.user = _somebody() if os.geteuid() == 0 else None
        self.port = None
        self.process = None

    @property
    def url(self):
        return f"postgresql://survey@127.0.0.1:{self.port}/postgres"

    def create(self):
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        self._run(
            "initdb",
            "-D",
            self.folder / "data",
            "-U",
            "survey",
            "--auth=trust",
            "--no-sync",
            "--no-locale",
            "-E",
            "UTF8",
        )

    def _run(self, name, *arguments):
        done = subprocess.run(
            [program(name), *map(str, arguments)],
            user=self.user,
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self):
        """At a port of its own, which it keeps when it is started again."""
        for _ in range(20):
            port = self.port or free_port()
            if self._starts(port):
                self.port = port
                return
            time.sleep(0.1)
        raise AssertionError((self.folder / "log").read_text())

    def _starts(self, port):
        """Whether the server answers there; another one may have taken the port in the meantime."""
        command = [program("postgres"), "-D", self.folder / "data", "-h", "127.0.0.1", "-p", port, "-k", ""]
        command += ["-c", "shared_buffers=16MB", "-c", "autovacuum=off", "-c", "fsync=off"]
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(
                list(map(str, command)), user=self.user, cwd=self.folder, stdout=log, stderr=log
            )
        while self.process.poll() is None:
            ready = subprocess.run(
                [program("pg_isready"), "-h", "127.0.0.1", "-p", str(port)], capture_output=True
            )
            if ready.returncode == 0 and self.process.poll() is None:
                return True
            time.sleep(0.05)
        return False

    def execute(self, statement):
        """Execute it, over a connection of its own."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)

    def empty(self):
        """Drop the tables of a store."""
        self.execute("DROP TABLE IF EXISTS survey, reports, waiting, invitations, stages")

    def stop(self):
        """At once, as after a failure of power; clients lose their connections."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(60)
            self.process = None


@contextmanager
def cluster():
    with tempfile.TemporaryDirectory(prefix="extremal-postgresql-") as folder:
        os.chmod(folder, 0o755)
        made = Cluster(folder)
        made.create()
        made.start()
        try:
            yield made
        finally:
            made.stop()
