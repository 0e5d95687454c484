"""The file format of certified mechanisms: versioned JSON, and no trust in what is read.

`encode` gives the document of a certified mechanism and `decode` reads one back. A document is accepted only if it is
what `encode` writes for the same content, so nothing passes that it would not have written.
Whether the weights satisfy epsilon is not decided here: building the `Certified` proves it anew for every file.
docs/api/file-format.md is the specification for other languages.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._common.files import file_name, read_bytes, reason, utf8_text, write_file
from .._common.json import canonical, parse_json
from ..errors import ExtremalError, FileError, FormatError
from ..model.evidence import Evidence
from ..model.prior import Prior
from ..model.prior_set import PriorSet
from .proof import Run, column_runs
from .stored import decimal, decimals, decode_evidence, decode_label, encode_evidence, encode_label, shares

if TYPE_CHECKING:
    from .certified import Certified

FORMAT = "extremal-mechanism"
VERSION = 2
BLOCK_VERSION = 3  # the same with a member more: the block of each input
LARGEST_FILE = 1 << 28  # bytes
LARGEST_TABLE = 1 << 24  # weights: 4096 x 4096

MEMBERS = (
    "format",
    "version",
    "library",
    "method",
    "epsilon",
    "realised_epsilon",
    "bits",
    "inputs",
    "prior",
    "prior_set",
    "outputs",
    "weights",
)

# What the digest covers: all that decides how reports are drawn and what is promised about them. Keyed draws
# depend on it, so it must not change with notes: certifying again in another release repeats every report.
DIGESTED = ("bits", "epsilon", "inputs", "outputs", "prior", "prior_set", "weights")
DIGEST_PURPOSE = b"extremal-mechanism-digest-2\0"
NOTES = ("method", "library")
BLOCKS = "blocks"
EVIDENCE = "evidence"  # a member only of files whose set of priors has some

# The members of a set of priors.
VECTORS, NUMBERS, WORDS = ("center", "lower", "upper"), ("radius", "confidence"), "description"

# Covers every other member, so that damage anywhere is noticed. Files of earlier versions lack it.
WHOLE = "file_digest"
WHOLE_PURPOSE = b"extremal-mechanism-file-1\0"


Document = dict[str, object]
"""A JSON object, of which nothing is known yet."""


def encode(made: Certified) -> Document:
    """The document of a certified mechanism, without its digests."""
    document = {
        "format": FORMAT,
        "version": VERSION if made.blocks is None else BLOCK_VERSION,
        "library": made.library,
        "method": made.method,
        "epsilon": decimal(made.epsilon),
        "realised_epsilon": decimal(made.realised_epsilon),
        "bits": made.bits,
        "inputs": [encode_label(label) for label in made.inputs],
        "prior": decimals(made.prior.probabilities.tolist()),
        "prior_set": None,
        "outputs": [encode_label(label) for label in made.outputs],
        "weights": [_encode_column(runs) for runs in column_runs(made.weights)],
    }
    if made.blocks is not None:
        document[BLOCKS] = _encode_blocks(made.blocks)
    if (priors := made.prior_set) is not None:
        document["prior_set"] = {
            "center": decimals(priors.center),
            "lower": decimals(priors.lower),
            "upper": decimals(priors.upper),
            "radius": decimal(priors.radius),
            "confidence": decimal(priors.confidence),
            WORDS: priors.note or priors.description,
        }
        if priors.evidence is not None:
            document[EVIDENCE] = encode_evidence(priors.evidence)
    return document


def digest(document: Document) -> str:
    """SHA-256, in hexadecimal, of the members that decide what is drawn; notes are not among them."""
    covered = {name: document[name] for name in (*DIGESTED, *([BLOCKS] if BLOCKS in document else []))}
    covered["prior_set"] = _without_words(covered["prior_set"])
    return hashlib.sha256(DIGEST_PURPOSE + canonical(covered).encode()).hexdigest()


def file_digest(document: Document) -> str:
    """SHA-256 of all members of a document with its digest: also of notes, which decide nothing."""
    covered = {name: value for name, value in document.items() if name != WHOLE}
    return hashlib.sha256(WHOLE_PURPOSE + canonical(covered).encode()).hexdigest()


def to_text(document: Document) -> str:
    """The document with its digests as the text of a file: one line a member, one line a column of weights."""
    document = document | {"digest": digest(document)}
    document[WHOLE] = file_digest(document)
    lines = []
    for name in (*_members(document), "digest", WHOLE):
        value = document[name]
        if name in ("weights", BLOCKS):
            columns = ",\n    ".join(map(canonical, _list(document, name)))
            lines.append(f'  "{name}": [\n    {columns}\n  ]')
        else:
            lines.append(f'  "{name}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def decode(text: str, make: type[Certified]) -> Certified:
    """The mechanism in a text, proved anew, if the text is the document that `encode` writes for it."""
    if not isinstance(text, str):
        raise FormatError(
            "a mechanism must be given as the text of its file",
            given=type(text).__name__,
            remedy="read a file with load(path)",
        )
    try:
        document = parse_json(text, LARGEST_FILE)
    except ValueError as error:
        raise FormatError(f"not a mechanism file: it must hold JSON, but {_one_line(error)}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f"not a mechanism file: it must hold a JSON object of the format {FORMAT!r}")
    if document.get("version") is True or document.get("version") not in (VERSION, BLOCK_VERSION):
        raise FormatError(
            f"mechanism file must be of version {VERSION} or {BLOCK_VERSION}",
            given=repr(document.get("version"))[:40],
            remedy="read it with the release of extremal that wrote it, or a newer one",
        )
    names = {*_members(document), "digest", *([WHOLE] if WHOLE in document else [])}
    if document.keys() != names:
        wrong = sorted(document.keys() ^ names)
        raise FormatError(
            f"mechanism file must have the members {sorted(names)}, wrong are {repr(wrong)[:80]}",
        )
    try:
        whole = file_digest(document)
        damaged = WHOLE if document.pop(WHOLE, whole) != whole else ""
        damaged = damaged or ("digest" if document.pop("digest") != digest(document) else "")
        made = None if damaged else _decode_members(document, make)
    except ExtremalError as error:
        raise error.within("mechanism file is refused: ", FormatError) from None
    except (TypeError, ValueError, KeyError, IndexError, OverflowError, RecursionError) as error:
        raise FormatError(f"mechanism file is malformed: {_one_line(error)}") from None
    if made is None:
        raise FormatError(
            f"mechanism file was altered or damaged: its {damaged} does not match its content",
            remedy="get it again from its source",
        )
    written = encode(made)
    for name in sorted((document.keys() | written.keys()) - set(NOTES)):
        given, right = (canonical(_without_words(each.get(name))) for each in (document, written))
        if given != right:  # "0.70", "1_000", a row named twice, another leakage than that of the weights
            problem = f"mechanism file is malformed: its {name} must be as extremal writes it, {right[:60]}"
            raise FormatError(problem, given=given[:60])
    return made


def _without_words(member: object) -> object:
    """The member of a document; a set of priors, the one object with such a note, without it."""
    if not isinstance(member, dict):
        return member
    return {name: value for name, value in member.items() if name != WORDS}


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, if it is not too large and is UTF-8."""
    name = file_name(path, "mechanism file", FileError)
    remedy = "save one with certified.save(path)"
    raw = read_bytes(name, LARGEST_FILE, "mechanism file", remedy=remedy, large=FormatError)
    return utf8_text(raw, name, "mechanism file", FormatError)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """The text stands under this name, whole; an interruption leaves what was there before."""
    target = file_name(path, "mechanism file", FileError)
    try:
        write_file(target, text.encode(), overwrite=True, mode=0o666)
    except OSError as error:
        raise FileError(
            "mechanism file must be one that can be written",
            given=f"{target}: {reason(error)}",
            remedy="choose a name in a folder that exists and is yours",
        ) from None


def _decode_members(document: Document, make: type[Certified]) -> Certified:
    labels, outputs, columns = (_list(document, name) for name in ("inputs", "outputs", "weights"))
    size, m = len(labels), len(outputs)
    blocks = _decode_blocks(_list(document, BLOCKS), size) if BLOCKS in document else None
    n = size if blocks is None else len(_list(document, BLOCKS))
    if n * m > LARGEST_TABLE or n == 0 or m == 0:
        raise ValueError(f"there must be 1 to {LARGEST_TABLE} weights, got {n} inputs x {m} outputs")
    if len(columns) != m:
        raise ValueError(f"every output must have a column of weights, got {len(columns)} for {m}")
    weights = np.zeros((m, n), dtype=np.uint64).T  # a column after the other, as they are read
    for j, groups in enumerate(columns):
        _decode_column(groups, weights[:, j])
    prior = Prior(shares(document["prior"], size, "prior"), map(decode_label, labels))
    evidence = decode_evidence(document[EVIDENCE], size) if EVIDENCE in document else None
    priors = None if document["prior_set"] is None else _decode_set(document["prior_set"], prior, evidence)
    level, outcomes = float(_text(document, "epsilon")), tuple(map(decode_label, outputs))
    method, library = (_text(document, name) for name in NOTES)
    return make(prior, outcomes, weights, level, method, library, priors, blocks)


def _list(document: Document, name: str) -> list[object]:
    value = document[name]
    if not isinstance(value, list):
        raise ValueError(f"{name} must be a list")
    return value


def _text(document: Document, name: str) -> str:
    value = document[name]
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string")
    return value


def _members(document: Document) -> tuple[str, ...]:
    """The members of a document of this version, without the digests."""
    blocks = [BLOCKS] if document.get("version") == BLOCK_VERSION else []
    return (*MEMBERS, *blocks, *([EVIDENCE] if document.get(EVIDENCE) is not None else []))


def _encode_blocks(blocks: NDArray[np.uint32]) -> list[str]:
    """The inputs of each block, as "0-3,5"."""
    rows = _rows_of(next(column_runs(blocks[:, None].astype(np.uint64))))
    return [rows.get(block, "") for block in range(int(blocks.max()) + 1)]


def _decode_blocks(groups: list[object], n: int) -> NDArray[np.uint32]:
    if not 0 < len(groups) <= n:
        raise ValueError("blocks must be a list, at most one for each input")
    blocks = np.full(n, len(groups), dtype=np.uint32)
    left = n
    for block, rows in enumerate(groups):
        left = _decode_rows(rows, block, blocks, left)
    if (blocks == len(groups)).any():
        raise ValueError("every input must be in a block")
    return blocks


def _decode_set(value: object, nominal: Prior, evidence: Evidence | None) -> PriorSet:
    """A set of priors; its words are made from its numbers, others are kept as a note."""
    if not isinstance(value, dict) or value.keys() != {*VECTORS, *NUMBERS, WORDS}:
        raise ValueError(f"prior_set must be null or have the members {[*VECTORS, *NUMBERS, WORDS]}")
    center, lower, upper = (
        np.array(shares(value[name], nominal.size, f"{name} of prior_set")) for name in VECTORS
    )
    radius, confidence = shares([value[name] for name in NUMBERS], 2, "prior_set")
    found = PriorSet(nominal, center, lower, upper, radius, confidence, evidence)
    words = _text(value, WORDS)
    return found if words == found.description else replace(found, note=words)


def _encode_column(runs: list[Run]) -> list[list[str]]:
    """Pairs (weight, rows that have it), the largest weight first, zeros left out."""
    rows = _rows_of(run for run in runs if run[0])
    return [[str(weight), rows[weight]] for weight in sorted(rows, reverse=True)]


def _rows_of(runs: Iterable[Run]) -> dict[int, str]:
    """The rows that have each value, as "0-3,5"."""
    rows: dict[int, list[str]] = {}
    for value, start, stop in runs:
        rows.setdefault(value, []).append(f"{start}-{stop - 1}" if stop - start > 1 else f"{start}")
    return {value: ",".join(parts) for value, parts in rows.items()}


def _decode_column(groups: object, column: NDArray[np.uint64]) -> None:
    left = len(column)  # rows still without a weight: no file may keep the reader busy by naming rows twice
    for group in groups if isinstance(groups, list) else ():
        value, rows = group
        if not isinstance(value, str):
            raise ValueError("weights must be strings")
        weight = int(value) if len(value) < 20 else 0
        if not 0 < weight < 1 << 63:
            raise ValueError(f"not a weight: {value[:40]!r}")
        left = _decode_rows(rows, weight, column, left)


def _decode_rows(rows: object, value: int, column: NDArray[np.uint64] | NDArray[np.uint32], left: int) -> int:
    """Set the rows named to a value; how many are left to be named."""
    if not isinstance(rows, str):
        raise ValueError("rows must be a string")
    for part in rows.split(","):
        first, _, last = part.partition("-")
        start, stop = int(first), int(last or first) + 1
        left -= stop - start
        if not 0 <= start < stop <= len(column) or left < 0:
            raise ValueError(f"no such rows: {part[:40]!r}")
        column[start:stop] = value
    return left


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
