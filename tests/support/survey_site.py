"""A survey as files, and a small server that hands them out and records every byte it is asked for.

The real server is tested with the real page elsewhere; this one can also fail, and shows what leaves the browser.
"""

import contextlib
import itertools
import json
import math
import random
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

import extremal as ex
from extremal.collection.page import index, said, sentences
from tests.support.draws import by_python

STATIC = Path(ex.__file__).parent / "collection" / "static"
KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html; charset=utf-8"}
DIGEST = "d1" * 32
ID = "health-at-work-1"
HEADERS = {"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}
# Keeps a page from trying or looking again of itself, so that no test waits for it or has to be faster.
HOLD_RETRIES = """() => {
    const { setTimeout } = window;
    window.retries = [];
    window.setTimeout = (call, wait) => (wait > 5000 ? setTimeout(call, wait) : retries.push([call, wait]));
}"""
# All that IndexedDB holds for a page's site: [database, store, key, value].
INDEXED = """async () => {
    const done = (request) => new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = reject;
    });
    const found = [];
    for (const { name } of await indexedDB.databases()) {
        const database = await done(indexedDB.open(name));
        for (const table of database.objectStoreNames) {
            const store = database.transaction(table).objectStore(table);
            const [keys, values] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
            keys.forEach((key, i) => found.push([name, table, key, values[i]]));
        }
        database.close();
    }
    return found;
}"""
RETRY = "() => { const [call, wait] = retries.shift(); call(); return wait; }"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)


# Everything a page could leave behind, as text.
TRACES = f"""async () => JSON.stringify([
    document.documentElement.outerHTML, location.href, history.length, JSON.stringify(history.state), document.cookie,
    Object.entries(localStorage), Object.entries(sessionStorage), await ({INDEXED})(), window.name,
    await caches.keys(), performance.getEntriesByType("resource").map(entry => entry.name).sort(),
])"""


def word_for(mechanism, answer, report):
    """A 64-bit word from which this answer gives this report."""
    words = [random.Random(k).getrandbits(64) for k in range(1000)]
    return words[by_python(mechanism, [answer] * 1000, words).index(report)]


def randomness(*words):
    """A script that replaces the browser's randomness: 16 bytes for the id, then these words."""
    chunks = [list(range(16)), *(list(word.to_bytes(8, "little")) for word in words)]
    return f"""() => {{
        const chunks = {json.dumps(chunks)};
        Crypto.prototype.getRandomValues = (array) => {{ array.set(chunks.shift()); return array; }};
    }}"""


def common_report(mechanism):
    """A report that every answer can give."""
    return mechanism.mechanism.outputs[int(np.argmax(mechanism.mechanism.matrix.min(axis=0)))]


def certified(prior, epsilon):
    prior = ex.Prior(prior)
    return ex.certify(prior, ex.design(prior, epsilon).mechanism, epsilon)


def subsets(shares):
    """The prior of every set of items that are chosen independently, as texts of 0 and 1."""
    bits = itertools.product((0, 1), repeat=len(shares))
    return {
        "".join(map(str, chosen)): math.prod(
            p if bit else 1 - p for bit, p in zip(chosen, shares, strict=True)
        )
        for chosen in bits
    }


def survey(questions, **members):
    """survey.json, from (question without mechanisms, mechanisms)."""
    files = {}
    listed = []
    for question, mechanisms in questions:
        names = [f"mechanisms/{question['name']}-{i}.json" for i in range(len(mechanisms))]
        files |= {f"/{name}": m.to_json() for name, m in zip(names, mechanisms, strict=True)}
        usual = {"help": None, "required": True, "form": None, "independent": False, "level": None}
        digests = [m.digest for m in mechanisms]
        script = {"script": "extremal-list.js"} if question["kind"] == "list" else {}
        listed.append({**usual, **question, **script, "mechanisms": names, "digests": digests})
    document = {
        "format": "extremal-survey",
        "version": 2,
        "id": ID,
        "title": "Health at work",
        "introduction": "We ask about habits. It takes two minutes.",
        "contact": "Ada, ada@example.org",
        "digest": DIGEST,
        "invitation": False,
        "post": "reports",
        "together": {"epsilon": math.log(5), "conditions": ["questions"]},
        "questions": listed,
        "said": said(["field", "list"], members.get("languages", ["en"])),
        **members,
    }
    return {"/survey.json": json.dumps(document), **files}


def kept(page):
    """The records that a page's site keeps, by survey and person: {"survey ID": {token: {body, state, drawn}}}."""
    entries = page.evaluate(INDEXED)
    assert [entry[:3] for entry in entries] in ([], [["extremal", "kept", "all"]])
    return entries[0][3] if entries else {}


def kept_of(page, token=""):
    """The record about this survey; None if there is none."""
    return kept(page).get(f"survey {ID}", {}).get(token)


@dataclass
class Site:
    """What the server hands out and what it was asked; `replies` are (status, document) or None for no reply."""

    files: dict
    requests: list = field(default_factory=list)
    stored: dict = field(default_factory=dict)
    replies: list = field(default_factory=list)
    address: str = ""
    policy: str = POLICY
    index: str = ""  # the page, if it is not the one that belongs to survey.json
    redirects: dict = field(default_factory=dict)  # from one address to another
    languages: tuple = ("en",)
    open: bool = True  # whether it says that the survey takes reports
    down: bool = False  # connections are closed without a reply
    held: str = ""  # the end of an address whose replies wait for `free`
    free: threading.Event = field(default_factory=threading.Event)

    @property
    def bodies(self):
        return [body for line, _, body in self.requests if line.startswith("POST")]

    def restart(self, files=None):
        self.files = self.files if files is None else files
        self.index = ""
        self.requests.clear(), self.stored.clear(), self.replies.clear(), self.redirects.clear()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def log_message(self, *_):
        pass

    def record(self):
        if self.site.down:
            raise ConnectionAbortedError
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.site.requests.append((self.requestline, bytes(self.headers), body))
        return body

    def reply(self, status, content, kind):
        if self.site.held and self.path.endswith(self.site.held):
            self.site.free.wait(60)
        self.send_response(status)
        about = {"Content-Type": kind, "Content-Length": str(len(content))}
        for name, value in {**HEADERS, "Content-Security-Policy": self.site.policy, **about}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        self.record()
        if self.path in self.site.redirects:
            self.send_response(302)
            self.send_header("Location", self.site.redirects[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path = re.sub(r"^/s\d+/", "/", self.path).partition("?")[0]  # the same site in other folders
        path = {"/": "/form.html", "/results": "/results.html"}.get(path, path)
        if path in self.site.files:
            content = self.site.files[path].encode()
            self.reply(200, content, KINDS.get(Path(path).suffix, "application/json"))
        elif path == "/form.html":
            text = self.site.index or index(self.site.files["/survey.json"], None, self.site.languages)
            self.reply(200, text.encode(), KINDS[".html"])
        elif path.startswith("/texts/"):
            self.reply(200, sentences(Path(path).stem).encode(), "application/json")
        elif path == "/open.json":
            self.reply(200, json.dumps({"open": self.site.open}).encode(), "application/json")
        elif (STATIC / path[1:]).is_file():
            self.reply(200, (STATIC / path[1:]).read_bytes(), KINDS[Path(path).suffix])
        else:
            self.reply(404, b"{}", "application/json")

    def do_POST(self):
        body = self.record()
        status, document, stores = (self.site.replies or [(200, {"accepted": True}, True)]).pop(0)
        if stores:
            name = json.loads(body)["id"] if body.startswith(b"{") else None
            self.site.stored.setdefault(name, body)
        if (
            status is None
        ):  # the reply is lost on the way; without its first bytes the browser itself would try again
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
            self.close_connection = True
            return
        self.reply(status, json.dumps(document).encode(), "application/json")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """Browsers drop connections: not news."""


@contextlib.contextmanager
def serving(files):
    """A site on this machine, until the block ends."""
    site = Site(files)
    with Server(("127.0.0.1", 0), type("Bound", (Handler,), {"site": site})) as server:
        site.address = f"http://127.0.0.1:{server.server_port}/"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield site
        server.shutdown()
