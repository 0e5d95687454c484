"""extremal certify: a proof that a mechanism keeps epsilon."""

from __future__ import annotations

from typing import Annotated

import typer

import extremal as ex
from extremal.errors import PriorError

from . import options, show
from .failure import CheckFailed, message_of
from .inputs import parse_mechanism, parse_prior, read_text, renamed
from .output import check_target, write_mechanism
from .progress import progress


def command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help='A matrix (JSON or CSV, one row per answer) or a mechanism file; "-" reads from a pipe.',
        ),
    ],
    prior: options.Prior = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon",
            "-e",
            metavar="LIMIT",
            help="The limit to prove: no guess gets more than e^epsilon times as likely to be right.",
        ),
    ] = None,
    output: options.MechanismOutput = None,
    allow_true_answers: options.AllowTrueAnswers = False,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Prove in exact arithmetic that a mechanism keeps epsilon, and write it as a certified mechanism file.

    If you give a mechanism file, its proof is repeated. Exit status 1: the mechanism leaks more than epsilon.
    """
    from extremal.auditing.advice import disclosure
    from extremal.model.doubt import check_protected

    check_target(output, overwrite, as_json)
    text = read_text(source)
    try:
        with progress("proving"):
            found = parse_mechanism(text, source)
            if isinstance(found, ex.Certified):
                certified = _again(found, prior, epsilon, allow_true_answers)
            else:
                if prior is None or epsilon is None:
                    raise PriorError(
                        "a matrix must come with --prior and --epsilon",
                        remedy="give both, e.g. --prior 0.5,0.5 -e 0.7",
                    )
                certified = ex.certify(
                    parse_prior(prior), found, epsilon, allow_true_answers=allow_true_answers
                )
            check_protected(certified.doubt, allow_true_answers)
    except ex.errors.CertificationError as error:
        raise CheckFailed(message_of(error)) from None
    write_mechanism(certified, output, overwrite)
    warnings = disclosure(certified)
    facts = {
        "epsilon": certified.epsilon,
        "realised_epsilon": certified.realised_epsilon,
        "inputs": len(certified.inputs),
        "outputs": len(certified.outputs),
        "method": certified.method,
        "digest": certified.digest,
        "file": output,
        "warnings": warnings,
    }
    if as_json:
        show.print_json(facts)
        return
    out = show.console(to_stderr=output == "-")
    show.warnings(out, warnings)
    out.print(
        f"Proved {_for_whom(certified)}: no report leaks more than {show.nats(certified.epsilon, '')} "
        f"(it is {certified.realised_epsilon!r}); "
        f"{facts['inputs']} inputs, {facts['outputs']} outputs, digest {certified.digest[:16]}",
        soft_wrap=True,
    )
    if output not in (None, "-"):
        out.print(f"Certified mechanism in {output}", soft_wrap=True)


def _for_whom(certified: ex.Certified) -> str:
    if certified.prior_set is None:
        return "under the prior in the file"
    return f"for every prior in the set ({certified.prior_set.description})"


def _again(
    found: ex.Certified, prior: str | None, epsilon: float | None, allow_true_answers: bool
) -> ex.Certified:
    """A certified mechanism, proved for another prior or level if one was asked for."""
    if prior is None and epsilon is None:
        return found
    level = found.epsilon if epsilon is None else epsilon
    known = found.prior_set or found.prior
    other = known if prior is None else renamed(parse_prior(prior), found.inputs)
    return ex.certify(other, found.made, level, allow_true_answers=allow_true_answers)
