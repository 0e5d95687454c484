"""What happens before and after a mechanism: attributes, pre-processing, post-processing, with their guarantees.

For a chain U - X - Y, where Y is drawn from X alone and U is any (randomised) function of X:

    l(U→y) <= l(X→y)       an attribute of X leaks no more than X does (pre-processing)
    l(X→z) <= max_y l(X→y)  over the y that z is made from: what is done to reports afterwards raises nothing

Both are consequences of averaging: P(y|u) is an average of P(y|x), and the lift of z one of lifts of y.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from .._common import checks
from .._common.threads import one_thread_of_numpy
from .._common.words import shorten
from ..errors import MechanismError, PriorError
from .labels import Labels, check_labels
from .mechanism import Mechanism, check_match, check_mechanism, check_size, common_labels
from .prior import Prior, check_prior

Function = Callable[[Any], Hashable] | Mapping[Any, Hashable]


def function_values(function: Function, labels: Labels, what: str) -> Labels:
    """The value of a function or mapping on every label, in order; errors name the label that has none."""
    values: list[Any] = []
    for label in labels:
        try:
            value = function[label] if isinstance(function, Mapping) else function(label)
            hash(value)
        except Exception as error:
            raise MechanismError(
                f"{what} must give a hashable value for every label",
                given=f"{type(error).__name__} for {label!r}",
                remedy="give a function, or a mapping with every label as a key",
            ) from None
        values.append(value)
    return tuple(values)


def deterministic(function: Function, labels: Sequence[Any]) -> Mechanism:
    """The mechanism that releases function(x); its outputs are the distinct values, in order of appearance."""
    names = check_labels(labels, None, "inputs")
    values = function_values(function, names, "a function")
    distinct = check_labels(dict.fromkeys(values), None, "outputs")
    number = {value: j for j, value in enumerate(distinct)}
    check_size(len(names), len(distinct))
    matrix = np.zeros((len(names), len(distinct)))
    matrix[np.arange(len(names)), [number[value] for value in values]] = 1.0
    return Mechanism(matrix, names, distinct)


def postprocess(mechanism: Mechanism, step: Mechanism | Function) -> Mechanism:
    """The mechanism followed by `step`; no outcome leaks more than the worst of those it is made from.

    `step` is a function or mapping of output labels (equal values become one output) or a mechanism that
    takes the outputs as its inputs. l(X→z) <= max of l(X→y) over the y with P(z|y) > 0.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> merged = ex.theory.postprocess(mechanism, lambda report: 0)
    >>> round(ex.epsilon_pml(prior, merged), 9)
    0.0

    Parameters
    ----------
    mechanism
        The mechanism: a row for each answer, a column for each report.
    step
        A function or mapping of labels, or a mechanism.
    """
    outputs = check_mechanism(mechanism).outputs
    return mechanism.then(step if isinstance(step, Mechanism) else deterministic(step, outputs))


def preprocess(prior: Prior, step: Mechanism | Function, mechanism: Mechanism) -> tuple[Prior, Mechanism]:
    """(prior of Z, mechanism X → Z → Y): releasing through Z leaks no more about X than about Z.

    `step` makes Z from X: a function or mapping of labels, or a mechanism. `mechanism` takes Z. What is
    returned is the prior that Z then has, and the whole way from X to Y, for which
    l(X→y) <= l(Z→y) for every y: a mechanism designed for Z's prior keeps its epsilon for X.

    Examples
    --------
    >>> import extremal as ex
    >>> fine = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.Mechanism([[1, 0], [0.5, 0.5]], [True, False])
    >>> coarse, whole = ex.theory.preprocess(fine, lambda answer: answer == "never", mechanism)
    >>> whole.shape
    (3, 2)

    Parameters
    ----------
    prior
        How common each answer is.
    step
        A function or mapping of labels, or a mechanism.
    mechanism
        The mechanism that takes what the step makes.
    """
    channel = step if isinstance(step, Mechanism) else deterministic(step, check_prior(prior).labels)
    whole = _in_order(channel, check_mechanism(mechanism)).then(mechanism)
    return induced_prior(prior, _in_order(channel, mechanism)), whole


def induced_prior(prior: Prior, step: Mechanism | Function) -> Prior:
    """The distribution of what a function or mechanism makes of X; values that never occur are left out.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> ex.theory.induced_prior(prior, lambda answer: answer != "never").probabilities.tolist()
    [0.5, 0.5]

    Parameters
    ----------
    prior
        How common each answer is.
    step
        A function or mapping of labels, or a mechanism.
    """
    channel = step if isinstance(step, Mechanism) else deterministic(step, check_prior(prior).labels)
    mass = channel.output_distribution(prior)
    kept = np.flatnonzero(mass > 0)
    if len(kept) < 2:
        raise PriorError(
            "an attribute must have at least 2 values that can occur",
            given=shorten(channel.outputs),
            remedy="what is the same for everybody is no secret",
        )
    return Prior(mass[kept] / mass[kept].sum(), [channel.outputs[j] for j in kept])


@one_thread_of_numpy
def seen_from(prior: Prior, mechanism: Mechanism, attribute: Mechanism | Function) -> tuple[Prior, Mechanism]:
    """(prior of U, P(y|u)) for an attribute U of X: the mechanism as somebody sees it who wants to know U.

    P(y|u) = sum_x P(x|u) P(y|x). The leakage about U is that of the pair returned, and never more than that
    about X.
    """
    check_match(prior, mechanism)
    labels = common_labels(prior.labels, mechanism.inputs)
    channel = attribute if isinstance(attribute, Mechanism) else deterministic(attribute, labels)
    check_match(prior, channel)
    check_size(channel.shape[1], mechanism.shape[1])
    about = induced_prior(prior, channel)
    weights = prior.probabilities[:, None] * channel.matrix
    weights = weights[:, weights.max(axis=0) > 0]
    weights = weights / weights.sum(axis=0)
    return about, Mechanism(weights.T @ mechanism.matrix, about.labels, mechanism.outputs)


def restrict(mechanism: Mechanism, labels: Sequence[Any]) -> Mechanism:
    """The rows of the mechanism for these inputs, in this order; outputs stay.

    Examples
    --------
    >>> import extremal as ex
    >>> prior = ex.Prior({"never": 0.5, "once": 0.3, "often": 0.2})
    >>> mechanism = ex.design(prior, 0.6).mechanism
    >>> ex.theory.restrict(mechanism, ["never", "once"]).inputs
    ('never', 'once')

    Parameters
    ----------
    mechanism
        The mechanism: a row for each answer, a column for each report.
    labels
        The answers to keep, in order.
    """
    names = check_labels(labels, None, "inputs")
    row = {label: i for i, label in enumerate(check_mechanism(mechanism).inputs)}
    checks.labels(names, "labels", row, error=MechanismError)
    return Mechanism(mechanism.matrix[[row[name] for name in names]], names, mechanism.outputs)


def _in_order(channel: Mechanism, mechanism: Mechanism) -> Mechanism:
    """The channel with its outputs in the order in which the mechanism takes them.

    The order in which a function's values appear is accidental, so here, and only here, labels in another
    order are sorted out; an input of the mechanism that the channel never makes gets a column of zeros.
    """
    where = {(type(label), label): j for j, label in enumerate(mechanism.inputs)}  # True is not 1 here
    made, taken = [(type(label), label) for label in channel.outputs], mechanism.inputs
    if channel.outputs == taken or not set(made) <= set(where):
        return channel  # `then` refuses what does not fit
    matrix = np.zeros((channel.shape[0], len(taken)))
    matrix[:, [where[label] for label in made]] = channel.matrix
    return Mechanism(matrix, channel.inputs, taken)
