"""The page about the mechanism file is true: its code, its test vectors, its bounds.

Run as a program, this file renews the test vectors in docs/api/file-format.md and docs/api/formats.md.
"""

import hashlib
import itertools
import json
import math
import re

import numpy as np
import pytest

import extremal as ex
from extremal.certification import file as mechanism_file
from extremal.certification import stored
from extremal.certification.certified import Certified
from extremal.draw.keys import draw_key, id_blocks, keyed_words
from extremal.errors import FormatError
from tests.support.aes import aes_256
from tests.support.mechanism_files import CASES, PAGES, code_of_the_page, of_the_pages, redigest, small


def weights_of(document):
    """Rows of weights, read off the file as the page says."""
    rows = [[0] * len(document["outputs"]) for _ in document["inputs"]]
    for j, column in enumerate(document["weights"]):
        for weight, where in column:
            for part in where.split(","):
                first, _, last = part.partition("-")
                for i in range(int(first), int(last or first) + 1):
                    rows[i][j] = int(weight)
    return rows


KEY = bytes(range(32))
RECORDS = [
    *(
        0,
        1,
        2,
        3,
        -1,
        255,
        2**63,
        -(2**119),
        2**119,
        "007",
        "+1",
        "-0",
        "alice",
        "Zoë",
        "1.5",
        b"1",
        b"\xff\x00",
    ),
]


def vector_mechanism():
    """Made without doubles of its own, so that it never changes with the library."""
    third = 2**62 // 3
    rest = 2**62 - 2 * third
    weights = [
        [rest, third, third, 0],
        [third, rest, third, 0],
        [third, third, rest, 0],
        [2**60, 2**60, 2**60 + 12345, 2**60 - 12345],
    ]
    prior = ex.Prior([0.125, 0.25, 0.125, 0.5], ["red", "green", "blue", "naïve"])
    return Certified(
        prior, ("red", "green", "blue", 7), np.array(weights, dtype=np.uint64), 0.75, "by hand", "vectors"
    )


def vectors():
    c = vector_mechanism()
    for k, record in enumerate(RECORDS):
        column = [("größe", "answer"), "answer", "größe"][k % 3]
        occasion = [None, 2, "spring", "-03"][k // 2 % 4]
        row = k % 4
        (report,) = c.privatize([c.inputs[row]], keyed=ex.Keyed(KEY, [record], occasion), column=column)
        word = np.empty(1, dtype=np.uint64)
        subkey = draw_key(KEY, occasion, column, bytes.fromhex(c.digest))
        keyed_words(subkey, id_blocks([record], 1), np.array([row], np.uint8), np.arange(5, dtype=np.uint32))(
            0, word
        )
        yield record, column, occasion, c.inputs[row], int(word[0]), report


def sections():
    rows = ["| id | column | occasion | value | word | report |", "|---|---|---|---|---|---|"]
    rows += [
        f"| `{r!r}` | `{c!r}` | `{o!r}` | `{v!r}` | `{w:016x}` | `{y!r}` |" for r, c, o, v, w, y in vectors()
    ]
    return {"file": f"```json\n{vector_mechanism().to_json()}```", "table": "\n".join(rows)}


def test_the_page_shows_the_vectors_that_the_library_gives():
    text = of_the_pages()
    for name, content in sections().items():
        (shown,) = re.findall(rf"<!-- vectors:{name} -->\n(.*?)\n<!-- vectors:end -->", text, re.S)
        assert shown == content, "run: python -m tests.certification.test_file_page"


def test_aes_in_plain_python_is_that_of_the_standard():
    """FIPS 197, appendix C.3."""
    block = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert aes_256(bytes(range(32)), block).hex() == "8ea2b7ca516745bfeafc49904b496089"


def test_the_code_on_the_page_gives_the_vectors():
    (text,) = re.findall(r"```json\n(.*?)```", of_the_pages(), re.S)
    document = json.loads(text)
    page = code_of_the_page()
    tables = [page["table"](row) for row in weights_of(document)]
    assert Certified.from_json(text) == vector_mechanism()
    for record, column, occasion, value, expected, report in vectors():
        row = document["inputs"].index(value)
        word = page["word"](KEY, document["digest"], column, record, row, occasion)
        assert word == expected
        j = page["draw"](tables[row], word)
        assert document["outputs"][j] == report


def test_the_code_on_the_page_verifies_the_digest():
    (text,) = re.findall(r"```json\n(.*?)```", of_the_pages(), re.S)
    document = json.loads(text)
    claimed = document.pop("digest")
    assert code_of_the_page()["digest"](document) == claimed


def test_the_digest_of_the_vectors_is_this():
    """Written out from the page by hand: a change here redraws every keyed report in the world."""
    text = (
        '{"bits":62,"epsilon":"0.75","inputs":["red","green","blue","naïve"],"outputs":["red","green","blue",7],'
        '"prior":["0.125","0.25","0.125","0.5"],"prior_set":null,"weights":['
        '[["1537228672809129302","0"],["1537228672809129301","1-2"],["1152921504606846976","3"]],'
        '[["1537228672809129302","1"],["1537228672809129301","0,2"],["1152921504606846976","3"]],'
        '[["1537228672809129302","2"],["1537228672809129301","0-1"],["1152921504606859321","3"]],'
        '[["1152921504606834631","3"]]]}'
    )
    expected = hashlib.sha256(b"extremal-mechanism-digest-2\0" + text.encode("utf-8")).hexdigest()
    assert (
        vector_mechanism().digest
        == expected
        == "dd7535419068c1cdbfb6b7e39c5ddd10ff209162a77caa1ba7372605f07e5377"
    )


def test_the_digest_of_a_mechanism_for_a_set_of_priors_is_this():
    """By hand, as above. The description is a note."""
    prior = ex.Prior([0.25, 0.75], ["a", "b"])
    bounds = (prior.probabilities, np.zeros(2), np.ones(2))
    weights = np.array([[2**61, 2**61], [2**60, 3 * 2**60]], dtype=np.uint64)
    text = (
        '{"bits":62,"epsilon":"0.75","inputs":["a","b"],"outputs":["x","y"],"prior":["0.25","0.75"],"prior_set":'
        '{"center":["0.25","0.75"],"confidence":"0.9","lower":["0.0","0.0"],"radius":"0.125","upper":["1.0","1.0"]},'
        '"weights":[[["2305843009213693952","0"],["1152921504606846976","1"]],'
        '[["3458764513820540928","1"],["2305843009213693952","0"]]]}'
    )
    expected = hashlib.sha256(b"extremal-mechanism-digest-2\0" + text.encode("utf-8")).hexdigest()
    for note in ("a ball", "what was known in 2026"):
        priors = ex.PriorSet(prior, *bounds, 0.125, 0.9, note=note)
        c = Certified(prior, ("x", "y"), weights, 0.75, prior_set=priors)
        assert c.digest == expected == "043f1e515f11cf0de80bfde1bab233ea6e76322108d0131090ccd2c403fc5317"
        document = json.loads(c.to_json())
        assert code_of_the_page()["digest"](document) == expected
        assert code_of_the_page()["file_digest"](document) == document["file_digest"]
    wider = ex.PriorSet(prior, *bounds, 0.25, 0.9)
    assert Certified(prior, ("x", "y"), weights, 0.75, prior_set=wider).digest != expected
    assert Certified(prior, ("x", "y"), weights, 0.75).digest != expected


def test_notes_do_not_change_the_digest_and_all_else_does():
    """Library and method are notes. A second release of the library must not redraw keyed reports."""
    c = small()
    parts = (c.prior, c.outputs, c.weights, c.epsilon)
    noted = Certified(*parts, "another way", "extremal 99.0")
    assert noted == c
    assert noted.digest == c.digest
    assert Certified.from_json(noted.to_json()).method == "another way"
    swapped = c.weights[:, ::-1]
    others = [
        Certified(ex.Prior([0.25, 0.75], ["yes", "nein"]), c.outputs, c.weights, 0.7),
        Certified(ex.Prior([0.26, 0.74], ["yes", "no"]), c.outputs, c.weights, 0.75),
        Certified(c.prior, c.outputs, c.weights, 0.75),
        Certified(c.prior, ("no", "yes"), c.weights, 0.7),
        Certified(c.prior, c.outputs, swapped, 0.7),
    ]
    assert len({c.digest, *(other.digest for other in others)}) == 6


def test_numbers_that_are_equal_are_written_alike():
    """-0.0 == 0.0 as a label and as a level."""
    a, b = (
        Certified(ex.Prior([0.5, 0.5], [zero, 1.5]), ("same",), np.full((2, 1), 2**62), zero)
        for zero in (0.0, -0.0)
    )
    assert a.digest == b.digest
    assert a.to_json() == b.to_json()
    with pytest.raises(FormatError):
        Certified.from_json(json.dumps(redigest({**json.loads(a.to_json()), "epsilon": "-0.0"})))


@pytest.mark.parametrize("c", CASES[:5], ids=repr)
def test_the_code_on_the_page_draws_what_the_library_draws(c):
    page = code_of_the_page()
    document = json.loads(c.to_json())
    rows = weights_of(document)
    assert rows == c.weights.tolist()
    values = [c.inputs[k % len(c.inputs)] for k in range(200)]
    reports = c.privatize(values, keyed=ex.Keyed(KEY, range(200)), column="q", allow_true_answers=True)
    for k, (value, report) in enumerate(zip(values, reports, strict=True)):
        row = c.inputs.index(value)
        word = page["word"](KEY, c.digest, "q", k, row)
        assert c.outputs[page["draw"](page["table"](rows[row]), word)] == report


def test_the_bounds_on_the_page_are_those_of_the_code():
    text = of_the_pages()
    assert math.log2(mechanism_file.LARGEST_FILE) == 28
    assert "at most 2²⁸ bytes" in text
    assert math.log2(mechanism_file.LARGEST_TABLE) == 24
    assert "at most 2²⁴ weights" in text
    assert stored.DEEPEST_LABEL == 8
    for member in (*mechanism_file.MEMBERS, "digest"):
        assert f"| `{member}` |" in text


if __name__ == "__main__":
    for path, (name, content) in itertools.product(PAGES, sections().items()):
        pattern = rf"(<!-- vectors:{name} -->\n).*?(<!-- vectors:end -->)"
        page = path.read_text(encoding="utf-8")
        page = re.sub(pattern, lambda m, content=content: m[1] + content + "\n" + m[2], page, flags=re.S)
        path.write_text(page, encoding="utf-8")
