"""A stray quote never carries answers out: nothing of an accepted file's private columns survives."""

import csv
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import extremal as ex
from extremal.certification.certify import certify
from extremal.errors import ExtremalError, FileError
from extremal.release.files import csv_scan
from tests.support.cli_cases import run
from tests.support.file_cases import one_line
from tests.support.wording import refused

# No output label is an input label, and no other text holds an input label.
TRUTHS = ["Ja!", "nein", "weiß nicht", "0815"]
PRIOR = ex.Prior([0.4, 0.3, 0.2, 0.1], TRUTHS)
SECRET = certify(
    PRIOR,
    ex.Mechanism(
        ex.theory.randomized_response(PRIOR, 1.0).matrix, inputs=TRUTHS, outputs=["R0", "R1", "R2", "R,3"]
    ),
    1.0,
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(csv_scan, "BLOCK", 64)


def release(raw, **options):
    """What a file of these bytes becomes, and what is said about it."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "s.csv", Path(folder) / "t.csv"
        source.write_bytes(raw)
        try:
            done = ex.privatize(source, {"answer": SECRET}, target=target, **options)
        except ExtremalError:
            assert sorted(p.name for p in Path(folder).iterdir()) == ["s.csv"]
            raise
        return target.read_bytes(), done


def parsed(raw, delimiter):
    """The records as Python's own parser reads them, names first."""
    text = raw.decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))


PIECES = [
    "x",
    "7",
    " ",
    "é",
    "'",
    '"',
    '""',
    "\n",
    "\r\n",
    "\r",
    ",",
    ";",
    "\t",
    "|",
    "\ufeff",
    "\0",
    "\u2028",
    "\\",
]
PUBLIC = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
DAMAGE = st.tuples(
    st.floats(0, 1), st.integers(0, 2), st.sampled_from([b"", *(p.encode() for p in PIECES), b"\xe9"])
)


@st.composite
def files(draw):
    """A CSV file as a library writes it, some bytes of it then replaced by others."""
    delimiter = draw(st.sampled_from(",;\t|"))
    names = draw(st.permutations(["answer", *draw(st.lists(st.sampled_from(["id", "no te", 'q"'])))[:2]]))
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=delimiter,
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        lineterminator=draw(st.sampled_from(["\n", "\r\n"])),
    )
    writer.writerow(names)
    for _ in range(draw(st.integers(0, 6))):
        writer.writerow([draw(st.sampled_from(TRUTHS) if name == "answer" else PUBLIC) for name in names])
    raw = draw(st.sampled_from(["", "\ufeff"])).encode() + text.getvalue().encode()
    for where, gone, put in draw(st.lists(DAMAGE, max_size=4)):
        at = int(where * len(raw))
        raw = raw[:at] + put + raw[at + gone :]
    return raw, draw(st.sampled_from([delimiter, None]))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(files())
def test_no_accepted_file_keeps_an_answer_in_a_private_column(case):
    raw, delimiter = case
    try:
        out, done = release(raw, delimiter=delimiter)
    except ExtremalError as error:
        event("refused")
        said = str(error)
    else:
        said = ""
    assert "\n" not in said
    assert len(said) < 700
    if said:
        return
    event("accepted")
    header = csv_scan.read_header
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.csv"
        path.write_bytes(raw)
        used = header(str(path), ["answer"], delimiter, ",").delimiter
    before, after = parsed(raw, used), parsed(out, used)
    # Python's parser sees the same records, with reports in the private column and all else as it was.
    assert len(after) == len(before)
    assert after[0] == before[0]
    place = after[0].index("answer")
    full = [(a, b) for a, b in zip(before[1:], after[1:], strict=True) if b]
    assert len(full) == done.rows
    for old, new in full:
        assert old[place] in TRUTHS
        assert new[place] in SECRET.outputs
        assert old[:place] + old[place + 1 :] == new[:place] + new[place + 1 :]
    # As bytes, no answer is left unless it stood in a public field, and then somebody is told to look at it.
    public = "\n".join(field for row in before for k, field in enumerate(row) if k != place)
    left = [label for label in TRUTHS if label.encode() in out]
    assert all(label in public for label in left)
    if any("\n" in field for row in before for field in row):
        assert done.notes


ROWS = b"".join(b"%d,%s,180\n" % (i, TRUTHS[i % 4].encode()) for i in range(40))


@pytest.mark.parametrize(
    "header",
    [
        b'id,answer,height"',
        b'id,answer,"height',
        b'"id,answer,height',
        b'id,an"swer,height',
        b'id,"answer"x,height',
        b'id,answer,"hei\nght"',
        b'id,answer,"height""',
        b'id,answer,height""',
    ],
)
@pytest.mark.parametrize("end", [b"", b'41,nein,"\n', b'41,nein,"x"\n', b'41,nein,""\n'])
def test_odd_quotes_in_the_header_are_refused(header, end):
    one_line(FileError, "s.csv", lambda: release(header + b"\n" + ROWS + end))


@pytest.mark.parametrize(
    "rows",
    [
        b'0,nein,"tall\n' + ROWS + b'41,Ja!,"\n',
        b'0,nein,"tall\n' + ROWS + b'41,Ja!,x"\n',
        b'0,nein,"tall\n' + ROWS.replace(b",180", b',"180"') + b'41,Ja!,x"\n',
        b'"0\n' + ROWS + b'",Ja!,1\n',
    ],
)
def test_a_quote_left_open_before_records_is_refused(rows):
    with refused(FileError, "s.csv"):
        release(b"id,answer,height\n" + rows)


def test_a_field_that_spans_lines_is_kept_and_its_line_is_named():
    raw = b'id,answer,note\n1,nein,x\n2,Ja!,"one\ntwo, three\n"\n3,nein,"a\nb"\n'
    out, done = release(raw)
    assert [row[2] for row in parsed(out, ",")] == ["note", "x", "one\ntwo, three\n", "a\nb"]
    (note,) = done.notes
    assert "line 3" in note
    assert "2 more" in note
    assert release(b'id,answer,note\n1,nein,"x"\n')[1].notes == ()


def test_the_command_line_never_repeats_data_at_length(tmp_path):
    SECRET.save(tmp_path / "m.json")
    target = tmp_path / "t.csv"

    def privatize(raw):
        source = tmp_path / "s.csv"
        source.write_bytes(raw)
        return run(
            "privatize", source, "-o", target, "-m", tmp_path / "m.json", "--column", "answer", "--overwrite"
        )

    done = privatize(b'id,answer,height"\n' + ROWS)
    assert done.status == 2
    assert len(done.error_lines) == 1
    assert "nein" not in done.out + done.err
    assert not target.exists()
    secret = b"nein " * 200
    for raw in (
        b"id,answer," + secret + b"\n1,Ja!,2\n",  # a long name
        b"id,answer\n1," + secret + b"\n",  # a long unknown answer
        b"id,answers," + secret + b"\n1,Ja!,2\n",  # a name that is not there
        b"id,answer," + secret + b"," + secret + b"\n1,Ja!,2,3\n",  # a name twice
        b"answer\n" + secret,
    ):
        done = privatize(raw)
        assert "nein " * 10 not in done.out + done.err
    assert "line 2" in privatize(b'id,answer,note\n1,nein,"a\nb"\n').err


def test_a_file_without_a_header_does_not_lose_its_first_answer(tmp_path):
    SECRET.save(tmp_path / "m.json")
    (tmp_path / "s.csv").write_text("nein\nJa!\nnein\n")
    done = run("privatize", tmp_path / "s.csv", "-o", tmp_path / "t.csv", "-m", tmp_path / "m.json")
    assert done.status == 2
    assert "first line" in done.err
    assert not (tmp_path / "t.csv").exists()
