"""extremal certify, audit and tradeoff: what a mechanism promises, and what is possible."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

import extremal as ex
from extremal.errors import FileError, PriorError

from . import advice, options, show
from .design import utility_of
from .failure import CheckFailed
from .inputs import Source, file_or_stdin, learn, parse_mechanism, parse_prior, read_text
from .output import check_target, write_mechanism, write_text
from .progress import progress

MOST_POINTS = 1000


def certify(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help='A matrix (JSON or CSV, a row an answer) or a mechanism file; "-" reads from a pipe.',
        ),
    ],
    prior: options.Prior = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", metavar="NATS", help="The level to be proved.")
    ] = None,
    output: options.MechanismOutput = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Prove that a mechanism keeps epsilon, in exact arithmetic, and write it as a certified one.

    A mechanism file is proved anew. Exit status 1: the mechanism leaks more than epsilon.
    """
    check_target(output, overwrite, as_json)
    found = parse_mechanism(read_text(source))
    try:
        if isinstance(found, ex.Certified):
            certified = _again(found, prior, epsilon)
        else:
            if prior is None or epsilon is None:
                raise PriorError(
                    "a matrix must come with --prior and --epsilon; give both, e.g. --prior 0.5,0.5 -e 0.7"
                )
            certified = ex.certify(parse_prior(prior), found, epsilon)
    except ex.CertificationError as error:
        raise CheckFailed(str(error)) from None
    write_mechanism(certified, output, overwrite)
    facts = {
        "epsilon": certified.epsilon,
        "realised_epsilon": certified.realised_epsilon,
        "inputs": len(certified.inputs),
        "outputs": len(certified.outputs),
        "method": certified.method,
        "digest": certified.digest,
        "file": output,
    }
    if as_json:
        show.print_json(facts)
        return
    out = show.console(to_stderr=output == "-")
    out.print(
        f"Proved: no report leaks more than {show.nats(certified.epsilon, '')} (it is {certified.realised_epsilon!r}); "
        f"{facts['inputs']} inputs, {facts['outputs']} outputs, digest {certified.digest[:16]}",
        soft_wrap=True,
    )
    if output not in (None, "-"):
        out.print(f"Certified mechanism in {output}", soft_wrap=True)


def _again(found: ex.Certified, prior: str | None, epsilon: float | None) -> ex.Certified:
    """A certified mechanism, proved for another prior or level if one was asked for."""
    if prior is None and epsilon is None:
        return found
    level = found.epsilon if epsilon is None else epsilon
    other = found.prior if prior is None else _renamed(parse_prior(prior), found.inputs)
    return ex.certify(other, found.mechanism, level)


def audit(
    source: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help='A mechanism file (or matrix, with --prior); "-" for a pipe.'),
    ] = None,
    prior: options.Prior = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", metavar="NATS", help="Exit status 1 if more leaks than this."),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the whole audit as a Markdown page.")
    ] = False,
    report_file: Annotated[
        str | None,
        typer.Option("--report-file", metavar="FILE", help="Also write a page with pictures, as HTML."),
    ] = None,
    overwrite: options.Overwrite = False,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Test a system from observed pairs instead: CSV with secrets and reports."
        ),
    ] = None,
    secret: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --pairs: the column of secrets.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --pairs: the column of reports.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="With --pairs: of the bounds.")] = 0.95,
    as_json: options.Json = False,
) -> None:
    """Tell what a mechanism leaks, by report and in plain words.

    Exit status 1: more than --epsilon leaks; with --pairs: the pairs prove that more leaks.
    """
    if as_json and markdown:
        raise FileError(
            "standard output must hold one thing, got --json and --markdown; leave one of them out"
        )
    if (source is None) == (pairs is None):
        raise FileError(
            "exactly one thing must be audited: give a mechanism file, or --pairs with a CSV file"
        )
    check_target(report_file, overwrite)
    if pairs is not None:
        _audit_pairs(pairs, secret, report, epsilon, prior, confidence, as_json, markdown)
        return
    found = parse_mechanism(read_text(str(source)))
    inputs = found.inputs
    if prior is not None:
        chosen = _renamed(parse_prior(prior), inputs)
    elif isinstance(found, ex.Certified):
        chosen = found.prior
    else:
        raise PriorError(
            "a matrix must come with a prior: what it leaks depends on it; give --prior 0.5,0.3,0.2"
        )
    made = ex.audit(chosen, found)
    if report_file is not None:
        from extremal.auditing.page import mechanism_report

        write_text(report_file, mechanism_report(chosen, found), overwrite)
    if as_json:
        show.print_json(made.to_dict())
    elif markdown:
        print(show.visible(made.to_markdown()), end="")
    else:
        _tell_audit(made, advice.full_disclosure(found) if isinstance(found, ex.Certified) else [])
        if report_file is not None:
            show.console().print(f"\nPage in {report_file}", soft_wrap=True)
    if epsilon is not None and made.epsilon > epsilon + (0.0 if made.exact else 1e-9):
        raise CheckFailed(f"leakage must be at most {epsilon!r} nats, but it is {made.epsilon!r}")


def _tell_audit(made: ex.Audit, warnings: list[str]) -> None:
    out = show.console()
    show.warnings(out, warnings)
    show.heading(out, "In short")
    show.sentences(out, show.risk(made))
    show.heading(out, "What each report can tell, at most")
    out.print(show.leakage_table(out, made))
    show.heading(out, "How often a report rules out answers")
    if made.disclosures:
        from extremal.auditing.text import sentence

        found = made.to_dict()["certainty"]["disclosures"]
        show.sentences(out, [f"- {sentence(d)}" for d in found[:5]])
        if len(found) > 5:
            out.print(f"- … and {len(found) - 5} more; extremal audit --markdown tells all")
    else:
        out.print("Never: after every report every answer is still possible.")
    measures = [
        ("pointwise maximal leakage, worst report", made.epsilon),
        ("maximal leakage, average over reports", made.maximal_leakage),
        ("mutual information", made.mutual_information),
        ("entropy of the answer", made.prior.entropy),
        ("local differential privacy", made.ldp_epsilon),
    ]
    show.heading(out, "In nats")
    rows = [(name, f"{value:.4f}" if math.isfinite(value) else "none (infinite)") for name, value in measures]
    out.print(show.table(("measure", ""), rows))


def _audit_pairs(
    path: str,
    secret: str | None,
    report: str | None,
    epsilon: float | None,
    prior: str | None,
    confidence: float,
    as_json: bool,
    markdown: bool,
) -> None:
    if secret is None or report is None:
        raise FileError("--pairs must come with --secret and --report, the names of two columns")
    from extremal.release.files.read import open_data, read_texts

    with file_or_stdin(path, "csv") as name:
        x, y = (read_texts(open_data(name, (secret, report), None, None), c) for c in (secret, report))
    known = None if prior is None else parse_prior(prior)
    made = ex.audit_pairs(x, y, confidence=confidence, epsilon=epsilon, prior=known)
    if as_json:
        show.print_json(made.to_dict())
    elif markdown:
        print(show.visible(made.to_markdown()), end="")
    else:
        show.sentences(show.console(), str(made).splitlines())
    if made.violation:
        raise CheckFailed("")


def tradeoff(
    data: options.Data = None,
    column: options.Column = None,
    prior: options.Prior = None,
    counts: options.Counts = None,
    labels: options.Labels = None,
    pseudocount: options.Pseudocount = 0.0,
    missing: options.Missing = "refuse",
    epsilons: Annotated[
        str | None,
        typer.Option(metavar="E,E,...", help="Levels in nats; evenly spaced up to epsilon_max if left out."),
    ] = None,
    points: Annotated[int, typer.Option(help="How many levels, if they are not given.")] = 12,
    utility: options.CurveUtility = "mutual-information",
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help='The curve as .csv, .json or .svg; "-" prints CSV.'
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
) -> None:
    """Show the best utility at each privacy level, beside randomized response at the same leakage."""
    check_target(output, overwrite, as_json)
    kind = "csv" if output in (None, "-") else Path(str(output)).suffix.lower().lstrip(".")
    if kind not in ("csv", "json", "svg"):
        raise FileError(f"the curve must be written as .csv, .json or .svg, got {output}; choose one of them")
    learned = learn(Source(prior, data, column, counts, labels, pseudocount, missing, format, delimiter))
    levels = _levels(epsilons, points, learned.prior.epsilon_max)
    with progress("designing") as bar:
        curve = ex.tradeoff(learned.prior, levels, utility_of(utility), progress=bar)
    rows = curve.rows()
    if output is not None:
        _write_curve(curve, output, kind, overwrite)
    if as_json:
        show.print_json(
            {
                "utility": utility,
                "ceiling": curve.ceiling,
                "epsilon_max": learned.prior.epsilon_max,
                "region_edges": learned.prior.region_edges.tolist(),
                "prior": show.prior_dict(learned.prior),
                "points": rows,
                "file": output,
            }
        )
    elif output != "-":
        _tell_curve(curve, rows, output)


def _tell_curve(curve: ex.Tradeoff, rows: list[dict[str, Any]], output: str | None) -> None:
    out = show.console()
    show.heading(
        out, f"{curve.utility.name} at each epsilon; releasing the answer itself: {curve.ceiling:.4f}"
    )
    top = max(curve.ceiling, 1e-300)
    cells = [
        (
            f"{row['epsilon']:.4g}",
            f"{row['optimal']:.6f}",
            f"{row['randomized_response']:.6f}",
            f"{row['optimal'] / row['randomized_response']:.1f}x"
            if row["randomized_response"] > 1e-12
            else "",
            show.bar(row["optimal"] / top, show.room(out)),
            row["method"],
        )
        for row in rows
    ]
    head = ("epsilon", "optimal", "rand. resp.", "gain", "optimal, of the ceiling", "method")
    out.print(show.table(head, cells, (4, 5)))
    worst = float((curve.upper_bound - curve.optimal).max())
    proof = (
        f"at most {worst:.1e} more is possible anywhere"
        if math.isfinite(worst)
        else "no upper bound is known"
    )
    out.print(f"Proven: {proof}.")
    if output is not None:
        out.print(f"Curve in {output}", soft_wrap=True)


def _levels(text: str | None, points: int, top: float) -> list[float]:
    if text is None:
        if not 2 <= points <= MOST_POINTS:
            raise ex.EpsilonError(f"--points must be between 2 and {MOST_POINTS}, got {points}; 12 is usual")
        return [top * k / points for k in range(1, points + 1)]
    try:
        levels = [float(part) for part in text.split(",")]
    except ValueError:
        raise ex.EpsilonError(f"--epsilons must be numbers like 0.1,0.5,1, got {text!r:.60}") from None
    if len(levels) > MOST_POINTS:
        raise ex.EpsilonError(
            f"--epsilons must be at most {MOST_POINTS} levels, got {len(levels)}; leave some out"
        )
    return levels


def _write_curve(curve: ex.Tradeoff, output: str, kind: str, overwrite: bool) -> None:
    rows = curve.rows()
    if kind == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_text(output, text.getvalue(), overwrite)
    elif kind == "json":
        finite = [{k: None if v == math.inf else v for k, v in row.items()} for row in rows]
        write_text(output, json.dumps(finite, indent=2) + "\n", overwrite)
    else:
        from extremal.auditing import svg

        write_text(output, svg.curve(curve) + "\n", overwrite)


def _renamed(prior: ex.Prior, inputs: tuple[Any, ...]) -> ex.Prior:
    """The prior on the labels of a mechanism: by their names where they have the same, else by their order."""
    numbered = prior.labels == tuple(range(prior.size))
    by_text = {str(label): p for label, p in zip(prior.labels, prior.probabilities.tolist(), strict=True)}
    if not numbered and set(by_text) == {str(label) for label in inputs}:
        return ex.Prior([by_text[str(label)] for label in inputs], inputs)
    return ex.Prior(prior.probabilities, inputs) if numbered and prior.size == len(inputs) else prior
