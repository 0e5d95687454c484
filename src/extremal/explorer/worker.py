"""A process that computes for the explorer: tasks come in on standard input, messages go out on standard output.

Each is a line of JSON. A task is {"task": ..., "state": ...}; the answer to it is any number of messages and, last, one
of type "end". {"cancel": true} ends the task under way when its search next reports progress. A process, not a thread:
the solver's compiled loops would keep the server from answering, and a process can be ended at once.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import queue
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import extremal as ex
from extremal._common import checks
from extremal._common.json import Document, parse_object
from extremal.errors import ExtremalError
from extremal.optimization.curves import Tradeoff

from . import compute, figures
from .state import Known, State, known_of, read_state, read_upload, utility_of

REMEMBERED = 4  # designs and curves
# What the page says for parameters and code in the library's messages.
WORDS = {
    "allow_true_answers=True": "“Allow true answers” above",
    "epsilon": "ε",
    "mechanism": "the mechanism",
    "prior": "the shares",
    "pseudocount": "what is added to every count",
    "prior.epsilon_max": "the right end of the slider",
    "never=0.5,once=0.3,often=0.2 or 0.5,0.3,0.2": "“never, 0.5”, one answer a line",
    "Prior.from_counts(...)": "“Numbers are: counts” under “More about the numbers”",
    "Prior.from_counts(counts, pseudocount=1)": "give counts and add 1 to each, under “More about the numbers”",
}
Send = Callable[[Document], None]


class Cancelled(Exception):
    """The page has moved on."""


class Worker:
    """Carries out tasks, and remembers the last designs and curves so that a download does not repeat them."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.cancelled = threading.Event()
        self.designs: OrderedDict[Any, compute.Made] = OrderedDict()
        self.curves: OrderedDict[Any, Tradeoff] = OrderedDict()

    def run(self, document: Document) -> None:
        """Carry out one task; whatever happens, the last message is "end"."""
        try:
            TASKS[checks.choice(document.get("task"), "the task", TASKS)](self, document)
        except Cancelled:
            self.send({"type": "cancelled"})
        except ExtremalError as error:
            self.send({"type": "error", "message": error.phrase(WORDS), "kind": type(error).__name__})
        except ImportError as error:
            self.send({"type": "error", "message": str(error), "kind": type(error).__name__})
        except Exception as error:  # one task that fails must not end the process
            self.send({"type": "error", "message": f"unexpected: {error!r:.300}", "kind": "unexpected"})
        self.send({"type": "end"})

    def read(self, document: Document) -> None:
        """What an uploaded file says about the prior."""
        column, second = (None if document.get(k) is None else str(document[k]) for k in ("column", "second"))
        found = read_upload(str(document["name"]), str(document["text"]), column, second)
        self.send({"type": "upload", **asdict(found)})

    def explore(self, document: Document) -> None:
        """What was read, then a first design, and the final design where the first is not."""
        state = read_state(document.get("state"))
        known = known_of(state)
        self.send({"type": "prior", **figures.prior_figures(state, known)})
        made = self.designs.get(_key(state, known))
        if made is None:
            self.send({"type": "working"})
            made = compute.first_design(state, known)
        if made is not None:
            self._show(state, made)
        if made is None or not made.final:
            made = compute.final_design(state, known, self._progress())
            self._show(state, made)
        _remember(self.designs, _key(state, known), made)

    def _show(self, state: State, made: compute.Made) -> None:
        self._check()
        self.send({"type": "design", **figures.design_figures(state, made)})
        self._check()

    def wish(self, document: Document) -> None:
        """The limit that a wanted precision needs."""
        state, wanted = read_state(document.get("state")), document.get("points")
        points = checks.number(wanted, "the precision in points", above=0, below=100)
        found = compute.least_epsilon(state, known_of(state), points, self._progress())
        self.send({"type": "wish", **found})

    def curve(self, document: Document) -> None:
        """The trade-off, with ever more points."""
        state = read_state(document.get("state"))
        known = known_of(state)
        self._curve(state, known, lambda part: self.send({"type": "curve", **figures.curve_figures(part)}))

    def _curve(self, state: State, known: Known, show: Callable[[Tradeoff], None]) -> Tradeoff:
        key = (known.prior, state.utility)
        found = self.curves.get(key)
        if found is not None:
            show(found)
            return found

        def progress(done: int, points: int) -> None:
            self._check()
            self.send({"type": "points", "done": done, "points": points})

        parts = compute.curve(known.prior, utility_of(state, known.prior), progress)
        found = next(parts)
        show(found)
        for found in parts:
            show(found)
        _remember(self.curves, key, found)
        return found

    def privatize(self, document: Document) -> None:
        """Reports for a pasted sample."""
        state = read_state(document.get("state"))
        drawn = compute.privatize_sample(
            self._final(state), str(document.get("sample", "")), state.allow_true_answers
        )
        self.send({"type": "sample", **drawn})

    def file(self, document: Document) -> None:
        """A file to download."""
        state, name = read_state(document.get("state")), str(document.get("name"))
        made = self._final(state)
        curve = None
        if name in figures.WITH_CURVE and (made.prior.size <= compute.PREVIEWED or "tradeoff" in name):
            curve = self._curve(state, known_of(state), lambda part: None)
        content = figures.make_file(name, made, curve, state.allow_true_answers)
        media = figures.MEDIA[name.rpartition(".")[2]]
        self.send({"type": "file", "media": media, "content": base64.b64encode(content).decode()})

    def _final(self, state: State) -> compute.Made:
        known = known_of(state)
        made = self.designs.get(_key(state, known)) or compute.final_design(state, known, self._progress())
        _remember(self.designs, _key(state, known), made)
        return made

    def _progress(self) -> Callable[[float, float], None]:
        rounds, last = 0, -math.inf

        def report(value: float, upper: float) -> None:
            nonlocal rounds, last
            self._check()
            rounds += 1
            now = time.perf_counter()
            if now - last > 0.1:  # a person cannot read faster
                last = now
                bound = upper if math.isfinite(upper) else None
                self.send({"type": "progress", "round": rounds, "value": value, "upper_bound": bound})

        return report

    def _check(self) -> None:
        if self.cancelled.is_set():
            raise Cancelled


WORK = (Worker.read, Worker.explore, Worker.wish, Worker.curve, Worker.privatize, Worker.file)
TASKS: dict[str, Callable[[Worker, Document], None]] = {work.__name__: work for work in WORK}


def _key(state: State, known: Known) -> Any:
    return known.prior, state.robust, state.epsilon, state.utility


def _remember(known: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > REMEMBERED:
        known.popitem(last=False)


def warm_up() -> None:
    """Load what tasks would wait for: the solver's libraries and compiled loops."""
    prior = ex.Prior([0.19, 0.15, 0.13, 0.12, 0.1, 0.08, 0.07, 0.06, 0.04, 0.03, 0.02, 0.01])
    state = State("", epsilon=0.3)
    made = compute.first_design(state, Known(prior, None, ""))
    if made is not None:
        figures.design_figures(state, made)
        compute.privatize_sample(made, "0\n1")


def main() -> None:
    """Work until standard input ends."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get between messages
    tasks: queue.SimpleQueue[Document | None] = queue.SimpleQueue()

    def send(message: Document) -> None:
        target.write(json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n")
        target.flush()

    def listen() -> None:
        for line in source:
            document = parse_object(line) or {}  # which is no task
            if document.get("cancel"):
                worker.cancelled.set()
            else:
                tasks.put(document)
        tasks.put(None)
        time.sleep(1)  # for a task that is nearly done; then nobody is there to read the rest
        os._exit(0)

    worker = Worker(send)
    threading.Thread(target=listen, daemon=True).start()
    warm = False
    while True:
        try:
            document = tasks.get(timeout=None if warm else 0.5)
        except queue.Empty:  # nobody waits: the time to load what larger alphabets need
            with contextlib.suppress(ExtremalError):  # the first task will say what is wrong
                warm_up()
            warm = True
            continue
        if document is None:
            break
        worker.cancelled.clear()
        worker.run(document)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(0)
