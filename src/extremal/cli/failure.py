"""What a person sees when something is wrong: one line on stderr, and a status that programs can read."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap

from extremal.errors import ExtremalError

WRONG, BAD, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
LONGEST = 600  # characters of a message

# Parameters of the library that are options of the same name.
OPTIONS = """
    answer answers between by clusters coefficient confidence correction delimiter difference drift epsilon errors
    forged format intervals ledger method model occasion power predictors pseudocount scores strata time_limit tolerance
    unknown_as weights width
"""
# What other parameters, and code that the library recommends, are called on the command line.
WORDS = {
    **{name: f"--{name.replace('_', '-')}" for name in OPTIONS.split()},
    'scores={"no": 0, "yes": 1}': "--scores no=0,yes=1",
    "a set of priors": "the set of priors for --robust",
    "ex.SampleDesign(clusters=…)": "--clusters NAME",
    "design(prior, epsilon)": "extremal design",
    "how many people gave each answer": "--data or --counts",
    "ids=": "--id-column NAME",
    "keyed=ex.Keyed(key, ids)": "--key-file FILE --id-column NAME",
    "keys.read(path)": "--key-file FILE",
    "keys.write(path)": "extremal key FILE",
    "large.windows(prior, epsilon)": "which Python has",
    "ledger=path": "--ledger FILE",
    "n": "--people",
    "occasion=": "--occasion NAME",
    "people": "--people",
    "prior.epsilon_max": "-log of the smallest share",
    "Prior.from_counts(...)": "--counts FILE",
    "Prior.from_counts(counts, pseudocount=1)": "--pseudocount 1",
    "theory.randomized_response_for_pml(prior, epsilon)": "one made to estimate shares",
    "theory.reduce_outputs(...)": "fewer answers",
    'unknown="drop"': "--missing drop",
    "unknown_as=label": "--unknown-as LABEL",
    "unknown_as={column: label}": "--unknown-as LABEL",
    "utility=ex.mutual_information": "--utility mutual-information",
}
# Code that gives an argument which is an option of the same name.
ARGUMENT = re.compile(r'(\w+)=(?:True|math\.(inf)|"([\w-]+)"|(None|[\d.]+))')


def in_words(said: str) -> str:
    """What a parameter, or code that the library recommends, is called on the command line."""
    if said in WORDS:
        return WORDS[said]
    given = [ARGUMENT.fullmatch(part) for part in said.split(", ")]
    options = [(f"--{m[1].replace('_', '-')}", "".join(x or "" for x in m.groups()[1:])) for m in given if m]
    return " ".join(" ".join(filter(None, one)).lower() for one in options) if all(given) else said


class CheckFailed(Exception):
    """A check that was asked for did not hold: status 1. What there is to say has been said, or is the message."""


def open_streams() -> bool:
    """Streams that whoever started this program has closed lead nowhere; whether results can be told.

    Else a data file would get their number, and what is said would be written into it.
    """
    heard = sys.stdout is not None
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end
    return heard


def complain(message: object) -> None:
    """One line on stderr, whatever the message holds; on a terminal wrapped between words."""
    line = f"error: {one_line(str(message))}"
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
    print(line, file=sys.stderr)


def one_line(text: str) -> str:
    """The text without line ends and other control characters, cut to a length that can be read."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return line if len(line) <= LONGEST else line[: LONGEST // 2] + " … " + line[-LONGEST // 2 :]


def status_of(error: BaseException) -> int:
    """The exit status for an error, after its one line was written."""
    if isinstance(error, CheckFailed):
        if str(error):
            complain(error)
        return WRONG
    if isinstance(error, KeyboardInterrupt):
        print("interrupted, nothing was written", file=sys.stderr)
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # The reader has gone: nothing more to say, and nothing to say it to when Python flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    complain(message_of(error))
    return WRONG if type(error).__name__ in ("SolverError", "ProofError") else BAD


def message_of(error: BaseException) -> str:
    """What must hold, what was given, what to do; for errors of the library these are its own words."""
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename}" if error.filename else ""
        return f"cannot use{where}: {error.strerror}; check the path and its permissions"
    if isinstance(error, MemoryError):
        return "not enough memory; use fewer symbols or a smaller file"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply; is this the right file?"
    if isinstance(error, ExtremalError):
        said = [error.parameter or "", *(error.remedy or "").split("`")[1::2]]
        return error.phrase({one: in_words(one) for one in said})
    if isinstance(error, ValueError | TypeError | ImportError):
        return str(error) or type(error).__name__
    return f"unexpected {type(error).__name__}: {error}; please report it (EXTREMAL_TRACEBACK=1 shows where it is)"
