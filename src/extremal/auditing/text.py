"""An audit in words, for readers who are no statisticians.

Figures, labels and tables as they stand in text come first; what is rounded still holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from .._common.frames import html_rows
from .._common.json import finite_or_none
from .._common.words import at_least, at_most, counted, factor, in_nats
from ..model.prior_set import PriorSet
from .figures import Disclosure, contraction, excluding, guess_bounds, leakage

if TYPE_CHECKING:
    from .audit import Audit


MOST_NAMES = 5  # labels in a sentence
MOST_ROWS = 20  # of a table
SILENT = 1 + 1e-12  # a factor that is 1 up to rounding


class Cells(NamedTuple):
    """The head and the rows of a table, as text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def markdown_table(cells: Cells) -> str:
    """The table in Markdown."""
    rows = [cells.head, ["---"] * len(cells.head), *cells.rows]
    plain = ((" ".join(cell.split()).replace("|", "\\|") for cell in row) for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in plain)


def html(text: str, *tables: Cells) -> str:
    """Lines of text and tables, for notebooks."""
    found = [f"<p>{'<br>'.join(escape(line) for line in text.splitlines())}</p>"]
    found += [f"<table>{''.join(html_rows([head, *rows]))}</table>" for head, rows in tables]
    return "".join(found)


def inert(text: str) -> str:
    """Markdown in which no label becomes a tag, a link or a picture, which would be fetched; no text here has any."""
    return text.replace("<", "&lt;").replace("](", "]\\(")


def names(labels: Sequence[Any]) -> str:
    """The first few labels, for a sentence."""
    shown, more = ", ".join(map(quoted, labels[:MOST_NAMES])), len(labels) - MOST_NAMES
    return shown + (f" and {more} more" if more > 0 else "")


def quoted(value: Any) -> str:
    """A label as it stands in a sentence."""
    return f"“{label(value)}”"


def label(value: Any) -> str:
    """A label as text; parts of a tuple are separated by commas."""
    text = ", ".join(label(part) for part in value) if isinstance(value, list | tuple) else str(value)
    return " ".join(text.split())[:80]


def number(value: float | None) -> str:
    """A figure with four digits; infinite where there is none."""
    return "infinite" if value is None else f"{value:.4g}"


def chance(p: float) -> str:
    """A probability in per cent with three digits, never rounded to certainty or impossibility."""
    text = f"{100 * p:.3g}"
    return "more than 99.9 %" if p < 1 and text == "100" else f"{text} %"


def share_of(share: float) -> str:
    """A share of all reports in per cent, never rounded to all or none of them."""
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.3g} %"


def percentage(p: float) -> str:
    """A probability as a share of people or reports, never rounded to nobody or everybody."""
    return share_of(p).replace("> ", "more than ").replace("< ", "less than ")


def sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def silent(made: Audit) -> bool:
    """Whether reports say nothing: the factor is 1 up to rounding."""
    return math.exp(made.epsilon) <= SILENT


def short(made: Audit) -> str:
    """The three lines a person should know."""
    worst, nominal = made.worst_case, "" if made.prior_set is None else " under the nominal prior"
    lines = [
        f"leakage at most {in_nats(at_most(made.epsilon))}: no report makes any guess more than "
        f"{factor(made.epsilon)} times as likely to be right{_for_every_prior(made.prior_set)}",
        f"worst case{nominal}: report {quoted(worst.report)} raises answer {quoted(worst.symbol)} "
        f"from {chance(worst.before)} to {chance(worst.after)}",
    ]
    if made.doubt.disclosed:
        lines.insert(0, f"no protection: {made.doubt}")
    if silent(made):
        lines = ["leakage 0: no report says anything about the answer"]
    least = f"; {least_certain(made)}" if made.disclosures else ""
    lines.append(f"certainty: {ruled_out(made)}{least}")
    if made.near_certainty is not None:
        lines.append("near certainty: " + nearly_certain(made))
    return "\n".join(lines)


def _for_every_prior(known: PriorSet | None) -> str:
    """To whom the bound applies, where the prior is only known to lie in a set."""
    if known is None:
        return ""
    sure = f", which holds the true one with confidence {known.confidence:.6g}"
    claimed = f"; that it holds the true one with confidence {known.confidence:.6g} is claimed, not proven"
    said = "" if known.confidence == 1 else sure if known.evidence is not None else claimed
    return f", for every prior in the set ({known.description}){said}"


def markdown(made: Audit) -> str:
    """The whole audit as a Markdown page."""
    parts = ["# Privacy audit"]
    for title, said in sections(made):
        parts += [f"## {title}", *(x if isinstance(x, str) else markdown_table(x) for x in said)]
    return inert("\n\n".join(parts)) + "\n"


def page(made: Audit) -> str:
    """The audit as HTML for notebooks: the short words, the risk of being guessed, the reports."""
    return html(short(made), _guess_table(made), _report_table(made))


def told(said: Sequence[str | Cells]) -> list[str]:
    """The sentences alone: no tables, and each item of a list by itself."""
    return [line.removeprefix("- ") for x in said if isinstance(x, str) for line in x.split("\n")]


def sections(made: Audit) -> list[tuple[str, list[str | Cells]]]:
    """Titles, paragraphs and tables, in reading order."""
    return [
        ("In short", [*_summary(made)]),
        ("What an observer can guess", [*_guessing(made), _guess_table(made)]),
        ("What can become certain", [*_certainty(made)]),
        ("The reports", [*_spread(made), _event_table(made), _report_table(made)]),
        ("Other measures", [_measure_table(made)]),
        ("What this rests on", [_assumptions(made.prior_set)]),
    ]


def _summary(made: Audit) -> list[str]:
    lines = [*promise(made), f"{sentence_case(ruled_out(made))}.", *left_open(made)]
    if made.exact:
        lines.append(
            "Reports are drawn from integers. The figures for each report are computed from these, exactly, and "
            f"rounded up. The mechanism is certified for ε = {number(made.certified_epsilon)}."
        )
    return lines


def promise(made: Audit) -> list[str]:
    """What holds for every observer and every report, and where it is attained."""
    n, m, raised = made.answer_prior.size, made.mechanism.shape[1], factor(made.epsilon)
    if made.doubt.disclosed:
        return [
            f"{sentence_case(str(made.doubt))}. This mechanism protects nobody. That chances grow at most by a "
            f"factor of {raised} is true, but with this prior it excludes next to nothing."
        ]
    blocks = (
        "" if made.blocks is None else f" in {made.blocks.count} blocks of answers that are treated alike"
    )
    replaced = f"The answer, one of {n}{blocks}, is replaced with one of {m} random reports."
    if silent(made):
        return [f"{replaced} It tells nothing about the answer."]
    worst = made.worst_case
    before = f"{quoted(worst.symbol)} from {chance(worst.before)} to {chance(worst.after)}."
    return [
        f"{replaced} No report makes any guess about the answer more than {raised} times as likely to be right "
        f"(ε = {in_nats(at_most(made.epsilon))}){_for_every_prior(made.prior_set)}.",
        f"The worst report, {quoted(worst.report)}, raises the chance of the answer {before}"
        if made.prior_set is None
        else f"Under the nominal prior, which stands for the set, the report {quoted(worst.report)} raises the "
        f"chance of the answer {before} The limit is that of the least favourable prior in the set; all other chances "
        "on this page are those of the nominal one.",
    ]


def left_open(made: Audit) -> list[str]:
    """How far a report goes in ruling answers out, which the promise does not exclude, or making one nearly certain."""
    lines = []
    if made.disclosures:
        lines.append(f"{sentence_case(least_certain(made))}.")
    if made.near_certainty is not None:
        lines.append(f"A report can make an answer nearly certain: {nearly_certain(made)}.")
    return lines


def least_certain(made: Audit) -> str:
    """What a report may make certain, by how common it is."""
    before = made.disclosures[0].possible_probability
    return f"nothing becomes certain that was true of fewer than {at_least(100 * before)} % of people"


def nearly_certain(made: Audit) -> str:
    """How close reports come to giving answers away, where some make an answer nearly certain."""
    near = made.near_certainty
    assert near is not None
    return (
        f"after report {quoted(near.report)} the answer is {quoted(near.answer)} in "
        f"{percentage(near.after)} of cases, before it in {percentage(near.before)}; "
        f"{percentage(near.probability)} of reports do that; on average the best guess from a report is right in "
        f"{percentage(made.average_guess)} of cases"
    )


def ruled_out(made: Audit) -> str:
    """What the factor does not say: it bounds what becomes likelier, not what becomes impossible."""
    if not made.disclosures:
        return "no report rules out any answer"
    share = excluding(made)
    return (
        "every report rules out some answer"
        if share == 1
        else f"{share_of(share)} of reports rule out some answer"
    )


def _guessing(made: Audit) -> list[str]:
    row = guess_bounds(made)[3]
    return [
        f"Anything about the answer: a guess that is right in {100 * row['before']:g} % of cases before is right in "
        f"at most {at_most(100 * row['after_any_report'])} % after any report, and in at most "
        f"{at_most(100 * row['after_on_average'])} % on average over reports.",
        f"The answer itself: the best guess is right in {percentage(made.prior_guess)} of cases without a "
        f"report, in {percentage(made.average_guess)} on average with one, and in "
        f"{percentage(made.worst_guess)} after the report that helps most.",
    ]


def _certainty(made: Audit) -> list[str]:
    prior, found = made.answer_prior, made.disclosures
    most = min(prior.region(made.epsilon), prior.size) - 1
    lines = [
        "Whatever the mechanism, at this ε no report can make certain what was true of fewer than "
        f"{at_least(100 * math.exp(-made.epsilon))} % of people, and none can rule out "
        + ("any answer" if most == 0 else f"more than {counted(most, 'answer')} at once")
        + ". An answer counts as ruled out when a report leaves it less than a millionth of its probability."
    ]
    if not found:
        lower = made.lip_lower
        lines.append(
            "This mechanism rules nothing out: after every report every answer is still possible, so no "
            "attribute becomes certain."
            + (f" A report makes an answer at most {factor(lower)} times less likely." if lower else "")
        )
        return lines
    lines.append(sentence(found[0]))
    if len(found[0].possible) > 1:
        lines.append(f"If only {names(found[0].possible)} remain, what they have in common is certain.")
    others = [f"- {sentence(d)}" for d in found[1:MOST_ROWS]]
    if len(found) > MOST_ROWS:
        others.append(f"- … and {len(found) - MOST_ROWS} more")
    return [*lines, "\n".join(others)] if others else lines


def sentence(found: Disclosure) -> str:
    """What one kind of report makes certain."""
    reports, one_of = names(found.reports), "" if len(found.possible) == 1 else "one of "
    what = f"The report {reports} rules out" if len(found.reports) == 1 else f"Reports {reports} rule out"
    certain = "certainly" if found.left == 0 else "almost certainly"
    known = f"the answer is {certain} {one_of}{names(found.possible)}"
    return (
        f"{what} {names(found.excluded)}: {known}, which is true of {percentage(found.possible_probability)} of "
        f"people. {percentage(found.probability)} of reports do that."
    )


def _spread(made: Audit) -> list[str]:
    leaked = leakage(made)
    quantiles = ", ".join(
        f"{q['share']:.0%} of them at most {at_most(q['leakage'])}" for q in leaked["quantiles"]
    )
    return [
        f"Reports leak {in_nats(number(leaked['mean']))} on average; {quantiles}; none more than "
        f"{at_most(made.epsilon)}.",
        "An observer may pick out some reports, group them or process them further. However they do, the rarer an "
        "event is, the likelier it can make an answer"
        + ("" if made.prior_set is None else " (under the nominal prior)")
        + ":",
    ]


def _assumptions(known: PriorSet | None) -> str:
    followed = (
        "the prior that was given. If answers are rarer or more common, a report can reveal more."
        if known is None
        else f"some prior of the set that was given ({known.description}). Under a prior outside of "
        "it the leakage can be larger."
    )
    lines = [f"People's answers follow {followed}"]
    if known is not None and known.confidence < 1:
        lines.append(_sample(known))
    if known is not None and known.note:
        lines.append(f"A note by the maker of the set, not proven: {quoted(known.note)}.")
    lines += [
        "Each person sends one report, drawn afresh and independently. Several reports about one "
        "answer leak more than one, and can leak more than the sum of each: audit them together.",
        "The observer sees only this report: no columns that depend on the answer, and no order of rows. "
        "Audit columns that depend on each other together.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def _sample(known: PriorSet) -> str:
    """What the confidence of a set of priors rests on."""
    if known.evidence is None:
        return (
            f"That the set holds the true prior with confidence {known.confidence:.6g} is a claim of its maker: no "
            "evidence comes with it."
        )
    return (
        "The set was computed again from its evidence. That this evidence is a sample of these people, independent and "
        "not invented, is up to its maker."
    )


def _guess_table(made: Audit) -> Cells:
    return Cells(
        ("chance of guessing before", "after any report, at most", "on average, at most"),
        [
            (
                f"{100 * row['before']:g} %",
                f"{at_most(100 * row['after_any_report'])} %",
                f"{at_most(100 * row['after_on_average'])} %",
            )
            for row in guess_bounds(made)
        ],
    )


def _event_table(made: Audit) -> Cells:
    return Cells(
        ("chance of the event", "an answer becomes likelier by a factor of at most"),
        [(f"{100 * row['share']:g} %", factor(row["leakage"])) for row in leakage(made)["envelope"]],
    )


def _report_table(made: Audit) -> Cells:
    rows = sorted(made.outcomes, key=lambda o: -o.leakage)
    body = [
        (
            label(o.output),
            chance(o.probability),
            at_most(o.leakage),
            factor(o.leakage),
            names(o.symbols) if o.probability > 0 else "",
            names(o.excluded),
        )
        for o in rows[:MOST_ROWS]
    ]
    if len(rows) > MOST_ROWS:
        body.append((f"… {len(rows) - MOST_ROWS} more", "", "", "", "", ""))
    return Cells(("report", "how often", "leakage", "factor", "favours", "rules out"), body)


def measures_in_nats(made: Audit) -> list[tuple[str, float | None]]:
    """What is measured in nats, by its name; the best known first, None where it is infinite."""
    return [
        ("pointwise maximal leakage, worst report", made.epsilon),
        ("maximal leakage, average over reports", made.maximal_leakage),
        ("mutual information", made.mutual_information),
        ("entropy of the answer", made.answer_prior.entropy),
        ("local differential privacy", finite_or_none(made.ldp_epsilon)),
        ("local information privacy", finite_or_none(made.lip_epsilon)),
        ("pointwise maximal cost: an answer made less likely", finite_or_none(made.lip_lower)),
    ]


def _measure_table(made: Audit) -> Cells:
    kept = zip(
        ("Dobrushin: of the distance between two groups", "contraction of χ²: of the squared distance"),
        contraction(made).values(),
        strict=True,
    )
    return Cells(
        ("measure", "value"),
        [
            *(
                (name, number(value) if value is None else in_nats(number(value)))
                for name, value in measures_in_nats(made)
            ),
            *((name, f"{value:.2%} is left in the reports") for name, value in kept if value is not None),
        ],
    )
