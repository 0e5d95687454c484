"""CSV: every byte outside the private fields stays, and how a value was written leaves no trace."""

import csv
import io
import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import extremal as ex
from extremal.certification.certify import certify
from extremal.errors import FileError, KeyingError, ValuesError
from extremal.model.mechanism import identity
from extremal.release.files import csv_scan
from tests.support.examples import at_most
from tests.support.file_cases import KEY, SAME, WORDS, C, one_line
from tests.support.wording import refused

NUMBERS = ex.Prior({1: 0.5, 2: 0.25, 0.5: 0.25})


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(csv_scan, "BLOCK", 256)


def privatized(text, mechanisms, **options):
    """The bytes that a CSV file of these bytes becomes."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "s.csv", Path(folder) / "t.csv"
        source.write_bytes(text)
        ex.privatize(source, mechanisms, target=target, **options, allow_true_answers=True)
        return target.read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        b"answer\na\na\n",
        b"answer\na",
        b"n,answer\r\n1,a\r\n 02,a\r\n",
        b'\xef\xbb\xbfanswer,n\na,"x\n\ny"\na,""""\na,\n',
        b'"answer","n"\r\n"a","1"\r\n"b,b","2"\r\n"c""c",""\r\n',
        b"n;answer;z\n1,5;a;x\n2,5;a;y",
        b"n\tanswer\n1\ta\n",
        "größe,answer\n1 €,a\n".encode(),
        b"n,answer\n\n1,a\n\n\n2,a\n\n",
        b'n,answer\n1,"b,b"\n2,"c""c"\n',
        b"a|answer\n1|a\n",
    ],
)
def test_a_mechanism_that_tells_the_truth_copies_a_csv_file_byte_for_byte(text):
    assert privatized(text, {"answer": SAME}) == text


FIELD = st.text(st.sampled_from('ab ,;"\n\r\té€'), max_size=6)


@at_most(60)
@given(
    rows=st.lists(st.tuples(FIELD, st.sampled_from(WORDS.labels), FIELD), min_size=1, max_size=8),
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
    block=st.integers(1, 40),
)
def test_any_csv_file_that_a_library_writes_comes_back_as_it_was(rows, delimiter, quoting, end, block):
    """Reports are quoted by need or if the header is: here as the library does it, so the bytes are the same."""
    if quoting == csv.QUOTE_MINIMAL:  # some versions of the library leave a carriage return without quotes
        rows = [tuple(field.replace("\r", "") for field in row) for row in rows]
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writerow(["one", "answer", "two"])
    writer.writerows(rows)
    text = file.getvalue().encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_scan, "BLOCK", block)
        assert privatized(text, {"answer": SAME}, delimiter=delimiter) == text
        reports = privatized(text, {"answer": C}, delimiter=delimiter)
    _, *got = csv.reader(io.StringIO(reports.decode(), newline=""), delimiter=delimiter)
    assert [row[::2] for row in got] == [[row[0], row[2]] for row in rows]
    assert {row[1] for row in got} <= set(WORDS.labels)


def test_how_a_report_is_written_does_not_depend_on_how_the_value_was():
    """Values quoted without need, or not quoted: the same bytes come out."""
    plain = b"n,answer\n1,a\n2,a\n"
    for style in (b'n,answer\n1,"a"\n2,a\n', b'n,answer\n1,"a"\n2,"a"\n'):
        assert privatized(style, {"answer": SAME}) == plain
        assert privatized(style, {"answer": C}, keyed=ex.Keyed(KEY, "n")) == privatized(
            plain, {"answer": C}, keyed=ex.Keyed(KEY, "n")
        )


def test_numbers_and_truth_values_are_recognised_in_csv():
    same = certify(NUMBERS, identity(NUMBERS), 2.0, allow_true_answers=True)
    text = b"x,n\n1,a\n01,b\n1.0,c\n+2,d\n5e-1,e\n0.50,f\n.5,g\n"
    with refused(ValuesError, "others in 1 of 7 rows, first in record 7"):
        privatized(text, {"x": same})
    assert privatized(text[:-5], {"x": same}) == b"x,n\n1,a\n1,b\n1,c\n2,d\n0.5,e\n0.5,f\n"
    for strange in (b"1_0", b" 1", b"nan", b"inf", b"1e999", b"true", b"0x1", b"", "١".encode()):
        with refused(ValuesError, "1 of 1 rows"):
            privatized(b"x,n\n" + strange + b",1\n", {"x": same})
    truth = ex.Prior({True: 0.5, False: 0.5})
    same = certify(truth, identity(truth), 1.0, allow_true_answers=True)
    assert privatized(b"x\ntrue\nFALSE\nTrue\n", {"x": same}) == b"x\nTrue\nFalse\nTrue\n"
    text = ex.Prior({"1": 0.5, "01": 0.5})  # as text they differ
    assert (
        privatized(b"x\n01\n1\n", {"x": certify(text, identity(text), 1.0, allow_true_answers=True)})
        == b"x\n01\n1\n"
    )


def test_ids_in_csv_are_integers_if_they_are_written_as_such():
    c = C
    ids = ["7", "-3", "0", "008", "1.5", "abc", "99999999999999999999", "+5", " x", "é"]
    text = "id,answer\n" + "".join(f"{name},a\n" for name in ids)
    got = privatized(text.encode(), {"answer": c}, keyed=ex.Keyed(KEY, "id")).decode()
    meant = [7, -3, 0, 8, "1.5", "abc", 99999999999999999999, 5, " x", "é"]
    reports = [row[1] for row in csv.reader(got.splitlines())][1:]
    assert reports == c.privatize(["a"] * len(ids), keyed=ex.Keyed(KEY, meant), column="answer")
    quoted = text.replace("7,", '"7",', 1)
    assert privatized(quoted.encode(), {"answer": c}, keyed=ex.Keyed(KEY, "id")).decode() == got.replace(
        "7,", '"7",', 1
    )
    for twin in ("007", "+7", '"7"', '"007"'):
        again = text + f"{twin},a\n"
        with refused(KeyingError, "ids", "records 1 and 11 of column 'id'"):
            privatized(again.encode(), {"answer": c}, keyed=ex.Keyed(KEY, "id"))
    with refused(KeyingError, "' 8': some readers drop them, others take it for text"):
        privatized(b"id,answer\n 8,a\n", {"answer": c}, keyed=ex.Keyed(KEY, "id"))


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (b"", FileError, "empty file"),
        (b"\xef\xbb\xbf", FileError, "empty file"),
        (b"\n\n", FileError, "empty file"),
        (b"answer,n\na\n", FileError, "1 in record 1"),
        (b"answer,n\na,1\na,1,2\n", FileError, "3 in record 2"),
        (b"n,n,answer\n1,2,a\n", FileError, "['n'] more than once"),
        (b"answer,answer\na,a\n", FileError, "more than once"),
        (b'answer,n\na,5" pipe\n', FileError, "quotes"),
        (b'answer,n\na,"open\n', FileError, "quotes"),
        (b'answer,n\na,"x"y\n', FileError, "quotes"),
        (b'answer,n\na,x"y"\n', FileError, "quotes"),
        (b"answer,n\ra,1\r", FileError, "s.csv"),
        (b"answer,n\na,1\r2\n", FileError, "record 0"),
        (b"answer,n\na,1\r\r\n", FileError, "record 0"),
        ("answer,n\na,1\n".encode("utf-16"), FileError, "UTF-8"),
        (b"answer,n\na,\xe9\n", FileError, "UTF-8"),
        (b"answer,\xe9\na,1\n", FileError, "UTF-8"),
        (b"n\n1\n", ValuesError, "'answer'"),
        (b"Answer,n\na,1\n", ValuesError, "'answer'"),
        (b"answer", ValuesError, "names of columns alone"),
        (b"n,answer\n\n", ValuesError, "names of columns alone"),
        (b"answer\na\n\n", ValuesError, "missing"),
        (b"answer,n\n a,1\n", ValuesError, "1 like a label but for case, spaces or type"),
    ],
)
def test_csv_that_cannot_be_read_is_refused_in_one_line(text, error, message):
    one_line(error, message, lambda: privatized(text, {"answer": C}))


def test_a_record_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(csv_scan, "LONGEST", 1 << 12)
    one_line(FileError, "a longer one", lambda: privatized(b'answer,n\na,"' + b"x\n" * 4000, {"answer": C}))
    one_line(FileError, "delimiter", lambda: privatized(b"answer\na\n", {"answer": C}, delimiter="||"))


@pytest.mark.parametrize("size", [4, 7, 16, 1 << 20])
@given(parts=st.lists(st.sampled_from([b"a", b"\n", b'"', b'""', b",", b'"\n"', b'"a\n\n"']), max_size=30))
def test_blocks_end_where_records_end(size, parts):
    """However the file is cut: a line feed ends a record if the number of quotes before it is even."""
    text = b"".join(parts)
    ends = {0, len(text)} | {
        i + 1 for i, byte in enumerate(text) if byte == ord("\n") and text[:i].count(b'"') % 2 == 0
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_scan, "BLOCK", size)
        blocks = list(csv_scan.whole_records(io.BytesIO(text), "file"))
    assert b"".join(blocks) == text
    assert set(itertools.accumulate(map(len, blocks))) <= ends


def test_a_field_of_a_million_lines_is_looked_at_once(monkeypatch):
    """Work that grows with the square of the lines shows in the number of searches, on any machine."""
    searches = []

    class Counted(bytes):
        def rfind(self, *arguments):
            searches.append(arguments)
            return super().rfind(*arguments)

    block = Counted(b'a,1\nb,"' + b"x\n" * 1_000_000)
    assert csv_scan._last_line_end(block) == 4
    assert len(searches) == 1


def test_outputs_that_are_no_text_do_not_go_into_csv():
    pairs = ex.Mechanism(np.full((3, 2), 0.5), WORDS.labels, [("x", 1), ("x", 2)])
    one_line(
        ValuesError,
        "outputs",
        lambda: privatized(b"answer\na\n", {"answer": certify(WORDS, pairs, 0.0)}),
    )
    many = certify(WORDS, ex.Mechanism(np.full((3, 5), 0.2), WORDS.labels), 0.0)
    assert set(privatized(b"answer\n" + b"a\n" * 200, {"answer": many}).split()[1:]) == set(
        b"0 1 2 3 4".split()
    )


def test_labels_of_the_same_text_cannot_be_told_apart_in_csv():
    """1 and "1" would be one value when read, and one report when written."""
    for labels in ([1, "1"], [True, "True", "x"], [0.5, "0.5"]):
        prior = ex.Prior.uniform(labels)
        c = certify(prior, ex.theory.randomized_response_for_pml(prior, 0.3), 0.3)
        one_line(ValuesError, "labels", lambda c=c: privatized(b"answer\n1\n", {"answer": c}))
    outputs = certify(WORDS, ex.Mechanism(np.full((3, 2), 0.5), WORDS.labels, [2, "2"]), 0.0)
    one_line(ValuesError, "[2, '2']", lambda: privatized(b"answer\na\n", {"answer": outputs}))
    pairs = ex.Prior.uniform([(1, "x"), ("1", "x"), (1, "y")])
    joint = certify(pairs, ex.theory.randomized_response_for_pml(pairs, 0.3), 0.3)
    one_line(ValuesError, "labels", lambda: privatized(b"p,q\n1,x\n", {("p", "q"): joint}))
