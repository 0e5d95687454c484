"""extremal design: from a prior and an epsilon to a certified mechanism."""

from __future__ import annotations

import math
from itertools import count
from typing import Annotated, Any

import typer

import extremal as ex

from ..model.reading import number
from . import advice, options, show
from .inputs import Learned, learn, prior_set
from .output import check_target, finish, write_mechanism
from .progress import progress


@options.with_source
def command(
    epsilon: options.Epsilon,
    source: options.Source,
    utility: options.Utility = "shares",
    robust: Annotated[
        bool,
        typer.Option(
            "--robust",
            help="Keep epsilon for every prior that fits the counted sample, not only for the shares in it.",
        ),
    ] = False,
    confidence: Annotated[
        float, typer.Option(help="With --robust: the confidence that the true prior is among those covered.")
    ] = 0.95,
    method: Annotated[options.Method, typer.Option(help="The algorithm; auto picks one.")] = "auto",
    tolerance: Annotated[
        float | None,
        typer.Option(help="How close to the optimum the design must be proven to be, relative to its value."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Stop the search after this many seconds; if left out, after a fixed amount of work."
        ),
    ] = None,
    guarantee: Annotated[
        bool,
        typer.Option(
            "--guarantee",
            help="With an information measure as --utility: maximise the least that any answer gets, not the mean.",
        ),
    ] = False,
    envelope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARE=NATS",
            help="With an information measure as --utility: 20%=0.5 limits the most telling 20% of reports to 0.5.",
        ),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="How many people you will ask; prints how precise each share will be."
        ),
    ] = None,
    output: options.MechanismOutput = None,
    allow_true_answers: options.AllowTrueAnswers = False,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Find the best way to draw reports within the limit epsilon, and prove that it keeps the limit.

    The result is a mechanism: how likely each answer is to turn into each report. "Best" means the most precise
    shares, unless --utility says otherwise. You need the prior: how common each answer is. Give it with --prior or
    --counts, from a census or an earlier study. Or count it from a column of a CSV or Parquet file, with --data and
    --column. The prior becomes part of the mechanism file, which is public, so count only answers whose shares may
    become public.

    With -o the mechanism is written to a file that the other commands read. It holds integers that keep epsilon
    exactly.
    """
    from extremal.auditing.advice import disclosure

    check_target(output, overwrite, as_json)
    if people is not None and people < 1:
        raise ex.errors.OptionError("--people must be at least 1", given=people)
    learned = learn(source)
    priors = prior_set(learned, confidence) if robust else None
    limits = _limits(envelope)
    made = make(
        learned.prior if priors is None else priors,
        epsilon,
        utility,
        method,
        tolerance,
        time_limit,
        guarantee=guarantee,
        envelope=limits,
    )
    nominal = learned.prior if priors is None else priors.nominal
    with progress("certifying"):
        certified = ex.certify(made, allow_true_answers=allow_true_answers or output is None)
    write_mechanism(certified, output, overwrite)
    other_way = utility not in ("shares", "mean") and epsilon > 0
    if people is None and source.data is not None:  # those of a census are not those who will be asked
        people = learned.observations
    with progress("auditing"):
        warnings = [
            *disclosure(certified),
            *advice.counted_prior(source.data, output),
            *advice.labels(nominal.labels),
        ]
        shares = advice.shares(nominal, certified.between, people, other_way, utility == "shares")
        precise = advice.precision(nominal, certified.between, people)
    if as_json:
        facts = _facts(utility, learned, nominal, made, certified, priors)
        facts |= {"precision": " ".join(precise) or None, "file": output, "warnings": [*warnings, *shares]}
        show.print_json(facts)
        return
    _tell(learned, nominal, made, certified, output, warnings, shares, precise)


def make(
    prior: ex.Prior | ex.PriorSet,
    epsilon: float,
    utility: str,
    method: str = "auto",
    tolerance: float | None = None,
    time_limit: float | None = None,
    *,
    guarantee: bool = False,
    envelope: dict[float, float] | None = None,
) -> ex.Design:
    """The design for a utility by its name on the command line."""
    found: Any = utility_of(utility, prior if isinstance(prior, ex.Prior) else prior.nominal)
    if (guarantee or envelope) and not isinstance(found, ex.Utility):
        raise ex.errors.OptionError(
            f"{'--guarantee' if guarantee else '--envelope'} is for an information measure",
            given=f"--utility {utility}",
            remedy="e.g. --utility mutual-information",
        )
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
            ex.utilities.guaranteed(found) if guarantee else found,
            envelope=envelope,
            method=method,
            tolerance=tolerance,
            time_limit=time_limit,
            progress=report,
        )
    finish(design.stats.interrupted)
    return design


def _limits(given: list[str] | None) -> dict[float, float] | None:
    """Limits by share of reports, from texts like 20%=0.5 or 0.2=0.5."""
    limits = {}
    for text in given or []:
        share, _, limit = text.partition("=")
        delta, level = number(share), number(limit)
        if delta is None or level is None or not math.isfinite(level) or level < 0:
            raise ex.errors.OptionError("--envelope must be like 20%=0.5", given=f"{text!r:.60}")
        if delta in limits:  # the last one would win, though the other may be stricter
            raise ex.errors.OptionError(
                "--envelope must have one limit for each share", given=f"two for {delta:g}"
            )
        limits[delta] = level
    return limits or None


def utility_of(name: str, prior: ex.Prior) -> ex.Utility | ex.utilities.Purpose:
    """The utility or purpose of that name on the command line; the parser lets no other name pass."""
    found: ex.Utility | ex.utilities.Purpose = ex.shares
    if name == "mean":
        from extremal.estimation.targets import label_numbers

        try:
            return ex.mean(dict(zip(prior.labels, label_numbers(prior.labels).tolist(), strict=True)))
        except ex.errors.OptionError as error:
            raise ex.errors.OptionError(
                "--utility mean needs answers that are numbers",
                given=error.given,
                remedy="use numbers as answers",
            ) from None
    return found if name == "shares" else getattr(ex.utilities, name.replace("-", "_"))


def _facts(
    utility: str,
    learned: Learned,
    prior: ex.Prior,
    made: ex.Design,
    certified: ex.Certified,
    priors: ex.PriorSet | None,
) -> dict[str, Any]:
    facts = {
        "epsilon": made.epsilon,
        "realised_epsilon": certified.realised_epsilon,
        "utility": utility,
        "value": made.value,
        "upper_bound": made.upper_bound,
        "gap": made.gap,
        "proven_optimal": made.proven,
        "method": made.method,
        "region": made.region,
        "full_disclosure": made.region > prior.size,
        "seconds": made.stats.seconds,
        "observations": learned.observations,
        "prior": show.prior_dict(prior),
        "mechanism": show.mechanism_dict(certified.between),
        "leakage": ex.pml(certified.prior_between, certified.between).tolist(),
        "digest": certified.digest,
    }
    if priors is not None:
        facts["prior_set"] = {
            "description": priors.description,
            "confidence": priors.confidence,
            "evidence": priors.evidence is not None,
            "epsilon": ex.epsilon_pml(priors, certified.mechanism),
        }
    return facts


def _tell(
    learned: Learned,
    prior: ex.Prior,
    made: ex.Design,
    certified: ex.Certified,
    output: str | None,
    warnings: list[str],
    shares: list[str],
    precise: list[str],
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
    show.heat_map(out, certified.between)
    show.sentences(out, str(made).splitlines())
    audit = ex.audit(certified)
    show.heading(out, "What each report can tell, at most")
    out.print(show.leakage_table(out, audit))
    show.heading(out, "The risk")
    show.sentences(out, show.risk(audit))
    if audit.disclosures:
        show.sentences(out, ["Some reports rule out some answers: extremal audit says which."])
    show.warnings(out, shares)
    show.sentences(out, precise)
    notes = [text for text in warnings if not text.startswith("WARNING")]
    if notes:
        show.heading(out, "Before you share this")
        show.sentences(out, notes)
    if output is not None and output != "-":
        out.print(f"\nCertified mechanism in {output}", soft_wrap=True)
    elif output is None:
        out.print("\nNothing was written; keep the mechanism with -o mechanism.json", soft_wrap=True)
