"""A survey that learns its priors, and people who answer it with the mechanisms of the stage that runs."""

import json
import secrets
import time

import numpy as np

from extremal.collection.designs import check
from extremal.collection.guard import parse_submission
from extremal.collection.survey import parse_survey

SURVEY = """\
title = "Habits"
id = "habits-2026"
people = 2000
width = 0.2

[[question]]
name = "smokes"
text = "Do you smoke?"
answers = ["yes", "no"]
epsilon = 0.7
prior = "learn"
between = { yes = "1% to 60%" }

[[question]]
name = "mood"
text = "How often were you sad?"
kind = "scale"
answers = {"never" = 0, "at times" = 1, "often" = 3}
epsilon = 0.8
prior = "learn"

[[question]]
name = "visits"
text = "How often did you see a doctor?"
answers = ["never", "once", "often"]
epsilon = 0.7
prior = [0.5, 0.3, 0.2]

[[question]]
name = "age"
text = "How old are you?"
kind = "clear"
answers = ["under 40", "40 and over"]

[learn]
stages = [200, 600]
forged = 0
"""
TRUTH = {"smokes": [0.2, 0.8], "mood": [0.6, 0.3, 0.1], "visits": [0.5, 0.3, 0.2], "age": [0.5, 0.5]}


def learning(folder, text=SURVEY):
    """The survey, checked, with its mechanisms beside it."""
    return check(parse_survey(text, folder / "survey.toml"))[0]


def answered(survey, people, seed=0, truth=TRUTH):
    """What so many phones post that hold this page."""
    rng = np.random.default_rng(seed)
    columns = {}
    for q in survey.questions:
        answers = [q.answers[i] for i in rng.choice(len(q.answers), people, p=truth[q.name])]
        if q.mechanisms:
            (certified,) = q.mechanisms
            matrix = certified.mechanism.matrix
            rows = [certified.inputs.index(x) for x in answers]
            answers = [certified.outputs[rng.choice(matrix.shape[1], p=matrix[row])] for row in rows]
        columns[q.name] = answers
    for k in range(people):
        reports = {name: values[k] for name, values in columns.items()}
        yield json.dumps({"survey": survey.digest, "id": secrets.token_hex(16), "reports": reports}).encode()


def submissions(store, survey, people, seed=0, truth=TRUTH):
    """The same as the store takes it."""
    return [parse_submission(store.surveys, body) for body in answered(survey, people, seed, truth)]


def eventually(holds, seconds=120):
    """Wait until something holds; it takes as long as the machine takes."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
