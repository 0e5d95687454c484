"""The demo's report: one page that tells what was done and what it is worth."""

from __future__ import annotations

import math
import os
from pathlib import Path

import extremal as ex
from extremal._common.plot import BLUE, ORANGE
from extremal._common.words import factor
from extremal.auditing import pictures
from extremal.auditing.report import (
    Section,
    curve_section,
    drawn,
    leakage_section,
    matrix_section,
    page,
    promise_boxes,
    risk_sections,
)
from extremal.auditing.text import Cells

from .run import (
    COLLECTED,
    EPSILON,
    INFORMATION,
    MISSING,
    PHONES,
    RESPONSE,
    SHARES,
    STEPS,
    Collection,
    Demo,
    Progress,
    covered,
    run,
    write,
)

FOOTER = (
    "Survey: The American National Election Studies, 1996, in the subset that statsmodels "
    "distributes; public domain. "
    "Made by: extremal demo."
)

BEFORE = [
    "Here the prior was learned from the very answers that are protected, so that everybody can repeat the demo. With "
    "real data it must come from elsewhere: an earlier survey, a register, or a small sample of people who agreed; "
    "extremal design --robust allows for the uncertainty of a sample.",
    "Only the one column is released. Other columns that depend on it, such as the vote, would tell about it.",
]


def make(
    output: str | os.PathLike[str],
    epsilon: float = EPSILON,
    seed: int | None = None,
    progress: Progress | None = None,
) -> tuple[Demo, Path]:
    """The demo, and the path of its report, which stands beside its other files."""
    done = run(output, epsilon, seed, progress)
    path = done.folder / "report.html"
    write(path, report(done))
    if progress is not None:
        progress(STEPS, STEPS, "done")
    return done, path


def comparison(done: Demo) -> tuple[list[str], list[list[str]]]:
    """The mechanisms side by side: a head and rows of text."""
    head = ["mechanism", "factor, at most", "information", "error of a share", "widest interval", "reports"]
    rows = []
    for way in done.ways.values():
        error = way.expected.root_mean_square
        rows.append(
            [
                way.name,
                factor(way.certified.realised_epsilon),
                f"{way.information:.4f}",
                f"{100 * error:.2f} points" if math.isfinite(error) else "not identified",
                f"{100 * way.expected.width:.0f} points",
                f"{len(way.certified.outputs)} kinds",
            ]
        )
    return head, rows


def summary(done: Demo) -> list[str]:
    """What the demo shows, in a few sentences."""
    way, response = done.ways[SHARES], done.ways[RESPONSE]
    inside = covered(way.estimate, done.prior.probabilities)
    return [
        "Whatever somebody wants to know about a respondent's party, one report multiplies the chance to guess it "
        f"right by at most {factor(done.epsilon)}.",
        f"For shares as exact, randomized response with the same leakage needs {done.saving:.1f} "
        f"times as many people; of the information in an answer it keeps {response.information:.4f} nats "
        f"where {done.ways[INFORMATION].information:.4f} are possible.",
        f"{inside} of {done.prior.size} true shares lie in their intervals. In many surveys about 95 % do.",
        *([] if done.collection is None else [collected(done.collection)]),
        outside(done),
    ]


def collected(collection: Collection) -> str:
    """What came in through the server."""
    inside = covered(collection.estimate, collection.truth)
    return (
        f"{collection.people} simulated phones drew their own reports and posted them to the real server; from what "
        f"arrived, {inside} of {len(collection.truth)} shares of these people lie in their intervals."
    )


def phones_section(collection: Collection | None) -> Section:
    """The shares from what the phones sent, beside the answers that stayed in them."""
    title = f"Collected from {PHONES} phones"
    if collection is None:
        return Section(title, [MISSING])
    found = collection.estimate
    series = [pictures.Series("from the store", found.shares, found.lower, found.upper, BLUE, "")]
    picture = drawn(
        lambda width: pictures.intervals(
            found.labels, series, collection.truth, f"estimated shares; {found.promise}", width
        ),
        "Marks: the true shares among those who answered, which only the phones know.",
    )
    return Section(
        title,
        [
            "While this demo ran, simulated phones of some of these people answered through the real server: each "
            "loaded the questionnaire, proved the mechanism, drew a report and posted it. No answer left a phone. "
            "survey.db holds what arrived; extremal estimate survey.db gives these figures."
        ],
        pictures=[picture],
    )


def shares_section(done: Demo) -> Section:
    """The estimates from the reports beside those of randomized response."""
    series = []
    for name, color, dash in ((SHARES, BLUE, ""), (RESPONSE, ORANGE, "6 3")):
        found = done.ways[name].estimate
        series.append(pictures.Series(name, found.shares, found.lower, found.upper, color, dash))
    return Section(
        "Shares, estimated from private reports",
        pictures=[
            drawn(
                lambda width: pictures.intervals(
                    done.prior.labels,
                    series,
                    done.prior.probabilities,
                    f"estimated shares; {done.ways[SHARES].estimate.promise}",
                    width,
                ),
                "Each line is an interval that holds its share in about 95 % of surveys; the dot is the estimate. "
                "Randomized response leaks exactly as much.",
            )
        ],
    )


def outside(done: Demo) -> str:
    """What the test from the pairs of answer and report says, and how little that is."""
    if done.outside.violation:
        return f"A test on {done.outside.pairs} pairs of answer and report says: {done.outside.verdict}."
    return (
        f"A test on {done.outside.pairs} pairs found nothing that contradicts {done.epsilon:g} "
        "(so small a test detects only gross violations)."
    )


def report(done: Demo) -> str:
    """The page."""
    lead = (
        f"{done.people} people said which party they lean to. Here each answer is replaced by a random report, and the "
        "shares of the answers are estimated back."
    )
    sections = [
        Section("In short", summary(done)),
        shares_section(done),
        phones_section(done.collection),
        comparison_section(done),
        matrix_section(done.audit, "The mechanism made for shares"),
        matrix_section(ex.audit(done.ways[INFORMATION].certified), "The mechanism with the most information"),
        curve_section(done.curve, done.epsilon),
        leakage_section(done.audit),
        *risk_sections(done.audit),
        Section("Before you do this with real data", BEFORE),
        Section("Files", table=Cells(["file", "what it is"], files(done)), words=True),
    ]
    return page(
        "Party identification, collected privately", lead, sections, FOOTER, promise_boxes(done.audit)
    )


def comparison_section(done: Demo) -> Section:
    """The mechanisms side by side, with what the figures mean."""
    return Section(
        "Three mechanisms at the same leakage",
        [
            "The best mechanism depends on what it is for. One keeps the most information about each answer; another "
            "is made for estimating shares; randomized response, the classical method, is neither."
        ],
        table=Cells(*comparison(done)),
        after=[
            "factor: by how much a report can raise any chance, proven for the integers that are drawn from. "
            "information: mutual information of answer and report in nats. error of a share: the expected root mean "
            "square for this many people, in percentage points.",
            done.proof,
        ],
    )


def files(done: Demo) -> list[list[str]]:
    """Each file with what it is."""
    rows = [
        ["answers.csv", "the answers, as they were given"],
        ["mechanism.json", "the certified mechanism made for shares"],
        ["information.json, randomized-response.json", "the two others"],
        ["private.csv", "the reports"],
        ["estimates.json", "shares with intervals, from the reports"],
        ["audit.md, audit.json", "what the mechanism leaks"],
        ["tradeoff.csv", "the curve"],
    ]
    if done.collection is not None:
        rows.append([", ".join(COLLECTED), "the survey for phones, and what they sent"])
    return rows
