"""Where the checker, `ex.load` and extremal.js differ about a text: in what docs/proofs.md lists, and only there."""

import json

import pytest

from tests.support.extracted import by_checker, by_python, missing, verdicts
from tests.support.mechanism_files import CASES, redigest, small

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"needs {missing()}")

PLAIN = json.loads(small().to_json())
OF_A_SET = next(d for d in (json.loads(c.to_json()) for c in CASES) if d["prior_set"] and "evidence" not in d)
TEXT = json.dumps(PLAIN)


def changed(**members):
    """The text of a file with other members, and the digests of what it says now."""
    return json.dumps(redigest(json.loads(TEXT) | members))


def changed_set(**members):
    return json.dumps(redigest(OF_A_SET | {"prior_set": OF_A_SET["prior_set"] | members}))


def rows_as(form):
    return changed(weights=[[[w, form.format(rows)] for w, rows in column] for column in PLAIN["weights"]])


def swapped(old, new):
    assert TEXT.count(old) == 1
    return TEXT.replace(old, new)


def nested(depth):
    """A member that is only allowed as evidence."""
    return TEXT[:-1] + ', "evidence": ' + "[" * depth + "]" * depth + "}"


ALL_ACCEPT = {
    "as it is": TEXT,
    "of a set": json.dumps(OF_A_SET),
    "no digest of the file": json.dumps({k: v for k, v in PLAIN.items() if k != "file_digest"}),
    "blank": json.dumps(PLAIN, indent=3) + "\n\t",
    "escapes": swapped('"epsilon"', '"\\u0065psilon"').replace('"0.7"', '"0\\u002e7"'),
    "another order": json.dumps(dict(sorted(PLAIN.items()))),
    "notes": changed(library="a", method='\\ \n " \u00e9 \U0001f600'),
    "words about a set": changed_set(description="my own"),
}
ALL_REFUSE = {
    "nothing": "",
    "a list": "[]",
    "a byte order mark": "\ufeff" + TEXT,
    "something after the end": TEXT + " x",
    "a comma at the end": TEXT[:-1] + ",}",
    "not a number": swapped('"bits": 62', '"bits": NaN'),
    "a number that begins with 0": TEXT[:-1] + ', "evidence": 01}',
    "an escape that is none": swapped('"extremal-mechanism"', '"extremal-mechanism", "evidence": "\\q"'),
    "a tab in a text": changed(library="a\tb").replace("\\t", "\t"),
    "other bits": changed(bits=63),
    "another version": changed(version=4),
    "a version in words": changed(version="2"),
    "a member less": json.dumps({k: v for k, v in PLAIN.items() if k != "library"}),
    "no digest": json.dumps({k: v for k, v in PLAIN.items() if k != "digest"}),
    "a member more": changed(more=1),
    "a member of a set more": changed_set(more="1.0"),
    "a number for a text": changed(epsilon=0.7),
    "no fraction": changed(epsilon="7"),
    "an exponent without sign": changed(epsilon="7e0"),
    "a sign": changed(epsilon="-0.0"),
    "infinite": changed(epsilon="1e+400"),
    "answers that are no list": changed(inputs={}),
    "a probability less": changed(prior=PLAIN["prior"][:-1]),
    "a blank before rows": rows_as(" {}"),
    "a weight of 0": changed(weights=[[*column, ["0", "0"]] for column in PLAIN["weights"]]),
}
ONLY_LOAD_REFUSES = {
    "the digest of the file": json.dumps(PLAIN | {"file_digest": "0" * 64}),
    "a note that is a number": changed(library=3),
    "words about a set that are a number": changed_set(description=3),
    "a confidence above 1": changed_set(confidence="2.0"),
    "no confidence": changed_set(confidence=None),
    "evidence that is none": json.dumps(redigest(OF_A_SET | {"evidence": {"kind": "counts"}})),
    "evidence without a set": changed(evidence={"kind": "counts"}),
    "a realised level too low": changed(realised_epsilon="0.1"),
    "a label that is none": changed(inputs=[None, "a"]),
    "labels that are equal as numbers": changed(inputs=[1, {"float": "1.0"}]),
    "a number with more digits than it needs": changed(epsilon="0.70"),
    "a number in another form": changed(epsilon="7e-1"),
    "weights in another order": changed(weights=[column[::-1] for column in PLAIN["weights"]]),
    "rows in another form": rows_as("0{}"),
}
ONLY_THE_CHECKER_ACCEPTS = {
    "a digest": json.dumps(PLAIN | {"digest": "0" * 64}),
    "a label twice": changed(inputs=["yes", "yes"]),
}
ONLY_THE_BROWSER_ACCEPTS = {
    "a member twice": TEXT[:-1] + ', "epsilon": "0.7"}',
    "a whole number with a fraction": swapped('"bits": 62', '"bits": 62.0'),
    "lists in lists in lists": nested(40),
}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (ALL_ACCEPT, (True, True, True)),
        (ALL_REFUSE, (False, False, False)),
        (ONLY_LOAD_REFUSES, (True, False, True)),
        (ONLY_THE_CHECKER_ACCEPTS, (True, False, False)),
        (ONLY_THE_BROWSER_ACCEPTS, (False, False, True)),
    ],
    ids=[
        "all accept",
        "all refuse",
        "only load refuses",
        "only the checker accepts",
        "only the browser accepts",
    ],
)
def test_they_differ_about_a_text_where_the_page_says_so(texts, expected, tmp_path):
    said = verdicts(list(texts.values()), tmp_path)
    assert dict(zip(texts, said, strict=True)) == dict.fromkeys(texts, expected)


def test_only_load_refuses_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "mechanism.json"
    path.write_bytes(changed(library="here").encode().replace(b"here", b"\xff"))
    assert by_checker([path]) == ["yes"]
    assert "UTF-8" in by_python(path)
