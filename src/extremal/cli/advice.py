"""What a person must know before a file is passed on: sentences for the output and for the field "warnings"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import extremal as ex
from extremal._common.threads import one_thread
from extremal._common.words import gaps, listed, lookalikes

from . import show

if TYPE_CHECKING:
    from extremal.estimation.grouped import GroupedEstimate

MOST_RANKED = 200  # symbols up to which it is found out how exactly shares can be estimated
UNSURE, WIDE = 0.5, 0.9  # a standard error and a width of an interval that tell next to nothing
MANY_DROPPED = 0.1
REPORTS = 1000  # for an expected error where nobody said how many will answer
TOO_FEW = "there are too few reports to say anything"
NOTHING_ABOUT_SHARES = "these reports tell next to nothing about single shares"


def disclosure(certified: ex.Certified | ex.large.Windows) -> list[str]:
    """That reports disclose the answers, or come close, where they do."""
    from extremal.auditing.audit import disclosure as found

    if isinstance(certified, ex.large.Windows):
        return [f"WARNING: no protection: {certified.doubt}"] if certified.doubt.disclosed else []
    return found(certified)


def counted_prior(source: str | None, output: str | None) -> list[str]:
    """That a prior which was counted from data stands in the mechanism file."""
    if source is None:
        return []
    where = {None: "the mechanism file", "-": "the mechanism file"}.get(output, output)
    what = "standard input" if source == "-" else source
    return [
        f"The prior was counted from {what}, so {where} contains the exact shares. If these are the people you "
        "protect, publishing that file reveals them: take the prior from a census or an earlier study (--prior, "
        "--counts), or keep the file secret."
    ]


def labels(names: Iterable[Any]) -> list[str]:
    """Answers that are perhaps one and the same, and answers that perhaps are none; a sentence for each kind."""
    found: list[str] = []
    texts = [str(name) for name in names]
    alike = lookalikes(texts)
    if alike:
        shown = "; ".join(" and ".join(repr(show.name_of(text)) for text in group) for group in alike[:3])
        found.append(
            f"Note: these answers differ only in upper and lower case or in spaces: {shown}. If they mean the same, "
            "spell them the same first."
        )
    empty = gaps(texts)
    if empty:
        shown = ", ".join(repr(show.name_of(text)) for text in empty[:5])
        one, it = (
            ("is treated as an answer", "it means")
            if len(empty) == 1
            else ("are treated as answers", "they mean")
        )
        found.append(f"Note: {shown} {one}. If {it} 'no answer', leave the field empty and use --missing.")
    return found


@one_thread
def shares(
    prior: ex.Prior, mechanism: ex.Mechanism, people: int | None, other_way: bool, estimation: bool
) -> tuple[list[str], list[str]]:
    """Whether the shares of the answers can be estimated, and how exactly, from so many people or the usual numbers.

    `other_way`: whether --utility shares could help.
    """
    import numpy as np

    from extremal.estimation.contrasts import Channel, standard_errors

    if prior.size > MOST_RANKED:
        return [], []
    remedy = "; --utility shares makes one that can" if other_way else ""
    if int(np.linalg.matrix_rank(mechanism.matrix)) < prior.size:
        return [f"Reports of this mechanism cannot tell the shares of all answers apart{remedy}."], []
    precision = [ex.planning.precision_sentence(prior, mechanism, () if people is None else (people,))]
    n = people or REPORTS
    errors = standard_errors(Channel(mechanism.matrix, prior.probabilities), np.eye(prior.size), float(n))
    # No share can be told from 0, or some could be anything.
    nothing = bool((1.96 * errors >= prior.probabilities).all())
    if not nothing and not (np.isfinite(errors) & (errors > UNSURE)).any():
        return [], precision
    todo = "; design with --utility shares" if other_way else ""
    todo = "; ask more people, or choose a larger epsilon" if estimation else todo
    return [f"With {n} people, {NOTHING_ABOUT_SHARES}{todo}."], precision


def estimated(found: ex.Estimate | GroupedEstimate) -> list[str]:
    """That estimated shares are worth next to nothing, where they formally are identified."""
    known = [row for row in found.table.rows() if row["identified"]]
    unsure = any(
        (row["standard_error"] or 0.0) > UNSURE or row["upper"] - row["lower"] > WIDE for row in known
    )
    if unsure:
        return [
            show.sentence(f"{NOTHING_ABOUT_SHARES}; collect more, or design for shares with a larger epsilon")
        ]
    from extremal.estimation.intervals import normal_quantile

    z = normal_quantile(
        (1 - found.confidence) / 2 / max(len(known), 1)
    )  # one of many rows is above 0 by chance
    if known and all(row["estimate"] <= z * (row["standard_error"] or 0.0) for row in known):
        return [f"Taken together, no share can be told from 0: {TOO_FEW}; collect more."]
    return []


def unchanged(columns: Sequence[str], private: Sequence[str]) -> list[str]:
    """Which columns stay as they are, and what that means."""
    rest = [show.name_of(name) for name in columns if name not in private]
    if not rest:
        return []
    covered = " and ".join(show.name_of(name) for name in private)
    return [
        f"Unchanged: {listed(rest, 8)}. The limit covers only {covered}; columns that depend on it reveal more."
        if len(private) == 1
        else f"Unchanged: {listed(rest, 8)}. The limits cover only {covered}; columns that depend on them reveal more."
    ]


def together(private: Sequence[str]) -> list[str]:
    """What holds for several columns of one person."""
    if len(private) < 2:
        return []
    return [
        "Each epsilon covers only its own column. Do not add them: if the columns depend on each other, their reports "
        "together can leak more than the sum."
    ]


def dropped(rows: int, lost: int, reasons: Mapping[Any, tuple[int, int]]) -> list[str]:
    """How many records were dropped and why; a warning where they are many."""
    if not lost:
        return []
    parts = {
        name: ", ".join(
            f"{n} {what}"
            for n, what in zip(counts, ("missing", "unknown to the mechanism"), strict=True)
            if n
        )
        for name, counts in reasons.items()
    }
    why = (
        "; ".join(f"{show.name_of(name)}: {text}" for name, text in parts.items())
        if len(parts) > 1
        else "".join(parts.values())
    )
    said = [f"{lost} {'record' if lost == 1 else 'records'} dropped" + (f": {why}" if why else "")]
    if lost > MANY_DROPPED * (rows + lost):
        share = math.floor(100 * lost / (rows + lost))
        said.append(
            f"WARNING: {share}% of the records were dropped; the reports represent only the others, who may differ"
        )
    return said
