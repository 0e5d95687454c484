"""Tables with answers of a list of thousands, held in memory: each answer becomes a report on the list."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..._common.types import Ints
from ...draw.columns import Alphabet, from_numpy
from ...draw.drawing import choose_randomness
from ...draw.keys import Keyed, distinct_blocks
from ...draw.order import OrderWarning
from ...errors import FileError, ValuesError
from ...lists.answers import number_of, numbers_of, plain
from ...lists.windows import Windows
from ..job import Terms
from ..ledger import Entry, LedgerColumn, ledger_path
from .privatize import FileRelease

Write = Callable[[list[dict[str, Any]]], None]


def privatize_list(
    table: Mapping[str, list[Any]], name: str, windows: Windows, terms: Terms, order: str, write: Write
) -> FileRelease:
    """Writes the rows of a table with a report in place of each answer in the column of this name.

    The ledger knows of the reports before they are written; if that fails, its entry is taken back.
    """
    numbers, values = numbers_of(windows.labels), table[name]
    instead = (
        None if terms.unknown_as is None else number_of(numbers, str(terms.unknown_as[name]), "unknown_as")
    )
    found = [instead if value is None else numbers.get(plain(str(value)), instead) for value in values]
    lost = [k for k, number in enumerate(found) if number is None]
    if lost and terms.unknown == "refuse":
        raise ValuesError(
            "every value must be one of the answers of the list",
            given=f"others in {len(lost)} of {len(found)} rows, first in record {lost[0] + 1}",
            remedy='correct them, or use `unknown="drop"` or `unknown_as=label`',
        )
    kept = [k for k, number in enumerate(found) if number is not None]
    keyed = terms.keyed and replace(terms.keyed, ids=[table[str(terms.id_column)][k] for k in kept])
    codes = np.array([found[k] for k in kept], dtype=np.int64)
    entry = _entry(windows, name, keyed, codes, terms)
    with entry, warnings.catch_warnings():
        warnings.simplefilter("error" if order == "check" else "ignore", OrderWarning)
        try:
            answers = [windows.labels[k] for k in codes.tolist()]
            allowed = terms.allow_true_answers
            reports = windows.privatize(answers, keyed=keyed, column=name, allow_true_answers=allowed)
        except OrderWarning:
            raise FileError(
                "the order of the records must not reveal answers",
                given="answers that are sorted, or equal ones that are next to each other",
                remedy='shuffle the records first, or accept the order: `order="keep"`',
            ) from None
        entry.commit()
        write(
            [
                {**{other: column[k] for other, column in table.items()}, name: report}
                for k, report in zip(kept, reports.tolist(), strict=True)
            ]
        )
    missing = sum(values[k] is None for k in lost)
    why = {name: (missing, len(lost) - missing)} if lost else {}
    return FileRelease("", len(kept), len(lost), tuple(entry.notes), why)


def _entry(windows: Windows, name: str, keyed: Keyed | None, codes: Ints, terms: Terms) -> Entry:
    """What goes into the ledger, if there is a key."""
    randomness = choose_randomness(keyed, None)
    path = ledger_path(terms.ledger, randomness.key, terms.correction)
    if keyed is None or randomness.key is None:
        return Entry()
    claims = [LedgerColumn(name, windows)]
    entry = Entry(path, randomness.key, randomness.occasion, claims, terms.correction)
    column = from_numpy(Alphabet(tuple(range(windows.answers)), ()), codes)
    entry.add(distinct_blocks(keyed.ids, len(codes)), [column], None)
    return entry
