"""Surveys: reports a second through the real server with every one flushed to disk, kill -9 under load, page weight.

Targets: 1,000 reports a second on 2 cores, in SQLite and in PostgreSQL (where EXTREMAL_POSTGRESQL names one); no report
that was acknowledged is lost when the server is killed, and none is stored twice.
"""

from __future__ import annotations

import asyncio
import gzip
import importlib.util
import json
import os
import re
import secrets
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from report import Report

import extremal as ex
from extremal.collection.designs import check
from extremal.collection.page import CODE, index, sentences
from extremal.collection.published import Published
from extremal.collection.store import open_store
from extremal.collection.survey import read_survey

CONNECTIONS = 256  # phones that wait for an answer at the same time
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
# Presses Start as soon as it is there, and notes when the first question is.
WATCH = """
new MutationObserver((_, watch) => {
    const start = document.getElementById("start");
    if (!start || !start.checkVisibility()) return;
    watch.disconnect();
    start.click();
    if (document.getElementById("question-0").checkVisibility()) window.shown = performance.now();
}).observe(document, { attributes: true, subtree: true, attributeFilter: ["hidden"] });
"""
BYTES = 400e3 / 8  # a second, on a slow network
SLOWER = 6  # times, a slow processor
REPORTS = {"tiny": 200, "quick": 5_000, "normal": 20_000, "full": 200_000}
SURVEY = """
title = "Visits"
[[question]]
name = "visits"
text = "How often did you see a doctor last year?"
answers = ["never", "once", "often"]
epsilon = 0.7
prior = [0.5, 0.3, 0.2]
"""


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        survey = Path(folder, "survey.toml")
        survey.write_text(SURVEY, encoding="utf-8")
        published, _ = check(read_survey(survey))
        places = {"SQLite": str(Path(folder, "survey.db"))}
        if "EXTREMAL_POSTGRESQL" in os.environ:
            places["PostgreSQL"] = os.environ["EXTREMAL_POSTGRESQL"]
        _load(report, survey, published, places)
        _killed(report, survey, published, str(Path(folder, "killed.db")))
        _slow_phone(report, survey, str(Path(folder, "slow.db")))
    _weight(report)


def _load(report: Report, survey: Path, published: Published, places: dict[str, str]) -> None:
    table = report.table(
        f"Reports through the server, {CONNECTIONS} connections",
        {"store": "<12", "reports": "8d", "seconds": "8.2f", "a second": "9.0f", "cpu ms each": "11.3f"},
        note="every report is on disk before it is acknowledged; cpu: of the server",
    )
    count = REPORTS[report.level]
    for name, place in places.items():
        with serving(survey, place) as (process, address):
            asyncio.run(post_all(address, requests(published, 100)))  # a warm start
            before = _processor(process.pid)
            begin = time.perf_counter()
            answers = asyncio.run(post_all(address, requests(published, count)))
            seconds = time.perf_counter() - begin
            cpu = (_processor(process.pid) - before) / count
        if len(answers) != count:
            report.broke(f"{name}: {count - len(answers)} of {count} reports were not acknowledged")
        rate = count / seconds
        met = report.check(f"{name}: 1,000 reports a second", rate >= 1000)
        table.row(name, count, seconds, rate, 1000 * cpu, ok=met)


def _killed(report: Report, survey: Path, published: Published, place: str) -> None:
    table = report.table(
        "kill -9 under load",
        {"round": "5d", "acknowledged": "12d", "stored": "8d", "lost": "5d", "extra": "6d"},
        note="extra: stored, but the server was killed before it could say so",
    )
    acknowledged: set[str] = set()
    sent = 0
    for k in range({"tiny": 2, "full": 5}.get(report.level, 3)):
        with serving(survey, place) as (process, address):
            batch = requests(published, REPORTS[report.level])
            sent += len(batch)
            acknowledged |= asyncio.run(
                post_all(address, batch, lambda: process.kill(), after=len(batch) // 4 * (k + 1) // 2)
            )
        open_store(place).close()  # as after a start: the journal is rolled back
        with closing(sqlite3.connect(place)) as connection:
            query = "SELECT id FROM reports UNION ALL SELECT id FROM waiting"
            stored = {id for (id,) in connection.execute(query)}
        lost = len(acknowledged - stored)
        met = report.check(f"kill -9, round {k + 1}: nothing that was acknowledged is lost", lost == 0)
        table.row(k + 1, len(acknowledged), len(stored), lost, len(stored - acknowledged), ok=met)


def _slow_phone(report: Report, survey: Path, place: str) -> None:
    """When the first question can be read on a slow phone, of which Chromium imitates processor and network."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or importlib.util.find_spec("playwright") is None:
        return
    from playwright.sync_api import sync_playwright

    slow = {"offline": False, "latency": 0, "downloadThroughput": BYTES, "uploadThroughput": BYTES}
    visits = 3 if report.level == "tiny" else 9
    with serving(survey, place) as (_, address), sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        seconds, loaded = [], []
        for k in range(2 * visits):
            page = started.new_context(viewport={"width": 390, "height": 844}).new_page()
            session = page.context.new_cdp_session(page)
            if k % 2:
                session.send("Network.emulateNetworkConditions", slow)
                session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
                seconds.append(_shown(page, address))
            else:
                loaded.append(_without_waiting(page, session, address))
            page.context.close()
        started.close()
    median = statistics.median(seconds)
    table = report.table(
        "A slow phone: 6 times slower, 400 kbit/s",
        {"": "<16", "median s": "8.2f", "best s": "8.2f", "alone s": "7.2f"},
        note="alone: bytes over the network, then 6 times the processor time, without what a busy machine adds",
    )
    met = report.check("the first question can be read within 1 s", median <= 1)
    table.row("first question", median, min(seconds), statistics.median(loaded), ok=met)


def _shown(page: Any, address: tuple[str, int]) -> float:
    """After how many seconds the first question can be read."""
    page.add_init_script(WATCH)
    page.goto("http://{}:{}/".format(*address))
    while not (shown := page.evaluate("window.shown")):
        page.wait_for_timeout(20)
    return float(shown) / 1000


def _without_waiting(page: Any, session: Any, address: tuple[str, int]) -> float:
    """The seconds of a slow phone that does one thing at a time, on a machine that may do others."""
    sizes: list[float] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    session.send("Network.enable")
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    _shown(page, address)
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return sum(sizes) / BYTES + SLOWER * float(found["TaskDuration"])


def _weight(report: Report) -> None:
    table = report.table("Page weight", {"file": "<14", "bytes": "7d", "gzip": "7d"})
    static = Path(ex.__file__).parent / "collection" / "static"
    files = {name: (static / name).read_bytes() for name in CODE} | {"index.html": index("{}").encode()}
    files |= {"texts/en.json": sentences("en").encode()}
    for name, text in files.items():
        table.row(name, len(text), len(gzip.compress(text)))
    total, packed = (sum(map(size, files.values())) for size in (len, lambda text: len(gzip.compress(text))))
    light = total < 70_000 and packed < 25_000
    table.row(
        "in all", total, packed, ok=report.check("the page weighs less than 70 kB, 25 kB packed", light)
    )


def requests(published: Published, count: int) -> dict[str, bytes]:
    """Id -> the bytes of an HTTP request; reports are drawn as a phone would."""
    mechanism = published.questions[0].mechanisms[0]
    reports = mechanism.privatize(["never"] * count)
    found = {}
    for report in reports:
        id = secrets.token_hex(16)
        body = json.dumps({"survey": published.digest, "id": id, "reports": {"visits": report}}).encode()
        head = "POST /reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        found[id] = head.encode() + body
    return found


async def post_all(
    address: tuple[str, int], given: dict[str, bytes], event: Any = None, after: int = 0
) -> set[str]:
    """The ids that the server acknowledged; `event` is called once `after` of them were."""
    waiting, done = list(given.items()), set()

    async def phone() -> None:
        reader, writer = await asyncio.open_connection(*address)
        try:
            while waiting:
                id, request = waiting.pop()
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head)
                await reader.readexactly(int(length[1]) if length else 0)
                if head.startswith(b"HTTP/1.1 200"):
                    done.add(id)
                    if event is not None and len(done) == after:
                        event()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    await asyncio.gather(*(phone() for _ in range(CONNECTIONS)))
    return done


@contextmanager
def serving(survey: Path, place: str) -> Iterator[tuple[subprocess.Popen[str], tuple[str, int]]]:
    """A server of its own process, and where it listens."""
    command = [
        sys.executable,
        "-m",
        "extremal",
        "survey",
        "serve",
        str(survey),
        "--port",
        "0",
        "--database",
        place,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            found = re.search(r"http://([\d.]+):(\d+)/$", line.strip())
            if found:
                yield process, (found[1], int(found[2]))
                break
        else:
            raise RuntimeError("the server did not start")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stdout.close()


def _processor(pid: int) -> float:
    """Seconds of processor time that a process has used, where the system tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return float("nan")
