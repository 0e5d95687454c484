"""What is released from a frame or a file: on which terms, and the job that draws it."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .._common import checks
from ..certification.certified import Certified
from ..draw.columns import shown
from ..draw.drawing import Job, Release, check_releases, choose_randomness, drops
from ..draw.keys import Keyed
from ..draw.sampler import Words
from ..errors import KeyingError, ValuesError
from .ledger import Entry, LedgerColumn, ledger_path

Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Terms:
    """On which terms answers are released, whatever holds them: what `extremal.privatize` documents."""

    keyed: Keyed | None = None
    unknown: str = "refuse"
    unknown_as: Mapping[Any, Hashable] | None = None
    allow_true_answers: bool = False
    ledger: Path | None = None
    correction: bool = False
    source: Words | None = None

    @property
    def id_column(self) -> str | None:
        """The name of the column of ids, if there is a key; a file has ids nowhere else."""
        if self.keyed is None:
            return None
        return checks.instance(self.keyed.ids, "ids", str, "the name of a column", error=KeyingError)


def plan(mechanisms: Mapping[Any, Certified], terms: Terms) -> tuple[Job, Entry]:
    """The job of releasing these columns, if it is a sensible one, and its entry in the ledger."""
    randomness = choose_randomness(terms.keyed, terms.source)
    checks.mapping(
        mechanisms,
        "mechanisms",
        "column -> certified mechanism",
        remedy='e.g. {"answer": ex.certify(design)}',
        error=ValuesError,
    )
    drop = drops(terms.unknown)
    instead = labels_instead(terms.unknown_as, mechanisms)
    releases = tuple(_release(name, certified, terms, instead) for name, certified in mechanisms.items())
    check_releases(releases)
    path = ledger_path(terms.ledger, randomness.key, terms.correction)
    entry = Entry()
    if randomness.key is not None:
        claims = [LedgerColumn(r.keyed_name, c) for r, c in zip(releases, mechanisms.values(), strict=True)]
        entry = Entry(path, randomness.key, randomness.occasion, claims, terms.correction)
    return Job(releases, randomness, drop, record=entry.add), entry


def labels_instead(given: Any, mechanisms: Mapping[Any, Certified]) -> Mapping[Any, Hashable]:
    """The label of each column that missing and unknown values count as, if columns are named that are released."""
    instead = {} if given is None else given
    if not isinstance(instead, Mapping) or not instead.keys() <= mechanisms.keys():
        raise ValuesError(
            f"must give a label for columns among {list(mechanisms)}, as {{column: label}}",
            parameter="unknown_as",
            given=shown(instead),
        )
    return instead


def _release(name: Any, certified: Any, terms: Terms, instead: Mapping[Any, Hashable]) -> Release:
    of = f" for {name!r}" if name else ""
    if not isinstance(certified, Certified):  # whatever attributes it has
        raise ValuesError(
            f"the mechanism{of} must be a certified one",
            given=type(certified).__name__,
            remedy="make one with certify(prior, mechanism, epsilon) or load(path)",
        )
    release = Release.of(name, certified.to_draw(terms.allow_true_answers, name))
    return release.with_unknown_as(instead[name]) if name in instead else release


def check_columns(job: Job, columns: Iterable[Any], what: str, ids: Any = None) -> None:
    """Refuse names that are not columns of the frame or file, and ids that are private."""
    checks.columns([*job.private, *([] if ids is None else [ids])], columns, what)
    if ids is not None and ids in job.private:
        raise ValuesError(
            "the ids must stand in a column that stays as it is",
            given=f"{ids!r}, which is to be privatised",
        )
