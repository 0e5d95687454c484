"""Every promise that users read stands beside a test that would fail if it were false."""

import ast
import tomllib
from collections import defaultdict

from tests.support import promises
from tests.support.root import ROOT

LISTED = tomllib.loads((ROOT / "tests" / "promises.toml").read_text(encoding="utf-8"))


def parts() -> list[tuple[str, str, bool]]:
    """Where each sentence of the list stands, the part of it that is quoted, and whether it is a promise."""
    return [
        (place, promises.plain(part), kind == "promise")
        for kind, entries in LISTED.items()
        for entry in entries
        for place, quoted in entry["stands"].items()
        for part in quoted
    ]


def test_every_sentence_of_the_list_stands_where_it_says() -> None:
    texts = {place: promises.plain(text) for place, text in promises.texts().items()}
    assert [(place, part) for place, part, _ in parts() if part not in texts.get(place, "")] == []


def test_every_promise_is_held_by_tests_that_exist() -> None:
    files = defaultdict(set)  # by the names of their tests; a test is a function, and stands in no class
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                files[node.name].add(path.relative_to(ROOT).as_posix())
    tests = {test for entry in LISTED["promise"] for test in entry["held_by"]}
    named = [(path, name) for path, _, name in (test.partition("::") for test in tests)]
    assert all(name.startswith("test_") for _, name in named)
    moved = {name: files[name] for path, name in named if path not in files[name]}
    assert moved == {}, "where tests of these names stand now"
    assert [entry["says"] for entry in LISTED["promise"] if not entry["held_by"]] == []


def test_whatever_sounds_like_a_promise_is_in_the_list() -> None:
    """If this fails: name the test that holds the sentence in `tests/promises.toml`, write it, or promise less."""
    listed = defaultdict(list)
    for place, part, _ in parts():
        listed[place].append(part)
    assert [
        (place, sentence)
        for place, text in promises.texts().items()
        for sentence in promises.sentences(text)
        if promises.sounds_like_one(sentence) and not any(part in sentence for part in listed[place])
    ] == []


def test_the_list_quotes_enough_of_a_sentence_to_know_it_and_says_one_thing_of_each() -> None:
    assert [part for _, part, _ in parts() if len(part.split()) < promises.FEWEST_WORDS] == []
    both = {(place, part) for place, part, is_one in parts() if is_one}
    assert both.isdisjoint((place, part) for place, part, is_one in parts() if not is_one)


def test_texts_are_found_wherever_they_stand() -> None:
    script = 'f(`It ${g("no guess")} leaks` + " never", {a: 1}, "a b" // always a comment\n);'
    assert promises.of_script(script).split("\n\n") == ["no guess", "It … leaks never", "a b"]
    page = "<p>It <b>never</b> leaks.</p><p>Nor &amp; so</p>"
    assert promises.sentences(promises.of_html(page)) == ["It never leaks.", "Nor & so"]
    module = '"""Not this text."""\nsaid = f"never {x} is sent"\nother = "and nobody knows"\n'
    assert promises.of_python(module).split("\n\n") == ["never … is sent", "and nobody knows"]
    assert promises.sentences("It is so. **Nobody** reads\nit.\n- An item\n| a | b |") == [
        *("It is so.", "**Nobody** reads it.", "- An item", "a", "b"),
    ]
