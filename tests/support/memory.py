"""How much memory a process has taken."""

import resource
from pathlib import Path


def most_memory():
    """The most bytes that this process has held since its program began.

    `ru_maxrss` alone would also count what the parent held when it made this process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
