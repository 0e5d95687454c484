"""The strict reader of JSON: what other readers let pass is refused, and nothing takes longer than its length."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extremal._common.json import DEEPEST, MOST_DIGITS, parse_json
from tests.support.wording import refused

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(), parts, max_size=4),
    max_leaves=30,
)


@given(values, st.booleans())
def test_what_python_writes_is_read_back(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_json(text) == value
    if ascii_only:
        assert parse_json(text.encode()) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "a": 1}', "'a'"),
        ('[{"b": {"a": 1, "\\u0061": 2}}]', "'a'"),
        ("[NaN]", ""),
        ("-Infinity", "-Infinity"),
        ("[1e400]", "1e400"),
        ("-1e999999999", "-1e999999999"),
        ("9" * (MOST_DIGITS + 1), str(MOST_DIGITS)),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), str(DEEPEST)),
        ('{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1), str(DEEPEST)),
        ("[" * 1_000_000, str(DEEPEST)),
        (b"\xff\xfe", "UTF-8"),
        ("", ""),
        ("[1,]", "1"),
        ("\ufeff1", "utf-8-sig"),
    ],
)
def test_what_is_not_strict_json_is_refused_in_one_line(text, reason):
    with refused(ValueError, reason) as caught:
        parse_json(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_text_that_is_too_long_is_refused():
    with refused(ValueError, "5", "4"):
        parse_json("[1,2]", largest=4)


def test_as_deep_as_allowed_is_read_whatever_stands_in_strings():
    value = json.dumps("[[[[{{{{" * 20 + '"\\')
    text = "[" * DEEPEST + value + "," + value + "]" * DEEPEST
    for _ in range(DEEPEST):
        found = parse_json(text) if isinstance(text, str) else text[0]
        text = found
    assert found == [json.loads(value)] * 2
    closing = json.dumps("]" * 500)
    with refused(ValueError, str(DEEPEST)):
        parse_json(f"[{closing}," + "[" * DEEPEST + "]" * DEEPEST + "]")


@pytest.mark.parametrize("piece", ['\\"', '"\\', '"', '["a\\"', "\\"])
def test_quotes_that_do_not_match_cost_no_second_look(piece):
    """Looking for the end of a string from every quote would be 10^11 steps: this test would not end."""
    for text in (piece * 400_000, "[" * 40 + piece * 400_000, "[" * 40 + '"' + piece * 400_000):
        with pytest.raises(ValueError, match=r"."):
            parse_json(text)


def test_many_names_are_compared_once_each():
    """Quadratic work on 100,000 names would be 10^10 comparisons: this test would not end."""
    names = [f"n{i}" for i in range(100_000)]
    text = "{" + ",".join(f'"{name}":0' for name in names) + "}"
    assert len(parse_json(text)) == 100_000
    with refused(ValueError, "'n5'"):
        parse_json(text[:-1] + ',"n5":0}')
