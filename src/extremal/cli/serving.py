"""Survey commands beside those of `survey`: import, test and backup; and how a survey is served.

Serving takes a secret, a certificate, an address, a QR code, and the version of a store.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from extremal._common.files import read_bytes, write_file
from extremal._common.web import is_loopback, listen
from extremal.errors import ExtremalError, FileError, OptionError, SurveyError
from extremal.model.reading import number, split_labels

from . import show
from .inputs import named
from .output import answer, check_target, progress, write_text

if TYPE_CHECKING:
    from extremal.collection.published import Published
    from extremal.collection.server import TlsFiles
    from extremal.collection.store import Store
    from extremal.collection.survey import Survey


# No commas or quotes in it: links stand in a CSV file.
ADDRESS = re.compile(
    r"""https?://([\w.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?(/[^\s?#,"'<>\\]*)?""", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True)
class Serving:
    """Where a survey is served, and whom the server believes.

    Parameters
    ----------
    host
        The address to listen on; 0.0.0.0 lets other machines in.
    port
        Port of the server; 0 takes a free one.
    url : URL
        The public address of the survey, if it is behind a proxy.
    tls_cert : FILE
        A TLS certificate, for https.
    tls_key : FILE
        The key of the TLS certificate.
    origin : URL
        Another site whose page may post reports, e.g. https://forms.example.org.
    proxy : ADDRESS
        A proxy whose X-Forwarded-For is believed, e.g. 10.0.0.7; one on this machine need not be named.
    secret_file : FILE
        Keeps the secret of the results page the same after a restart; created if it does not exist.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8600
    url: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    origin: list[str] | None = None
    proxy: list[str] | None = None
    secret_file: str | None = None

    def serve(self, published: Published, place: str) -> None:
        """Serve until somebody ends it."""
        from extremal.collection import server
        from extremal.collection.guard import Proxies
        from extremal.collection.store import create_store

        if (self.tls_cert is None) != (self.tls_key is None):
            raise SurveyError("--tls-cert and --tls-key must be given together")
        public = None if self.url is None else public_address(self.url)
        tls = None if self.tls_cert is None else read_certificate(self.tls_cert, str(self.tls_key))
        proxies = Proxies((*Proxies().names, *(self.proxy or ())))
        secret = read_secret(self.secret_file)
        settings = server.Settings(secret, origins=frozenset(self.origin or ()), proxies=proxies)
        with listen(self.host, self.port, "the survey") as bound, create_store(place, published) as store:
            base = public or address_of(bound.getsockname(), tls is not None)
            local = public is None and is_loopback(urlsplit(base).hostname or "")
            announce(store, base, secret, local)
            warn_of_http(base)
            server.serve(store, bound, settings, tls)


def read_certificate(certificate: str, key: str) -> TlsFiles:
    """The files, if they are a certificate and its key."""
    import ssl

    from extremal.collection.server import TlsFiles

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:
        raise FileError(
            "--tls-cert and --tls-key must be PEM files of a certificate and its key",
            given=f"{certificate} and {key}: {getattr(error, 'reason', None) or error}",
        ) from None
    return TlsFiles(certificate, key)


def read_secret(path: str | None) -> str:
    """The secret of the results page: from a file that only its owner reads, or new each time."""
    import secrets

    if path is None:
        return secrets.token_urlsafe(24)
    if not os.path.exists(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(24) + "\n")
    text = read_bytes(path, 1000, "--secret-file", secret=True).decode("utf-8", "replace").strip()
    if len(text) < 16 or not text.isascii() or not text.isprintable():
        raise FileError(
            "a secret must have at least 16 ASCII characters", given=path, remedy="delete the file"
        )
    return text


def public_address(url: str) -> str:
    """The public address of a survey with a slash at its end, if invitations and keys can be added to it as #…."""
    if not ADDRESS.fullmatch(url):
        raise OptionError(
            "--url must be an http or https address without ? and #",
            given=repr(url)[:80],
            remedy="give one like https://survey.example.org/",
        )
    return url.rstrip("/") + "/"


def address_of(name: tuple[Any, ...], https: bool) -> str:
    """The address for a browser; of a server that listens everywhere, the one that other machines see."""
    import socket

    host, port = name[:2]
    if host in ("0.0.0.0", "::"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:  # nothing is sent
            try:
                probe.connect(("192.0.2.1", 9))
                host = probe.getsockname()[0]
            except OSError:
                host = "127.0.0.1"
    shown = f"[{host}]" if ":" in host else host
    return f"http{'s' if https else ''}://{shown}:{port}/"


def announce(store: Store, base: str, secret: str, local: bool) -> None:
    """The links; a QR code of the first, unless only this machine can open it."""
    import segno

    from extremal.collection.page import page_of

    out, published, closed = show.Console(), store.published, store.closed()
    seen = f"all {store.visible()}" if closed else f"{store.visible()} so far, and more in steps of five"
    out.heading(published.title)
    out.lines(
        f"Survey:  {base}",
        f"Results: {base}results",  # without the secret: browsers keep addresses
        f"Secret:  {secret}  (for you alone; the results page asks for it)",
        f"SHA-256 of the page: {page_of(store.current, 'reports').digest}",
        f"Reports are stored in {store.place}; results show {seen}. Ctrl-C ends the server.",
    )
    if published.learn is not None and not closed:
        lacking, number = store.lacking(), store.stages[-1].number
        more = (
            "it is the last one" if lacking is None else f"the next one begins after {lacking:,} more reports"
        )
        out.lines(f"Stage {number} of {len(published.learn.stages) + 1} runs; {more}.")
    if closed:
        out.say("This survey is closed: the server takes no more reports.")
    if published.invitation:
        out.say(f"{store.open_invitations()} invitations are open; make more with: extremal survey invite")
    if local:
        out.say("Only this machine can open this link; for phones see docs/survey.md.")
    elif out.rich.is_terminal and not published.invitation:
        _draw(out.rich, list(segno.make(base, micro=False).matrix_iter(border=2)))
    out.rich.file.flush()


def warn_of_http(base: str) -> None:
    """Say so if browsers will make no reports at this address."""
    parts = urlsplit(base)
    host = parts.hostname or ""
    with contextlib.suppress(ValueError):
        if is_loopback(host):
            return
    if parts.scheme == "http" and host != "localhost" and not host.endswith(".localhost"):
        print(
            f"WARNING: nobody can answer at {base}: over http the page refuses to make a report, because anybody on "
            "the way could change it. Use --tls-cert and --tls-key, or a web server with https in front and --url https://…"
        )


def _draw(out: Any, rows: list[Any]) -> None:
    """A QR code, two rows of it in a line of text."""
    from rich.text import Text

    for pair in zip_longest(rows[::2], rows[1::2], fillvalue=()):
        line = "".join(" ▄▀█"[2 * bool(a) + bool(b)] for a, b in zip_longest(*pair, fillvalue=0))
        out.print(Text(line, style="black on white"))


def check_mechanisms(survey: str, store: Store) -> None:
    """Refuse a store whose reports were drawn with other mechanisms: those beside the survey give wrong estimates."""
    remedy = (
        "estimate from the store, which holds its own mechanisms: extremal estimate STORE; or put the survey and its "
        "files back as they were"
    )
    try:
        now, drew = _mechanisms(published_of(survey)), _mechanisms(store.published)
        changed = [name for name in drew if name in now and now[name] != drew[name]]
        given = f"others for {', '.join(changed)}" if changed else ""
    except SurveyError as error:
        given = error.problem
    if given:
        raise SurveyError(
            f"{survey} must have the mechanisms that drew the reports in {store.place}",
            given=given[:200],
            remedy=remedy,
        )


def other_version(place: str, published: Published) -> list[str]:
    """A warning if a store holds reports to another version of a survey."""
    from extremal.collection.store import is_store, read_store

    try:
        if not is_store(place) or read_store(place).published.digest == published.digest:
            return []
    except (ExtremalError, ImportError):
        return []
    return [
        f"WARNING: {place} holds reports for another version of this survey. Do not use the mechanism files beside the "
        f"survey for them: `extremal estimate {place}` reads the right ones from the store. Choose another --database "
        "for this version."
    ]


def left_over(survey: Survey) -> list[str]:
    """A warning for each mechanism file of a question that the survey no longer has, such as one that was renamed."""
    from extremal.collection.survey import NAME

    own = re.compile(rf"{re.escape(survey.path.stem)}\.({NAME})(\.\d+)?\.mechanism\.json")
    names = {question.name for question in survey.questions}
    given = {question.mechanism.name for question in survey.questions if question.mechanism is not None}
    found = []
    for path in sorted(survey.path.parent.glob("*.mechanism.json")):
        stands = own.fullmatch(path.name)
        if stands and stands[1] not in names and path.name not in given:
            found.append(
                f"{path.name} is left over: this survey has no question {stands[1]!r}. If reports were drawn with it, "
                "keep it to read them; else delete it."
            )
    return found


def _mechanisms(published: Published) -> dict[str, list[str]]:
    """The digests of the mechanisms of each question."""
    return {question.name: [m.digest for m in question.drawn_from] for question in published.questions}


def published_of(survey: str) -> Published:
    """The survey with the mechanisms beside it."""
    from extremal.collection.designs import load_designs
    from extremal.collection.survey import read_survey

    return load_designs(read_survey(survey))


def place_of(survey: str, database: str | None) -> str:
    """The database that was asked for, or a file beside the survey."""
    return database if database is not None else str(Path(survey).with_suffix(".db"))


SIMULATED = 500  # people, where the survey does not say how many it asks
MOST_SIMULATED = 100_000


def store_of(survey: str, database: str | None, published: Published | None = None) -> Store:
    """The store of a survey; if there is none and the survey is given, a new one for it."""
    from extremal.collection.store import create_store, open_store

    place = place_of(survey, database)
    return open_store(place) if published is None else create_store(place, published)


def check_apart(output: str, overwrite: bool, survey: str, database: str | None) -> None:
    """Refuse what cannot be written, and to write over the survey or its store."""
    place = place_of(survey, database)
    check_target(output, overwrite, inputs=[survey, place, f"{place}-journal"])


def import_form(
    form: str,
    *,
    output: str,
    share: list[str] | None = None,
    epsilon: float | None = None,
    overwrite: bool = False,
) -> None:
    """Make a survey from an XLSForm, and list by row what is not taken over.

    Questions of one choice are asked in the clear, unless you say how common their answers are. Garbled questions of
    Safely Report keep their rate g: with a share p of "yes", e^-epsilon = p + (1 - p) g.

    Parameters
    ----------
    form : FORM
        The form: an .xlsx file of ODK, KoboToolbox or SurveyCTO.
    output : -o SURVEY
        The survey to write: survey.toml.
    share : NAME=SHARES
        Make a question private: how common its answers are, in the order of the form, such as visits=50%,30%,20%. For a
        garbled question one number, the share of the answer that others are garbled into. May be repeated.
    epsilon : -e LIMIT
        The limit of questions that --share makes private; garbled ones have their own.

    Examples
    --------
    extremal survey import form.xlsx -o imported.toml --share harassed=10%
    """
    from extremal.collection.survey import parse_survey
    from extremal.collection.xlsform import Wanted, read_xlsform

    check_target(output, overwrite, inputs=[form])
    found = read_xlsform(form, Wanted(dict(_shares(text) for text in share or ()), epsilon))
    parse_survey(found.text, Path(output if output != "-" else "survey.toml"))
    write_text(output, found.text, overwrite)
    out = show.Console(to_stderr=output == "-")
    private = f"{found.private} of them private" if found.private else "none of them private"
    out.facts(f"{output} has {found.questions} questions, {private}.")
    if found.left:
        out.heading("Not taken over")
        out.say(*found.left)
    if output != "-":
        out.facts(f"Read it, then: extremal survey check {output}")


def _shares(text: str) -> tuple[str, list[float]]:
    wanted = "--share must be like visits=50%,30%,20%"
    name, values = named(text, wanted, OptionError)
    shares = [number(value) for value in split_labels(values)]
    if None in shares:
        raise OptionError(wanted, given=f"{text!r:.60}")
    return name, [float(x) for x in shares if x is not None]


@dataclass(frozen=True)
class Rehearsed:
    """The results of simulated people."""

    results: Mapping[str, Any]
    people: int

    def facts(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {"test": True, "people": self.people, **self.results}

    def tell(self, out: show.Console) -> None:
        """What a person wants to read."""
        out.warn(f"A test with {self.people:,} simulated people. Nobody was asked.")
        for question in self.results["questions"]:
            out.heading(f"{question['name']}: {question['text']}")
            rows = [*question["rows"], *([question["mean"]] if question["mean"] else [])]
            figures = [(r["label"], f"{r['share']:.4f}", f"{r['low']:.4f}", f"{r['high']:.4f}") for r in rows]
            out.table(("", "share", "lower", "upper"), figures, (0,), most=None)
            out.say(*[text for text in (question["promise"], question["note"]) if text])
        out.say(
            "",
            "Answers were drawn as the survey expects them, each question by itself; in the clear, uniformly.",
        )


def rehearse(
    survey: str,
    *,
    people: Annotated[int | None, typer.Option(min=10, max=MOST_SIMULATED)] = None,
    serve: bool = False,
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8601,
    as_json: bool = False,
) -> None:
    """Show the results of simulated people, marked as a test, before you ask anybody.

    It fills a copy of the survey and deletes it at the end. The copy has another id and other texts, so the store of
    the survey takes none of its reports.

    Parameters
    ----------
    people
        How many people to simulate; by default as many as the survey asks, or 500.
    serve
        Also serve the copy with its results page, until Ctrl-C.
    port
        With --serve: the port of the server; 0 takes a free one.

    Examples
    --------
    extremal survey test survey.toml
    """
    import numpy as np

    from extremal.collection.rehearsal import fill, rehearsal
    from extremal.collection.results import results
    from extremal.collection.store import create_store

    copy = rehearsal(published_of(survey))
    count = people or min(copy.people or SIMULATED, MOST_SIMULATED)
    with tempfile.TemporaryDirectory(prefix="extremal-test-") as folder:
        place = os.path.join(folder, "test.db")
        with create_store(place, copy) as store, progress("simulating people"):
            fill(store, count, np.random.default_rng())
            if not serve:
                store.finish()
            found = results(store)
        answer(Rehearsed(found, count), as_json)
        if serve:
            Serving(port=port).serve(copy, place)


def backup(survey: str, *, output: str, database: str | None = None, overwrite: bool = False) -> None:
    """Copy the store of a survey into a file that only you can read, also while servers write to it.

    The copy holds what the store holds at that moment, also the newest reports, which results and exports do not show
    yet. Two copies show together which reports and which used invitations came in between: keep one, as safe as the
    store itself.

    Parameters
    ----------
    output : -o FILE
        The copy to write: an SQLite file, which `estimate` and `--database` take like the store.

    Examples
    --------
    extremal survey backup survey.toml -o copy.db
    """
    from extremal.collection.rehearsal import copied

    if output == "-":
        raise OptionError("a copy must be written into a file", given="-o -", remedy="give its name")
    check_apart(output, overwrite, survey, database)
    content, count = copied(place_of(survey, database))
    write_file(output, content, overwrite, 0o600)
    print(f"{count} people's reports in {output}: keep it as safe as the store")
