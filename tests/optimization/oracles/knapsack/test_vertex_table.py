"""Pricing by a table of all vertices, against the vertices themselves."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.optimization.oracles.knapsack.separable import Separable, vertex_table
from extremal.optimization.tuning import VERTICES_TABLED
from tests.support.vertex_pricing import largest, pricings, problems, slack, vertices


@given(problems())
def test_the_table_holds_every_vertex_once(problem):
    table = vertex_table(problem)
    if table is None:
        assert problem.high - problem.low < 1e-14
        return
    partial = np.repeat(np.arange(problem.size), np.diff(table.starts))
    full = (table.sets[:, None] >> np.arange(problem.size) & 1).astype(np.bool_)
    assert not full[np.arange(len(full)), partial].any()
    lifts = problem.lifts(full, partial)
    expected = vertices(problem)
    assert len(lifts) == len(expected)
    kinds = [
        {tuple(row) for row in np.sign(V - problem.low) + (problem.high <= V)} for V in (lifts, expected)
    ]
    assert kinds[0] == kinds[1]


@given(pricings(), st.integers(1, 5))
def test_the_maximum_is_that_over_all_vertices_and_columns_reach_their_values(pricing, each):
    problem, y = pricing
    table = vertex_table(problem)
    if table is None:
        return
    priced = table.price(y, -math.inf, each)
    room = slack(problem, y)
    assert abs(priced.bound - largest(problem, y)) <= room
    lifts = problem.lifts(priced.full, priced.partial)
    reduced = problem.mu(lifts) - lifts @ y
    if priced.bound > 0:
        assert abs(reduced.max() - priced.bound) <= room
    assert np.bincount(priced.partial, minlength=problem.size).max(initial=0) <= each


def test_columns_below_the_threshold_are_left_out():
    problem = Separable(ex.Prior.from_counts([5, 4, 3, 2]).probabilities, ex.mutual_information.f, 0.0, 1.5)
    table = vertex_table(problem)
    y = problem.analytic_dual() / 2
    everything = table.price(y, 0.0, 100)
    lifts = problem.lifts(everything.full, everything.partial)
    reduced = np.sort(problem.mu(lifts) - lifts @ y)
    middle = (reduced[0] + reduced[-1]) / 2
    assert len(table.price(y, middle, 100).partial) == np.count_nonzero(reduced > middle)
    assert len(table.price(y, reduced[-1] + 1e-9, 100).partial) == 0


def test_large_alphabets_have_no_table():
    assert (
        vertex_table(
            Separable(
                np.full(VERTICES_TABLED + 1, 1 / (VERTICES_TABLED + 1)), ex.utilities.chi_squared.f, 0.0, 2.0
            )
        )
        is None
    )
