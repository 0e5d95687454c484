"""What a person sees when something is wrong: one line on stderr, and a status that programs can read."""

from __future__ import annotations

import os
import re
import sys

WRONG, BAD, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
LONGEST = 600  # characters of a message

# Remedies that the library gives to callers from Python, and what to do on the command line instead.
REMEDIES = (
    (r"\boverwrite=True", "--overwrite"),
    (r'format="(\w+)"', r"--format \1"),
    (r'unknown="drop"|missing="drop"', "--missing drop"),
    (r"\bunknown_as must", "--unknown-as must"),
    (r"\bdelimiter must", "--delimiter must"),
    (r"convert it first", "convert it, e.g. with iconv -f cp1252 -t utf-8"),
    (r"\bgive id_column=(?!\w)", "give --id-column NAME"),
    (r"unknown_as=\{[^}]*\}|unknown_as=label", "--unknown-as LABEL"),
    (r"\bledger=None", "--ledger none"),
    (r"\bledger=path", "--ledger FILE"),
    (r"every wave an occasion of its own", r"\g<0> (--occasion)"),
    (r'order="(\w+)"', r"--order \1"),
    (r"key=read_key\(path\)", "--key-file FILE"),
    (r"write_key\(path\)", "extremal key FILE"),
    (r"\bids=[a-z.]*", "--id-column NAME"),
    (r"\bid_column\b", "--id-column"),
    (r"Prior\.from_counts\(counts, pseudocount=1\)", "--pseudocount 1"),
    (r"use Prior\.from_counts\(\.\.\.\)", "give --counts FILE"),
    (r"Prior\.from_counts\(\.\.\.\)", "--counts FILE"),
    (r"design\(\) [a-z ]+", "leave --method out"),
    (r"design\(prior, epsilon\)", "extremal design"),
    (r"convert text with float\(\) first", "write numbers without quotes"),
    (r"reduce_outputs\(\.\.\.\)", "fewer answers"),
    (r"prior\.epsilon_max", "-log of the smallest share"),
    (r"randomized_response_for_pml\(prior, epsilon\)", "one from --utility estimation"),
)


class CheckFailed(Exception):
    """A check that was asked for did not hold: status 1. What there is to say has been said, or is the message."""


def complain(message: object) -> None:
    """One line on stderr, whatever the message holds."""
    print(f"error: {one_line(str(message))}", file=sys.stderr)


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
    return WRONG if type(error).__name__ == "SolverError" else BAD


def message_of(error: BaseException) -> str:
    """What must hold, what was given, what to do; for errors of the library these are its own words."""
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename}" if error.filename else ""
        return f"cannot use{where}: {error.strerror}; check the path and its permissions"
    if isinstance(error, MemoryError):
        return "not enough memory; use fewer symbols or a smaller file"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply; is this the right file?"
    if type(error).__module__.split(".")[0] == "extremal" or isinstance(
        error, ValueError | TypeError | ImportError
    ):
        return _on_the_command_line(str(error)) or type(error).__name__
    return f"unexpected {type(error).__name__}: {error}; please report it (EXTREMAL_TRACEBACK=1 shows where it is)"


def _on_the_command_line(text: str) -> str:
    for pattern, remedy in REMEDIES:
        text = re.sub(pattern, remedy, text)
    return text
