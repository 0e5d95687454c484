"""A first survey to edit: `extremal survey new` writes it, and the tutorial explains it line by line."""

from __future__ import annotations

from .identity import new_id


def template() -> str:
    """The text of a new survey, with an id of its own."""
    return (
        f'id = "{new_id()}"    # each phone sends one report under it; another wave needs another id\n{TEXT}'
    )


TEXT = """\
title = "Health at work"
introduction = "We want to know how common some health problems are. It takes one minute."
contact = "Questions? Write to ada@example.org."
width = 0.1      # the intervals you want in the end, from end to end: 0.1 is 10 percentage points
people = 2500    # how many people you will ask

# A private question: phones send a random report instead of the answer.
[[question]]
name = "visits"
text = "How often did you see a doctor in the last twelve months?"
answers = ["never", "once or twice", "more often"]
epsilon = 0.7                     # the limit: no guess gets more than e^0.7, about 2, times as likely to be right
prior = ["45%", "35%", "20%"]     # how common each answer is, from a census or an earlier study

# Not a private question: this answer is sent as it is.
[[question]]
name = "age"
text = "How old are you?"
kind = "clear"
answers = ["under 40", "40 and over"]
"""
