"""extremal design and extremal certify: from a prior and an epsilon to a certified mechanism, or from a mechanism."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import extremal as ex
from extremal.errors import CertificationError, PriorError
from extremal.model.reading import split_labels

from . import advice, options, show
from .failure import CheckFailed, message_of
from .inputs import learn, learn_from_reports, origin, parse_prior, read_mechanism, renamed
from .output import Facts, MechanismOutput, progress

MOST_PEOPLE = 10**12
ANY = "any"  # the prior that nobody knows
NO_PRIOR = "if nobody knows it: --prior any --labels A,B,C, and --from-reports once reports are there"


@dataclass(frozen=True)
class SearchOptions:
    """What is best, how surely the limit holds, and how long the search may take.

    Parameters
    ----------
    robust
        Keep epsilon for every prior that fits the counted sample, not only for the shares in it.
    confidence
        With --robust or --from-reports: the confidence that the true prior is among those covered.
    tolerance
        How close to the optimum the design must be proven to be, relative to its value.
    time_limit
        Stop the search after this many seconds; if left out, after a fixed amount of work.
    people : N
        How many people you will ask; prints how precise each share will be.
    """

    utility: options.Utility = "shares"
    robust: bool = False
    confidence: float = 0.95
    tolerance: float | None = None
    time_limit: float | None = None
    people: int | None = None


def design(
    *,
    epsilon: float,
    source: options.PriorOptions,
    learning: options.LearnOptions,
    answers: str | None = None,
    search: SearchOptions,
    allow_true_answers: bool = False,
    output: MechanismOutput,
) -> None:
    """Find the best way to draw reports within the limit epsilon, and prove that it keeps the limit.

    The result is a mechanism: how likely each answer is to turn into each report. "Best" means the most precise
    shares, unless --utility says otherwise. You need the prior: how common each answer is. Give it with --prior or
    --counts, from a census or an earlier study. Or count it from a column of a CSV or Parquet file, with --data and
    --column. The prior becomes part of the mechanism file, which is public, so count only answers whose shares may
    become public.

    If nobody knows the prior, ask the first people with --prior any --labels A,B,C, which keeps the limit for every
    prior. Then --from-reports learns the prior from what they sent.

    With -o the mechanism is written to a file that the other commands read. It holds integers that keep epsilon
    exactly.

    Parameters
    ----------
    answers : --list FILE
        Instead of a prior: a CSV file of up to millions of answers, such as towns. Its first line names its columns:
        answer and, if you have it, count. Without counts the limit holds whatever the prior is.

    Examples
    --------
    extremal design --prior never=0.5,once=0.3,often=0.2 --epsilon 0.7 -o mechanism.json
    extremal design --prior 0.5,0.3,0.2 --epsilon 0.7 --json
    extremal design --data survey.csv --column answer -e 0.7 -o shares.json
    extremal design --data survey.csv --column answer -e 0.7 --robust --confidence 0.9
    extremal design --data habits.csv --columns smokes,drinks -e 0.7 -o joint.json
    extremal design --prior any --labels never,once,often -e 0.7 -o m1.json
    extremal design --from-reports stage1.csv --mechanism m1.json -e 0.7 -o m2.json
    extremal design --list towns.csv -e 1 -o towns.json
    """
    from extremal._common.checks import whole

    read = [source.data, source.counts, answers, *(learning.from_reports or []), *(learning.mechanism or [])]
    output.check(*read)
    if answers is not None:
        from .lists import alone, design_list

        other = options.given(source, "pseudocount", "delimiter")
        alone("--list", **other, **options.given(learning), **options.given(search))
        return design_list(answers, epsilon, source, allow_true_answers, output)
    people = search.people
    if people is not None:
        whole(people, "people", least=1, most=MOST_PEOPLE)
    known = _known(source, learning, search)
    made = _design(known.priors, epsilon, search)
    with progress("certifying"):
        certified = ex.certify(made, allow_true_answers=allow_true_answers or output.target is None)
    if people is None and source.data is not None:  # those of a census are not those who will be asked
        people = known.observations
    output.give(DesignResult(known, search.utility, made, certified, people, output.target))


@dataclass(frozen=True)
class KnownPrior:
    """What is known of the prior before a design, and from where."""

    priors: ex.Prior | ex.PriorSet
    observations: int | None
    origin: str
    assumed: tuple[str, ...] = ()
    data: str | None = None  # the file of answers that it was counted from


def _known(source: options.PriorOptions, learning: options.LearnOptions, search: SearchOptions) -> KnownPrior:
    """The prior or the set of priors that was asked for, in one of three ways."""
    reports, confidence = learning.from_reports, search.confidence
    if reports:
        options.only_with("--data or --counts", robust=search.robust)
        found = learn_from_reports(source, learning, confidence)
        told: Any = found.evidence
        count = sum(sum(stage.counts) for stage in told.stages)
        names = " and ".join("standard input" if name == "-" else os.path.basename(name) for name in reports)
        return KnownPrior(
            found, count, f"learned from {count} reports in {names}", (_assumed(learning, confidence),)
        )
    options.only_with("--from-reports", **options.given(learning))
    if not search.robust:
        options.only_with("--robust", confidence=options.other_than(0.95, confidence))
    if source.prior == ANY:
        if source.labels is None:
            raise PriorError("--prior any must come with all answers", remedy="add --labels A,B,C")
        options.only_with("--data or --counts", robust=search.robust)
        number = len(split_labels(source.labels))  # the shares mean nothing, the labels do
        named = learn(replace(source, prior=",".join([f"1/{number}"] * number))).prior
        said = "unknown: epsilon holds for every prior, and the design is best for this one"
        return KnownPrior(ex.PriorSet.at_least(named.labels, 0), None, said)
    learned = learn(source, NO_PRIOR)
    priors = learned.prior_set(confidence) if search.robust else learned.prior
    return KnownPrior(priors, learned.observations, origin(source, learned.observations), data=source.data)


def _assumed(learning: options.LearnOptions, confidence: float) -> str:
    """What the promise to the next people rests on."""
    made_up = f"at most {100 * learning.forged:g}%" if learning.forged else "none"
    return (
        "The limit holds for the next people if their shares are those of the people who reported, or differ from them "
        f"by at most {learning.drift:g} in sum (--drift), and if {made_up} of these reports was made up (--forged); "
        f"except that chance misleads at most {100 * (1 - confidence):.2g}% of all surveys (--confidence)."
    )


def _design(priors: ex.Prior | ex.PriorSet, epsilon: float, search: SearchOptions) -> ex.Design:
    from extremal.estimation.contrasts import purpose_named
    from extremal.optimization.design import designed

    purpose = purpose_named(
        search.utility, (priors if isinstance(priors, ex.Prior) else priors.nominal).labels
    )
    with progress("designing") as bar:
        rounds = count(1)

        def report(value: float, upper: float) -> None:
            known = value > 0 and math.isfinite(upper)
            gap = f", at most {max(upper / value - 1, 0):.1e} below the optimum" if known else ""
            done = next(rounds)
            bar(done, 0, f"round {done}{gap}")

        limits: Any = {"tolerance": search.tolerance, "time_limit": search.time_limit}
        return designed(priors, epsilon, purpose, progress=report, **limits)


@dataclass(frozen=True)
class DesignResult:
    """A design, its mechanism, and what to know before it is used."""

    known: KnownPrior
    utility: str
    made: ex.Design
    certified: ex.Certified
    people: int | None
    target: str | None

    @property
    def prior(self) -> ex.Prior:
        """The prior, the nominal one of a set."""
        return self.certified.prior

    def notes(self) -> list[str]:
        """What to look at before the file is passed on."""
        counted = advice.counted_prior(self.known.data, self.target)
        return [*self.known.assumed, *counted, *advice.labels(self.prior.labels)]

    def shares(self) -> tuple[list[str], list[str]]:
        """Whether the shares of the answers can be estimated, and how exactly."""
        other_way = self.utility not in ("shares", "mean") and self.made.epsilon > 0
        return advice.shares(
            self.prior, self.certified.between, self.people, other_way, self.utility == "shares"
        )

    def facts(self) -> Facts:
        """All of it, for programs."""
        made, certified, priors = self.made, self.certified, self.certified.prior_set
        facts = {
            "epsilon": made.epsilon,
            "realised_epsilon": certified.realised_epsilon,
            "utility": self.utility,
            "value": made.value,
            "upper_bound": made.upper_bound,
            "gap": made.gap,
            "proven_optimal": made.proven,
            "method": made.method,
            "why": _in_words(made.stats.why.value),
            "region": made.region,
            "full_disclosure": made.region > self.prior.size,
            "seconds": made.stats.seconds,
            "observations": self.known.observations,
            "prior": show.prior_dict(self.prior),
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
        with progress("auditing"):
            unsure, precision = self.shares()
            warnings = [*advice.disclosure(self.certified), *self.notes(), *unsure]
        return {**facts, "precision": " ".join(precision) or None, "file": self.target, "warnings": warnings}

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        with progress("auditing"):
            audit, (unsure, precision) = ex.audit(self.certified), self.shares()
        out.warn(*advice.disclosure(self.certified))
        top = float(self.prior.probabilities.max())
        out.heading(f"Prior, {self.known.origin}")
        rows = [
            (show.name_of(label), f"{p:.4f}", out.bar(p / top))
            for label, p in zip(self.prior.labels, self.prior.probabilities.tolist(), strict=True)
        ]
        out.table(("answer", "share", ""), rows, (0, 2))
        out.heading(f"Mechanism at epsilon = {self.made.epsilon:g} (answers down, reports across, in %)")
        out.heat_map(self.certified.between)
        out.say(*_in_words(str(self.made)).splitlines())
        out.heading("What each report can tell, at most")
        out.leakage_table(audit)
        out.heading("The risk")
        out.say(*show.risk(audit))
        if audit.disclosures:
            out.say("Some reports rule out some answers: extremal audit says which.")
        out.warn(*unsure)
        out.say(*precision)
        if notes := self.notes():
            out.heading("Before you share this")
            out.say(*notes)
        if self.target is None:
            out.facts("", "Nothing was written; keep the mechanism with -o mechanism.json")


def _in_words(text: str) -> str:
    """What a design says of itself, with options in place of arguments."""
    return text.replace("time_limit=math.inf", "--time-limit inf")


def certify(
    source: str,
    *,
    prior: str | None = None,
    epsilon: float | None = None,
    allow_true_answers: bool = False,
    output: MechanismOutput,
) -> None:
    """Prove in exact arithmetic that a mechanism keeps epsilon, and write it as a certified mechanism file.

    If you give a mechanism file, its proof is repeated. Exit status 1: the mechanism leaks more than epsilon.

    Parameters
    ----------
    source : FILE
        A matrix (JSON or CSV, one row per answer) or a mechanism file; "-" reads from a pipe.
    epsilon : -e LIMIT
        The limit to prove: no guess gets more than e^epsilon times as likely to be right.

    Examples
    --------
    extremal certify mechanism.json
    extremal design --prior 0.5,0.3,0.2 -e 0.7 --json | extremal certify - --prior 0.5,0.3,0.2 -e 0.7
    """
    from extremal.model.leakage import check_protected

    output.check(source)
    try:
        found = read_mechanism(source)
        if isinstance(found, ex.large.Windows):
            from .lists import ListResult, alone

            alone("a list", prior=prior, epsilon=epsilon)
            check_protected(found.doubt, allow_true_answers)
            output.give(ListResult(found, output.target))
            return
        with progress("proving"):
            if not isinstance(found, ex.Certified) and (prior is None or epsilon is None):
                raise PriorError(
                    "a matrix must come with --prior and --epsilon",
                    remedy="give both, e.g. --prior 0.5,0.5 -e 0.7",
                )
            certified = _certified(found, prior, epsilon, allow_true_answers)
            check_protected(certified.doubt, allow_true_answers)
    except CertificationError as error:
        raise CheckFailed(message_of(error)) from None
    output.give(CertifyResult(certified, output.target))


def _certified(
    found: ex.Certified | ex.Mechanism, prior: str | None, epsilon: float | None, allow_true_answers: bool
) -> ex.Certified:
    """The mechanism, proved for the prior and the level that were asked for, else for those it has."""
    if not isinstance(found, ex.Certified):
        return ex.certify(
            parse_prior(str(prior)), found, float(epsilon or 0), allow_true_answers=allow_true_answers
        )
    if prior is None and epsilon is None:
        return found
    level = found.epsilon if epsilon is None else epsilon
    known = found.prior_set or found.prior
    other = known if prior is None else renamed(parse_prior(prior), found.inputs)
    return ex.certify(other, found.made, level, allow_true_answers=allow_true_answers)


@dataclass(frozen=True)
class CertifyResult:
    """A certified mechanism, and for whom it is proved."""

    certified: ex.Certified
    target: str | None

    def facts(self) -> Facts:
        """All of it, for programs."""
        return {
            "epsilon": self.certified.epsilon,
            "realised_epsilon": self.certified.realised_epsilon,
            "inputs": len(self.certified.inputs),
            "outputs": len(self.certified.outputs),
            "method": self.certified.method,
            "digest": self.certified.digest,
            "file": self.target,
            "warnings": advice.disclosure(self.certified),
        }

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        out.warn(*advice.disclosure(self.certified))
        c, whom = self.certified, "under the prior in the file"
        if c.prior_set is not None:
            whom = f"for every prior in the set ({c.prior_set.description})"
        level = f"no report leaks more than {show.nats(c.epsilon, '')} (it is {c.realised_epsilon!r})"
        size = f"{len(c.inputs)} inputs, {len(c.outputs)} outputs, digest {c.digest[:16]}"
        out.facts(f"Proved {whom}: {level}; {size}")
