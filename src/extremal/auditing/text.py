"""An audit in words, from its plain figures (`Audit.to_dict`): for readers who are no statisticians.

Figures, labels and tables as they stand in text come first; what is rounded still holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from .._common.words import at_least, at_most, counted, factor, in_nats

Figures = Mapping[str, Any]

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
    for head, rows in tables:
        cells = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
        cells += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        found.append(f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>")
    return "".join(found)


def inert(text: str) -> str:
    """Markdown in which no label becomes a tag, a link or a picture, which would be fetched; no text here has any."""
    return text.replace("<", "&lt;").replace("](", "]\\(")


def names(labels: Sequence[Any], count: int) -> str:
    """The first few labels of `count`, for a sentence."""
    shown = ", ".join(quoted(x) for x in labels[:MOST_NAMES])
    return shown + (f" and {count - MOST_NAMES} more" if count > MOST_NAMES else "")


def quoted(value: Any) -> str:
    """A label as it stands in a sentence."""
    return f"“{label(value)}”"


def label(value: Any) -> str:
    """A label as text; parts of a tuple are separated by commas."""
    text = ", ".join(label(part) for part in value) if isinstance(value, list) else str(value)
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


def short(figures: Figures) -> str:
    """The three lines a person should know."""
    worst = figures["worst_case"]
    lines = [
        *([no_protection(figures)] if figures["disclosed"] else []),
        f"leakage at most {in_nats(at_most(figures['epsilon']))}: no report makes any guess more than "
        f"{factor(figures['epsilon'])} times as likely to be right{_for_every_prior(figures)}",
        f"worst case{_nominally(figures)}: report {quoted(worst['report'])} raises answer {quoted(worst['symbol'])} "
        f"from {chance(worst['before'])} to {chance(worst['after'])}",
    ]
    if figures["factor"] <= SILENT:
        lines = ["leakage 0: no report says anything about the answer"]
    found = figures["certainty"]["disclosures"]
    if found:
        lines.append(f"certainty: {ruled_out(figures)}; {least_certain(figures)}")
    else:
        lines.append(f"certainty: {ruled_out(figures)}")
    if figures["certainty"]["near_certainty"] is not None:
        lines.append("near certainty: " + nearly_certain(figures))
    return "\n".join(lines)


def no_protection(figures: Figures) -> str:
    """What must be said first of a mechanism that discloses the answers."""
    return f"no protection: {figures['disclosed']}"


def _for_every_prior(figures: Figures) -> str:
    """To whom the bound applies, where the prior is only known to lie in a set."""
    known = figures["prior_set"]
    if known is None:
        return ""
    sure = f", which holds the true one with confidence {known['confidence']:.6g}"
    claimed = f"; that it holds the true one with confidence {known['confidence']:.6g} is claimed, not proven"
    said = "" if known["confidence"] == 1 else sure if known["evidence"] else claimed
    return f", for every prior in the set ({known['description']}){said}"


def _in_blocks(figures: Figures) -> str:
    blocks = figures["blocks"]
    return "" if blocks is None else f" in {blocks} blocks of answers that are treated alike"


def _nominally(figures: Figures) -> str:
    return "" if figures["prior_set"] is None else " under the nominal prior"


def markdown(figures: Figures) -> str:
    """The whole audit as a Markdown page."""
    parts = ["# Privacy audit"]
    for title, said in sections(figures):
        parts += [f"## {title}", *(x if isinstance(x, str) else markdown_table(x) for x in said)]
    return inert("\n\n".join(parts)) + "\n"


def page(figures: Figures) -> str:
    """The audit as HTML for notebooks: the short words, the risk of being guessed, the reports."""
    return html(short(figures), _guess_table(figures), _report_table(figures))


def told(said: Sequence[str | Cells]) -> list[str]:
    """The sentences alone: no tables, and each item of a list by itself."""
    return [line.removeprefix("- ") for x in said if isinstance(x, str) for line in x.split("\n")]


def sections(figures: Figures) -> list[tuple[str, list[str | Cells]]]:
    """Titles, paragraphs and tables, in reading order."""
    return [
        ("In short", [*_summary(figures)]),
        ("What an observer can guess", [*_guessing(figures), _guess_table(figures)]),
        ("What can become certain", [*_certainty(figures)]),
        ("The reports", [*_spread(figures), _event_table(figures), _report_table(figures)]),
        ("Other measures", [_measure_table(figures)]),
        ("What this rests on", [*_assumptions(figures)]),
    ]


def _summary(figures: Figures) -> list[str]:
    exact = [
        "Reports are drawn from integers. The figures for each report are computed from these, exactly, and "
        f"rounded up. The mechanism is certified for ε = {number(figures['certified_epsilon'])}."
    ]
    certain = sentence_case(ruled_out(figures))
    return [*promise(figures), f"{certain}.", *left_open(figures), *(exact if figures["exact"] else [])]


def promise(figures: Figures) -> list[str]:
    """What holds for every observer and every report, and where it is attained."""
    n, m, raised = figures["inputs"], figures["outputs"], factor(figures["epsilon"])
    if figures["disclosed"]:
        return [
            f"{sentence_case(figures['disclosed'])}. This mechanism protects nobody. That chances grow at most by a "
            f"factor of {raised} is true, but with this prior it excludes next to nothing."
        ]
    worst, silent = figures["worst_case"], figures["factor"] <= SILENT
    told = (
        "It tells nothing about the answer."
        if silent
        else f"No report makes any guess about the answer more than {raised} times as likely to be right "
        f"(ε = {in_nats(at_most(figures['epsilon']))}){_for_every_prior(figures)}."
    )
    lines = [
        f"The answer, one of {n}{_in_blocks(figures)}, is replaced with one of {m} random reports. {told}"
    ]
    if silent:
        return lines
    if figures["prior_set"] is None:
        return [
            *lines,
            f"The worst report, {quoted(worst['report'])}, raises the chance of the answer "
            f"{quoted(worst['symbol'])} from {chance(worst['before'])} to {chance(worst['after'])}.",
        ]
    return [
        *lines,
        f"Under the nominal prior, which stands for the set, the report {quoted(worst['report'])} raises the chance of "
        f"the answer {quoted(worst['symbol'])} from {chance(worst['before'])} to {chance(worst['after'])}. "
        "The limit is that of the least favourable prior in the set; all other chances on this page are those of the "
        "nominal one.",
    ]


def left_open(figures: Figures) -> list[str]:
    """How far a report goes in ruling answers out, which the promise does not exclude, or making one nearly certain."""
    found = figures["certainty"]["disclosures"]
    lines = []
    if found:
        lines.append(f"{sentence_case(least_certain(figures))}.")
    if figures["certainty"]["near_certainty"] is not None:
        lines.append(f"A report can make an answer nearly certain: {nearly_certain(figures)}.")
    return lines


def least_certain(figures: Figures) -> str:
    """What a report may make certain, by how common it is."""
    before = figures["certainty"]["disclosures"][0]["possible_probability"]
    return f"nothing becomes certain that was true of fewer than {at_least(100 * before)} % of people"


def nearly_certain(figures: Figures) -> str:
    """How close reports come to giving answers away, where some make an answer nearly certain."""
    near, right = figures["certainty"]["near_certainty"], figures["guessing"]["secret"]["after_on_average"]
    return (
        f"after report {quoted(near['report'])} the answer is {quoted(near['answer'])} in "
        f"{percentage(near['after'])} of cases, before it in {percentage(near['before'])}; "
        f"{percentage(near['probability'])} of reports do that; on average the best guess from a report is right in "
        f"{percentage(right)} of cases"
    )


def ruled_out(figures: Figures) -> str:
    """What the factor does not say: it bounds what becomes likelier, not what becomes impossible."""
    if not figures["certainty"]["disclosures"]:
        return "no report rules out any answer"
    share = figures["certainty"]["probability_that_some_answer_is_excluded"]
    return (
        "every report rules out some answer"
        if share == 1
        else f"{share_of(share)} of reports rule out some answer"
    )


def _guessing(figures: Figures) -> list[str]:
    secret, row = figures["guessing"]["secret"], figures["guessing"]["bounds"][3]
    return [
        f"Anything about the answer: a guess that is right in {100 * row['before']:g} % of cases before is right in "
        f"at most {at_most(100 * row['after_any_report'])} % after any report, and in at most "
        f"{at_most(100 * row['after_on_average'])} % on average over reports.",
        f"The answer itself: the best guess is right in {percentage(secret['before'])} of cases without a "
        f"report, in {percentage(secret['after_on_average'])} on average with one, and in "
        f"{percentage(secret['after_worst_report'])} after the report that helps most.",
    ]


def _certainty(figures: Figures) -> list[str]:
    certainty, found = figures["certainty"], figures["certainty"]["disclosures"]
    limit = certainty["least_probability_that_can_be_confirmed"]
    most = certainty["most_answers_that_can_be_excluded"]
    lines = [
        "Whatever the mechanism, at this ε no report can make certain what was true of fewer than "
        f"{at_least(100 * limit)} % of people, and none can rule out "
        + ("any answer" if most == 0 else f"more than {counted(most, 'answer')} at once")
        + ". An answer counts as ruled out when a report leaves it less than a millionth of its probability."
    ]
    if not found:
        lower = figures["measures"]["lip_lower"]
        lines.append(
            "This mechanism rules nothing out: after every report every answer is still possible, so no "
            "attribute becomes certain."
            + (f" A report makes an answer at most {factor(lower)} times less likely." if lower else "")
        )
        return lines
    first = found[0]
    lines.append(sentence(first))
    if first["possible_count"] > 1:
        remaining = names(first["possible"], first["possible_count"])
        lines.append(f"If only {remaining} remain, what they have in common is certain.")
    others = [f"- {sentence(d)}" for d in found[1:MOST_ROWS]]
    if len(found) > MOST_ROWS:
        others.append(f"- … and {len(found) - MOST_ROWS} more")
    return [*lines, "\n".join(others)] if others else lines


def sentence(disclosure: Figures) -> str:
    """What one kind of report makes certain."""
    out, possible = disclosure["excluded_count"], disclosure["possible_count"]
    reports = names(disclosure["reports"], disclosure["report_count"])
    what = (
        f"The report {reports} rules out"
        if disclosure["report_count"] == 1
        else f"Reports {reports} rule out"
    )
    kept = disclosure["possible_probability"]
    certain = "certainly" if disclosure["left"] == 0 else "almost certainly"
    one_of = "" if possible == 1 else "one of "
    answers = names(disclosure["possible"], possible)
    known = f"the answer is {certain} {one_of}{answers}, which is true of {percentage(kept)} of people"
    often = f"{percentage(disclosure['probability'])} of reports do that"
    return f"{what} {names(disclosure['excluded'], out)}: {known}. {often}."


def _spread(figures: Figures) -> list[str]:
    quantiles = ", ".join(
        f"{q['share']:.0%} of them at most {at_most(q['leakage'])}" for q in figures["leakage"]["quantiles"]
    )
    return [
        f"Reports leak {in_nats(number(figures['leakage']['mean']))} on average; {quantiles}; none more than "
        f"{at_most(figures['epsilon'])}.",
        "An observer may pick out some reports, group them or process them further. However they do, the rarer an "
        "event is, the likelier it can make an answer"
        + ("" if figures["prior_set"] is None else " (under the nominal prior)")
        + ":",
    ]


def _assumptions(figures: Figures) -> list[str]:
    followed = (
        "the prior that was given. If answers are rarer or more common, a report can reveal more."
        if figures["prior_set"] is None
        else f"some prior of the set that was given ({figures['prior_set']['description']}). Under a prior outside of "
        "it the leakage can be larger."
    )
    known = figures["prior_set"]
    note = "" if known is None else known["note"]
    return [
        "\n".join(
            (
                f"- People's answers follow {followed}",
                *(["- " + _sample(known)] if known is not None and known["confidence"] < 1 else []),
                *([f"- A note by the maker of the set, not proven: {quoted(note)}."] if note else []),
                "- Each person sends one report, drawn afresh and independently. Several reports about one "
                "answer leak more than one, and can leak more than the sum of each: audit them together.",
                "- The observer sees only this report: no columns that depend on the answer, and no order of rows. "
                "Audit columns that depend on each other together.",
            )
        )
    ]


def _sample(known: Figures) -> str:
    """What the confidence of a set of priors rests on."""
    if not known["evidence"]:
        return (
            f"That the set holds the true prior with confidence {known['confidence']:.6g} is a claim of its maker: no "
            "evidence comes with it."
        )
    return (
        "The set was computed again from its evidence. That this evidence is a sample of these people, independent and "
        "not invented, is up to its maker."
    )


def _guess_table(figures: Figures) -> Cells:
    return Cells(
        ("chance of guessing before", "after any report, at most", "on average, at most"),
        [
            (
                f"{100 * row['before']:g} %",
                f"{at_most(100 * row['after_any_report'])} %",
                f"{at_most(100 * row['after_on_average'])} %",
            )
            for row in figures["guessing"]["bounds"]
        ],
    )


def _event_table(figures: Figures) -> Cells:
    return Cells(
        ("chance of the event", "an answer becomes likelier by a factor of at most"),
        [(f"{100 * row['share']:g} %", factor(row["leakage"])) for row in figures["leakage"]["envelope"]],
    )


def _report_table(figures: Figures) -> Cells:
    rows = sorted(figures["outcomes"], key=lambda o: -o["leakage"])
    body = [
        (
            label(o["report"]),
            chance(o["probability"]),
            at_most(o["leakage"]),
            factor(o["leakage"]),
            names(o["symbols"], o["symbol_count"]) if o["probability"] > 0 else "",
            names(o["excluded"], o["excluded_count"]) if o["excluded_count"] else "",
        )
        for o in rows[:MOST_ROWS]
    ]
    if len(rows) > MOST_ROWS:
        body.append((f"… {len(rows) - MOST_ROWS} more", "", "", "", "", ""))
    return Cells(("report", "how often", "leakage", "factor", "favours", "rules out"), body)


def measures_in_nats(figures: Figures) -> list[tuple[str, float | None]]:
    """What is measured in nats, by its name; the best known first, None where it is infinite."""
    measures = figures["measures"]
    return [
        ("pointwise maximal leakage, worst report", figures["epsilon"]),
        ("maximal leakage, average over reports", measures["maximal_leakage"]),
        ("mutual information", measures["mutual_information"]),
        ("entropy of the answer", measures["entropy"]),
        ("local differential privacy", measures["ldp_epsilon"]),
        ("local information privacy", measures["lip_epsilon"]),
        ("pointwise maximal cost: an answer made less likely", measures["lip_lower"]),
    ]


def _measure_table(figures: Figures) -> Cells:
    measures = figures["measures"]
    kept = [
        ("Dobrushin: of the distance between two groups", measures["dobrushin"]),
        ("contraction of χ²: of the squared distance", measures["chi_squared_contraction"]),
    ]
    return Cells(
        ("measure", "value"),
        [
            *(
                (name, in_nats(number(value)) if value is not None else number(value))
                for name, value in measures_in_nats(figures)
            ),
            *((name, f"{value:.2%} is left in the reports") for name, value in kept if value is not None),
        ],
    )
