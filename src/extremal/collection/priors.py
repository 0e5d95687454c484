"""Priors in a survey: of the answers to one question, of the items of a set, and of several questions together."""

from __future__ import annotations

from itertools import product
from typing import Any

from ..model.prior import Prior
from ..model.reading import csv_rows, number, read_counts, read_table, table_of
from .sets import item_prior, subsets_of
from .tables import Table, is_number, read_text


def read_prior(table: Table, answers: tuple[str, ...], several: bool, key: str) -> tuple[Prior, bool]:
    """The prior of the answers, or of the subsets of items, and whether it was given item by item."""
    labels, numbers = _numbers(table, key, several)
    if several and labels is not None and all(set(label) <= {"0", "1"} for label in labels):
        labels = [label.zfill(len(answers)) for label in labels]  # 0110 in a CSV file may have lost its zero
    subsets = several and labels is not None and set(labels) <= set(subsets_of(len(answers)))
    expected = subsets_of(len(answers)) if subsets else answers
    if labels is None and numbers == "uniform":
        if several:
            return item_prior([0.5] * len(answers)), True
        return Prior.uniform(answers), False
    values = _in_order(table, key, labels, numbers, expected, key == "counts" or subsets)
    if several and not subsets:
        if key == "counts":
            raise table.wrong(
                key,
                "of a question with several answers must be counts of subsets",
                remedy=f"name each by 0 and 1 in the order of the items, like {'01' * 6:.{len(expected)}}",
            )
        if not all(0 < p < 1 for p in values):
            raise table.wrong(key, "must be shares between 0 and 1, one for each item", values)
        return item_prior(values), True
    extra = table.number_of("pseudocount", lambda x: x >= 0, "a number from 0") or 0.0
    if key == "counts":
        return Prior.from_counts(values, extra, expected), False
    return Prior(values, expected), False


def _numbers(table: Table, key: str, several: bool) -> tuple[list[str] | None, Any]:
    """Labels, if there are any, and numbers; percentages are texts."""
    given = table.values[key]
    if several and isinstance(given, list | dict):  # shares of items need not sum to 1
        values = list(given.values()) if isinstance(given, dict) else given
        numbers = [number(x) if isinstance(x, str) else x for x in values]
        if not all(map(is_number, numbers)):
            raise table.wrong(key, "must be numbers or percentages", given)
        return list(given) if isinstance(given, dict) else None, numbers
    if isinstance(given, str):
        if key == "counts":
            counts = read_counts(read_text(str(table.file(key))))
            return [str(label) for label in counts], list(counts.values())
        if given.strip() == "uniform":
            return None, "uniform"
        found = read_table(given)
    elif isinstance(given, list) and any(isinstance(x, str) for x in given):
        found = read_table("\n".join(map(str, given)))
    elif isinstance(given, dict) and any(isinstance(x, str) for x in given.values()):
        found = read_table("\n".join(f"{k}={x}" for k, x in given.items()))
    else:
        found = table_of(given)
    return None if found.labels is None else [str(x) for x in found.labels], found.numbers


def _in_order(
    table: Table, key: str, labels: list[str] | None, numbers: Any, expected: tuple[str, ...], sparse: bool
) -> list[float]:
    """The numbers in the order of the answers."""
    if labels is None:
        if len(numbers) != len(expected):
            raise table.wrong(key, f"must be {len(expected)} numbers, one for each answer", f"{len(numbers)}")
        return [float(x) for x in numbers]
    by_label = dict(zip(labels, numbers, strict=True))
    unknown = [label for label in by_label if label not in expected]
    missing = [label for label in expected if label not in by_label]
    if unknown or (missing and not sparse):
        what = f"{unknown[0]!r}, which is no answer" if unknown else f"nothing for {missing[0]!r}"
        raise table.wrong(
            key, "must have the answers as labels", what, f"answers are {', '.join(expected[:8])}"
        )
    return [float(by_label.get(label, 0.0)) for label in expected]


def read_joint(table: Table, alphabets: dict[str, tuple[str, ...]]) -> tuple[tuple[str, ...], Prior]:
    """The names of the questions in a cross table, and the prior of their answers together."""
    table.only(["counts", "pseudocount"])
    rows = csv_rows(read_text(str(table.file("counts"))))
    head = [cell.strip() for cell in rows[0][1]] if rows else []
    names = head[:-1]
    if len(names) < 2 or len(set(names)) < len(names) or not set(names) <= set(alphabets):
        raise table.wrong(
            "counts",
            "must name a CSV file with a column for each of 2 or more questions, and the counts last",
            ",".join(head),
            f"the header is like {','.join([*list(alphabets)[:2], 'count'])}",
        )
    counts: dict[Any, float] = dict.fromkeys(product(*(alphabets[name] for name in names)), 0.0)
    for line, cells in rows[1:]:
        label = tuple(cell.strip() for cell in cells[:-1])
        value = number(cells[-1]) if cells else None
        if label not in counts or value is None or value < 0:
            raise table.wrong("counts", f"has a row that does not fit, line {line}", ",".join(cells)[:60])
        counts[label] += value
    extra = table.number_of("pseudocount", lambda x: x >= 0, "a number from 0") or 0.0
    kept = {label: value + extra for label, value in counts.items() if value + extra > 0}
    if len(kept) < 2:
        raise table.wrong("counts", "must hold at least 2 combinations of answers that occur")
    for k, name in enumerate(names):
        found = {label[k] for label in kept}
        if len(found) < 2:
            raise table.wrong(
                "counts",
                f"must hold at least 2 answers to {name} that occur",
                f"{found.pop()!r} alone",
                "add counts or a pseudocount, or leave the question out of the table",
            )
    return tuple(names), Prior.from_counts(kept)
