"""A small survey with every kind of question, checked once, and what a phone would send."""

import asyncio
import atexit
import http.client
import json
import random
import re
import secrets
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

SURVEY = """\
title = "Health habits"
introduction = "We ask about your health."
contact = "Ask us at the desk."
width = 0.1
people = 900

[[question]]
name = "visits"
text = "How often did you see a doctor last year?"
answers = ["never", "once", "often"]
epsilon = 0.7
prior = [0.5, 0.3, 0.2]

[[question]]
name = "symptoms"
text = "Which of these did you have?"
kind = "several"
answers = ["cough", "fever"]
epsilon = 1.0
prior = ["30%", "10%"]

[[question]]
name = "mood"
text = "How often were you sad?"
kind = "scale"
answers = {"never" = 0, "at times" = 1, "often" = 3}
epsilon = 0.7
prior = "uniform"

[[question]]
name = "age"
text = "How old are you?"
kind = "clear"
answers = ["under 40", "40 and over"]
"""
INVITED = "invitation = true\n" + SURVEY
ONE = SURVEY.partition('[[question]]\nname = "symptoms"')[0]


@cache
def folder():
    """A folder with survey.toml, whose mechanisms have been designed; tests copy what they change."""
    from extremal.collection.designs import check
    from extremal.collection.survey import read_survey

    made = TemporaryDirectory(prefix="extremal-survey-")
    atexit.register(made.cleanup)
    path = Path(made.name)
    for name, text in (("survey", SURVEY), ("invited", INVITED)):
        (path / f"{name}.toml").write_text(text, encoding="utf-8")
        check(read_survey(path / f"{name}.toml"))
    return path


@cache
def published(name="survey"):
    from extremal.collection.designs import load_designs
    from extremal.collection.survey import read_survey

    return load_designs(read_survey(folder() / f"{name}.toml"))


def drawn(survey, seed):
    """Reports of one person, as their device would draw them."""
    rng = random.Random(seed)
    found = {}
    for q in survey.questions:
        if q.kind == "clear":
            found[q.name] = rng.choice([*q.answers, None])
        else:
            parts = [
                rng.choices(m.outputs, m.mechanism.matrix[rng.randrange(len(m.inputs))])[0]
                for m in q.mechanisms
            ]
            found[q.name] = parts if q.form == "each" else parts[0]
    return found


def stored(store):
    """Everybody's reports by id, also of those that no result shows yet."""
    with store.database.session() as session:
        both = session.rows("SELECT id, content FROM reports UNION ALL SELECT id, content FROM waiting")
    return {id: json.loads(content) for id, content in both}


def full_disk(store, monkeypatch):
    """From now on the file of a store cannot grow, until `monkeypatch` is undone and the connections are closed."""

    def limited():
        raw = connect()
        (pages,) = raw.execute("PRAGMA page_count").fetchone()
        raw.execute(f"PRAGMA max_page_count={pages}")
        return raw

    store.database.close()
    connect = store.database.connect
    monkeypatch.setattr(store.database, "connect", limited)


def body(survey, seed=0, /, **changes):
    """What a phone posts."""
    made = {"survey": survey.digest, "id": secrets.token_hex(16), "reports": drawn(survey, seed), **changes}
    return json.dumps(made).encode()


def ask(base, method, path, content=None, **headers):
    """(status, headers, text) of a request."""
    connection = http.client.HTTPConnection(base.removeprefix("http://").rstrip("/"), timeout=30)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, content, names)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def post(base, content, **headers):
    """(status, document) of a posted report."""
    status, _, text = ask(
        base, "POST", "/reports", content, **{"content_type": "application/json", **headers}
    )
    return status, json.loads(text)


async def post_many(base, contents, connections=256):
    """Post all of these over a few connections that stay open, as fast as the server takes them."""
    host, port = base.removeprefix("http://").rstrip("/").split(":")
    waiting = list(contents)

    async def phone():
        reader, writer = await asyncio.open_connection(host, int(port))
        while waiting:
            content = waiting.pop()
            head = "POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer
            await reader.readexactly(int(re.search(rb"content-length: (\d+)", answer)[1]))
        writer.close()

    await asyncio.gather(*(phone() for _ in range(connections)))
