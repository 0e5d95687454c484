"""extremal design: from a prior and an epsilon to a certified mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any

import typer

import extremal as ex

from . import advice, options, show
from .inputs import Learned, Source, learn, prior_set
from .output import check_target, finish, write_mechanism
from .progress import progress

ESTIMATION = "estimation"


@dataclass(frozen=True, eq=False)
class Made:
    """A designed mechanism with what is proven about it, for whichever utility it was made."""

    mechanism: ex.Mechanism
    epsilon: float
    facts: dict[str, Any]
    words: list[str]


def command(
    epsilon: options.Epsilon,
    data: options.Data = None,
    column: options.Column = None,
    prior: options.Prior = None,
    counts: options.Counts = None,
    labels: options.Labels = None,
    pseudocount: options.Pseudocount = 0.0,
    missing: options.Missing = "refuse",
    utility: options.Utility = "mutual-information",
    robust: Annotated[
        bool,
        typer.Option(
            "--robust",
            help="Keep epsilon for every prior that the sample leaves possible, not only for its shares.",
        ),
    ] = False,
    confidence: Annotated[
        float, typer.Option(help="With --robust: that the true prior is among these.")
    ] = 0.95,
    method: Annotated[options.Method, typer.Option(help="How to search.")] = "auto",
    tolerance: Annotated[float, typer.Option(help="Relative distance to the optimum to be proven.")] = 1e-6,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which to stop the search; no limit if left out.")
    ] = None,
    output: options.MechanismOutput = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
) -> None:
    """Design the mechanism of largest utility under epsilon-PML, and certify it.

    The prior, how frequent each answer is, is given (--prior, --counts), e.g. from a census or an earlier study, or
    counted from a column of a CSV or Parquet file (--data, --column); it stands in the mechanism file, so the latter is
    for answers that may be known. With -o the mechanism is written to a file that the other commands read: integer
    weights that keep epsilon exactly.
    """
    if robust and utility == ESTIMATION:
        raise ex.errors.UtilityError(
            "--robust and --utility estimation must not be combined: a design for estimation holds for a single prior; "
            "leave out --robust to estimate shares, or --utility estimation to keep epsilon for a set of priors"
        )
    check_target(output, overwrite, as_json)
    learned = learn(Source(prior, data, column, counts, labels, pseudocount, missing, format, delimiter))
    priors = prior_set(learned, confidence) if robust else None
    made = make(learned.prior if priors is None else priors, epsilon, utility, method, tolerance, time_limit)
    nominal = learned.prior if priors is None else priors.nominal
    certified = ex.certify(priors or nominal, made.mechanism, made.epsilon)
    write_mechanism(certified, output, overwrite)
    warnings = [
        *advice.full_disclosure(certified),
        *advice.counted_prior(data, output),
        *advice.labels(nominal.labels),
    ]
    other_way = utility != ESTIMATION and not robust and epsilon > 0
    people = (
        None if data is None else learned.observations
    )  # those of a census are not those who will be asked
    shares = advice.shares(nominal, certified.mechanism, people, other_way, utility == ESTIMATION)
    if as_json:
        facts = _facts(learned, nominal, made, certified, priors)
        show.print_json({**facts, "file": output, "warnings": [*warnings, *shares]})
        return
    _tell(learned, nominal, made, certified, output, warnings, shares)


def make(
    prior: ex.Prior | ex.PriorSet,
    epsilon: float,
    utility: str,
    method: str = "auto",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
) -> Made:
    """The design for a utility by its name; "estimation" makes estimated shares as exact as possible."""
    if utility == ESTIMATION:
        return _for_estimation(prior, epsilon, time_limit)
    size = prior.size
    with progress("designing") as bar:
        rounds = count(1)

        def report(value: float, upper: float) -> None:
            known = value > 0 and math.isfinite(upper)
            gap = f", at most {max(upper / value - 1, 0):.1e} below the optimum" if known else ""
            done = next(rounds)
            bar(done, 0, f"round {done}{gap}")

        design = ex.design(
            prior,
            epsilon,
            utility_of(utility),
            method=method,
            tolerance=tolerance,
            time_limit=time_limit,
            progress=report,
        )
    finish(design.stats.interrupted)
    facts = {
        "utility": utility,
        "value": design.value,
        "upper_bound": design.upper_bound,
        "gap": design.gap,
        "proven_optimal": design.proven,
        "method": design.method,
        "region": design.region,
        "full_disclosure": design.region > size,
        "seconds": design.stats.seconds,
    }
    return Made(design.mechanism, design.epsilon, facts, str(design).splitlines())


def utility_of(name: str) -> ex.Utility:
    """The utility of that name on the command line."""
    found = getattr(ex.utilities, name.replace("-", "_"))
    assert isinstance(found, ex.Utility)  # the parser lets no other name pass
    return found


def _for_estimation(prior: ex.Prior | ex.PriorSet, epsilon: float, time_limit: float | None) -> Made:
    assert isinstance(prior, ex.Prior)  # command() has refused sets
    found = ex.estimation_design(prior, epsilon, time_limit=20.0 if time_limit is None else time_limit)
    facts = {
        "utility": ESTIMATION,
        "value": found.trace - 1,
        "lower_bound": found.lower_bound - 1,
        "gap": found.gap,
        "proven_optimal": found.certified,
        "region": prior.region(found.epsilon),
        "full_disclosure": found.epsilon >= prior.epsilon_max,
    }
    words = str(found)
    if found.error(1000) > 1:  # of a share, so the figure tells nothing
        words = words.replace(f"from 1000 reports {found.error(1000):.4g}", "from 1000 reports –")
    return Made(found.mechanism, found.epsilon, facts, words.splitlines())


def _facts(
    learned: Learned, prior: ex.Prior, made: Made, certified: ex.Certified, priors: ex.PriorSet | None
) -> dict[str, Any]:
    facts = {
        "epsilon": made.epsilon,
        "realised_epsilon": certified.realised_epsilon,
        **made.facts,
        "observations": learned.observations,
        "prior": show.prior_dict(prior),
        "mechanism": show.mechanism_dict(certified.mechanism),
        "leakage": ex.pml(prior, certified.mechanism).tolist(),
        "digest": certified.digest,
    }
    if priors is not None:
        facts["prior_set"] = {
            "description": priors.description,
            "confidence": priors.confidence,
            "epsilon": ex.epsilon_pml(priors, certified.mechanism),
        }
    return facts


def _tell(
    learned: Learned,
    prior: ex.Prior,
    made: Made,
    certified: ex.Certified,
    output: str | None,
    warnings: list[str],
    shares: list[str],
) -> None:
    out = show.console(to_stderr=output == "-")
    show.warnings(out, [text for text in warnings if text.startswith("WARNING")])
    top = float(prior.probabilities.max())
    show.heading(out, f"Prior, {learned.words}")
    rows = [
        (show.name_of(label), f"{p:.4f}", show.bar(p / top, show.room(out)))
        for label, p in zip(prior.labels, prior.probabilities.tolist(), strict=True)
    ]
    out.print(show.table(("answer", "share", ""), rows, (0, 2)))
    show.heading(out, f"Mechanism at epsilon = {made.epsilon:g} (answers down, reports across, in %)")
    show.heat_map(out, certified.mechanism)
    show.sentences(out, made.words)
    audit = ex.audit(certified)
    show.heading(out, "What each report can tell, at most")
    out.print(show.leakage_table(out, audit))
    show.heading(out, "The risk")
    show.sentences(out, show.risk(audit))
    if audit.disclosures:
        show.sentences(out, ["Some reports rule out some answers: extremal audit says which."])
    show.sentences(out, shares)
    notes = [text for text in warnings if not text.startswith("WARNING")]
    if notes:
        show.heading(out, "Before you share this")
        show.sentences(out, notes)
    if output is not None and output != "-":
        out.print(f"\nCertified mechanism in {output}", soft_wrap=True)
    elif output is None:
        out.print("\nNothing was written; keep the mechanism with -o mechanism.json", soft_wrap=True)
