"""What a run of the benchmarks measured: tables on the terminal as they come, and a JSON file of the same.

A benchmark is a module with `run(report)`. It asks `report.level` how much to do and `report.seed` for the
seed, opens tables and adds rows, and holds figures against targets with `report.check(...)`:

    table = report.table("copying", {"case": "<20", "N": "8d", "seconds": "8.3f"}, note="best of 3")
    seconds = best(lambda: list(range(1000))).seconds
    table.row("a list", 1000, seconds, ok=report.check("a list is made within 1 s", seconds <= 1))
"""

from __future__ import annotations

import contextlib
import datetime
import importlib
import importlib.metadata
import json
import math
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import extremal as ex

LEVELS = ("tiny", "quick", "normal", "full")
PACKAGES = ("extremal", "numpy", "scipy", "highspy", "cryptography", "pyarrow", "cvxpy", "qif")


class Timed(NamedTuple):
    """The fastest of several runs: seconds by the clock, seconds of processor time, what was returned."""

    seconds: float
    cpu: float
    result: Any


def best(call: Callable[[], Any], runs: int = 3, budget: float = math.inf) -> Timed:
    """The fastest of several runs; no new one begins after `budget` seconds.

    Processor time is that of the run which took least of it: on a busy machine it says more than the clock.
    """
    begin = time.perf_counter()
    fastest = Timed(math.inf, math.inf, None)
    for _ in range(runs):
        clock, cpu = time.perf_counter(), time.process_time()
        result = call()
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
        cpu = min(cpu, fastest.cpu)
        fastest = Timed(clock, cpu, result) if clock < fastest.seconds else fastest._replace(cpu=cpu)
        if time.perf_counter() - begin > budget:
            break
    return fastest


def design_by(
    prior: ex.Prior | ex.PriorSet,
    epsilon: float,
    utility: ex.Utility,
    *,
    oracle: str,
    tolerance: float | None = None,
    time_limit: float | None = None,
) -> ex.Design:
    """The design by one way to find it, so that several can be compared."""
    from extremal.optimization.design import solve
    from extremal.optimization.effort import Effort
    from extremal.optimization.problem import Problem

    return solve(Problem(prior, epsilon, utility, oracle=oracle), Effort(tolerance, time_limit))


@dataclass
class Table:
    """Rows of figures, printed as they are added; `columns` maps headings to format specifications."""

    title: str
    columns: Mapping[str, str]
    note: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)

    def head(self) -> None:
        print(f"\n{self.title}")
        if self.note:
            print(f"  {self.note}")
        print("  " + "  ".join(self._fit(heading, heading) for heading in self.columns).rstrip())

    def row(self, *values: Any, ok: bool | None = None, **more: Any) -> None:
        """One value a column, None for none; `more` goes to the JSON file only."""
        named = dict(zip(self.columns, values, strict=True))
        self.rows.append({**named, **({} if ok is None else {"ok": ok}), **more})
        cells = [self._fit(heading, self._text(value, heading)) for heading, value in named.items()]
        verdict = {None: "", True: "  pass", False: "  FAIL"}[ok]
        print(("  " + "  ".join(cells) + verdict).rstrip(), flush=True)

    def _text(self, value: Any, heading: str) -> str:
        if value is None:
            return "-"
        return value if isinstance(value, str) else format(value, self.columns[heading])

    def _fit(self, heading: str, text: str) -> str:
        specification = self.columns[heading]
        given = re.match(r"[<>]?(\d+)", specification)
        width = max(len(heading), int(given[1]) if given else 0)
        return text.ljust(width) if specification.startswith("<") else text.rjust(width)


@dataclass
class Report:
    """The tables, targets and failures of one run. level: tiny, quick, normal or full."""

    level: str = "normal"
    seed: int = 0
    untuned: bool = False  # a seed was asked for: add priors that no one can have tuned for
    verify: bool = False  # hold every certificate of the target table against the independent checker
    tables: list[Table] = field(default_factory=list)
    targets: list[tuple[str, bool]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)  # seconds of each
    begin: float = field(default_factory=time.perf_counter)
    machine: dict[str, Any] = field(default_factory=lambda: machine())

    def at_least(self, level: str) -> bool:
        """Whether this run does as much as that level."""
        return LEVELS.index(self.level) >= LEVELS.index(level)

    def table(self, title: str, columns: Mapping[str, str], note: str = "") -> Table:
        """A new table; its title is printed at once."""
        table = Table(title, columns, note)
        table.head()
        self.tables.append(table)
        return table

    def check(self, target: str, met: bool) -> bool:
        """Record whether a target is met, and say it."""
        self.targets.append((target, bool(met)))
        return bool(met)

    def broke(self, what: str) -> None:
        """Record that something failed that must not, and go on."""
        self.failures.append(what)
        print(f"  !!! BROKE: {what}", flush=True)

    @property
    def missed(self) -> list[str]:
        return [target for target, met in self.targets if not met]

    def summary(self) -> str:
        """The verdict, loud where something was missed."""
        lines = [f"\n{time.perf_counter() - self.begin:.0f} s, load average {_load()} at the end"]
        lines.append(", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.parts.items()))
        lines.append(f"{len(self.targets) - len(self.missed)} of {len(self.targets)} targets met")
        if self.missed:
            lines += ["", "!" * 78, f"{len(self.missed)} TARGETS MISSED:"]
            lines += [f"  {target}" for target in self.missed]
            if float(self.machine["load"]) > 0.5:
                lines.append(f"(the machine was busy: load average {self.machine['load']} at the start)")
            lines.append("!" * 78)
        lines += [f"!!! BENCHMARK BROKE: {failure}" for failure in self.failures]
        return "\n".join(lines)

    def to_json(self) -> str:
        """Everything, as strict JSON: an infinite figure is the string "inf"."""
        content = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": self.machine,
            "level": self.level,
            "seed": self.seed,
            "untuned": self.untuned,
            "seconds": round(time.perf_counter() - self.begin, 1),
            "load_at_end": _load(),
            "targets": [{"target": target, "met": met} for target, met in self.targets],
            "failures": self.failures,
            "parts": self.parts,
            "tables": [{"title": t.title, "note": t.note, "rows": t.rows} for t in self.tables],
        }
        return json.dumps(_plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def machine() -> dict[str, Any]:
    """Where this runs: processor, cores, memory, versions, the commit, how busy it is."""
    cpu = platform.processor() or platform.machine()
    memory = None
    with contextlib.suppress(OSError, AttributeError):
        memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
        cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())[1]  # type: ignore[index]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    if "extremal" not in versions:  # run from the source folder
        import extremal

        versions["extremal"] = extremal.__version__
    return {
        "cpu": cpu,
        "cores": cores,
        "memory_gb": round(int(memory[1]) / 2**20, 1) if memory else None,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
        "commit": _commit(),
        "load": _load(),
    }


def _load() -> float:
    """Processes that ran or waited, on average over the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0


def _commit() -> str | None:
    """The commit of this checkout, with a plus if files differ from it."""
    here = str(Path(__file__).parent)
    command = ["git", "-C", here, "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
        return done.stdout.strip()
    return None


def _plain(value: Any) -> Any:
    """The value in terms of JSON's types."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()  # a numpy scalar
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


@dataclass(frozen=True)
class Isolated:
    """What became of a call in a process of its own: status "ok" with its result, or why there is none."""

    status: str
    result: Any = None
    peak_mb: float | None = None
    late: bool = False


def isolated(module: str, function: str, arguments: Mapping[str, Any], limit: float) -> Isolated:
    """Call a function of a benchmark module in a new process, `limit` seconds at most; it returns JSON."""
    here = str(Path(__file__).parent)
    program = (
        f"import sys; sys.path.insert(0, {here!r}); import report; report.child({module!r}, {function!r})"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(arguments),
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return Isolated(f"not done in {limit:.0f} s", late=True)
    if done.returncode < 0:
        return Isolated(f"killed by signal {-done.returncode}")
    if done.returncode > 0:
        lines = done.stderr.strip().splitlines()
        return Isolated(lines[-1][:120] if lines else f"exit status {done.returncode}")
    answer = json.loads(done.stdout.splitlines()[-1])
    return Isolated(answer.get("status", "ok"), answer.get("result"), answer.get("peak_mb"))


def child(module: str, function: str) -> None:
    """The other side of `isolated`: arguments from stdin, the result as the last line of stdout."""
    arguments = json.load(sys.stdin)
    try:
        result = getattr(importlib.import_module(module), function)(**arguments)
    except ModuleNotFoundError as error:
        print(json.dumps({"status": f"{error.name} is not installed"}))
        return
    print(json.dumps({"result": result, "peak_mb": _peak_mb()}))


def _peak_mb() -> float | None:
    """The largest resident memory of this process so far. Not ru_maxrss: that may be the parent's."""
    with contextlib.suppress(OSError):
        peak = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
        return int(peak[1]) / 1024 if peak else None
    return None
