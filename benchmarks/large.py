"""Large alphabets: a million answers from the design to the report, and shares of 22,000 answers beside other clients.

- Mechanisms in blocks: time and memory of every step, and the rate of privatising beside that of 1000 answers, measured
  by turns in one process.
- Windows (a start and a public step): the mean squared error of a share in millionths, Zipf's law, epsilon = 5, 1000
  people, simulated with the library's own draws and estimates. The published figures are those of subset selection,
  projective geometry response, and Hadamard response in two variants (Feldman, Nelson, Nguyen and Talwar, 2022).
- Few steps beside all steps: time and memory of counting, the error of every answer and of groups, and how often
  intervals hold.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from families import zipf
from report import Report, best

import extremal as ex
from extremal.lists.steps import Choice, Cosets, _best_size, best_choice, next_prime, supports

ANSWERS = {"tiny": 5_000, "quick": 100_000, "normal": 1_000_000, "full": 1_000_000}
RECORDS = {"tiny": 100_000, "quick": 2_000_000, "normal": 10_000_000, "full": 10_000_000}
TIMES = {"tiny": 2, "quick": 10, "normal": 40, "full": 100}
SLOWER = 5.0  # target: times as long as with 1000 answers, at most
SIZE, EPSILON, PEOPLE = 22_000, 5.0, 1000
PUBLISHED = {
    "subset selection": 27.3,
    "projective geometry response": 27.3,
    "recursive Hadamard response": 36.7,
    "Hadamard response": 68.9,
}
FEW = {"tiny": 509, "quick": 2003, "normal": 2003, "full": 2003}  # answers, for exact errors with all steps
EPSILONS = (0.5, 1.0, 3.0, 5.0, 5.8, 6.0, 8.0)  # counting takes longest at 5.8
COUNT = r"""
import re, sys, time
from pathlib import Path
import numpy as np
import extremal as ex
n, epsilon, seed = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
windows, rng = ex.large.windows(n, epsilon), np.random.default_rng(seed)
answers = np.where(rng.random(n) < 0.5, 7, rng.integers(0, n, n))
reports = windows.privatize(answers, source=ex.randomness.SeededWords(seed))
begin, clock = time.process_time(), time.perf_counter()
ex.large.estimate(windows, reports)
cpu, seconds = time.process_time() - begin, time.perf_counter() - clock
status = Path("/proc/self/status")  # ru_maxrss would count what the parent held when it began this process
memory = int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1024 if status.exists() else float("nan")
print(windows.layout.steps, windows.size, cpu, seconds, memory)
"""
NEAR = 0.02  # of the published figure of subset selection, beside 4 standard errors


def run(report: Report) -> None:
    certified = steps(report)
    rates(report, certified)
    shares(report)
    counting(report)
    errors(report)
    many(report)


def steps(report: Report) -> ex.Certified:
    """Every step with its time, for the largest alphabet of this level."""
    prior = zipf(ANSWERS[report.level], 1.0)
    table = report.table(f"{prior.size} answers in blocks", {"step": "<24", "cpu s": "8.2f", "note": "<40"})

    def timed(name, call, note=lambda value: ""):
        begin = time.process_time()
        value = call()
        table.row(name, time.process_time() - begin, note(value))
        return value

    design = timed(
        "design", lambda: ex.design(prior, 1.0, ex.mutual_information), lambda d: f"gap {d.gap:.1e}"
    )
    report.check(f"{prior.size} answers: gap {design.gap:.1e}, at most 1e-6", design.gap <= 1e-6)
    certified = timed("certify", lambda: ex.certify(design), lambda c: f"{c.weights.size} weights")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mechanism.json"
        timed("save", lambda: certified.save(path), lambda _: f"{path.stat().st_size / 1e6:.1f} MB")
        timed(
            "load and prove again",
            lambda: ex.load(path),
            lambda c: "equal" if c == certified else "DIFFERENT",
        )
    timed("audit", lambda: ex.audit(certified), lambda a: f"epsilon {a.epsilon:.6g}")
    timed("check_design", lambda: ex.check_design(design), lambda c: "holds" if c.ok else "DOES NOT HOLD")
    return certified


def rates(report: Report, large: ex.Certified) -> None:
    """Records a second, beside 1000 answers."""
    count, rng = RECORDS[report.level], np.random.default_rng(report.seed)
    prior = ex.Prior.uniform(1000)
    small = ex.certify(prior, ex.theory.randomized_response_for_pml(prior, 1.0), 1.0)
    table = report.table(
        f"{count} records", {"case": "<34", "million/s": "9.1f", "times as long": "13.2f"}, "cpu"
    )
    few = rng.integers(0, 1000, count).astype(np.uint16)
    base = best(lambda: small.privatize_codes(few), 5)
    table.row("1000 answers, codes", count / base.cpu / 1e6, 1.0)
    codes = rng.choice(large.prior.size, size=count, p=large.prior.probabilities).astype(np.uint32)
    for name, call in (
        ("codes", lambda: large.privatize_codes(codes)),
        ("values", lambda: large.privatize(codes)),
    ):
        taken = best(call, 5)
        ratio = taken.cpu / base.cpu
        table.row(f"{large.prior.size} answers, {name}", count / taken.cpu / 1e6, ratio)
        report.check(
            f"{large.prior.size} answers, {name}: at most {SLOWER:g} x as long as 1000, got {ratio:.2f} x",
            ratio <= SLOWER,
        )
    windows = ex.large.windows(large.prior.size, 1.0)
    taken = best(lambda: windows.privatize(codes), 2)
    table.row(f"{large.prior.size} answers, windows", count / taken.cpu / 1e6, taken.cpu / base.cpu)


def shares(report: Report) -> None:
    """The mean squared error of a share, in millionths."""
    prior, times = zipf(SIZE, 1.0), TIMES[report.level]
    table = report.table(
        f"Squared error of a share of {SIZE} answers, in millionths: epsilon {EPSILON:g}, {PEOPLE} people",
        {"method": "<46", "error": "8.2f", "std error": "9.2f", "note": "<20"},
    )
    for name, error in PUBLISHED.items():
        table.row(name, error, math.nan, "published")
    for name, windows in (
        ("windows, limit for every prior (LDP)", ex.large.windows(SIZE, EPSILON)),
        ("windows, limit for the prior (PML)", ex.large.windows(prior, EPSILON)),
    ):
        mean, spread = simulate(windows, prior, times, report.seed)
        table.row(name, mean, spread, f"simulated {times} x")
        aim = PUBLISHED["subset selection"]
        report.check(
            f"{name}: {mean:.2f}, at most {aim} and {NEAR:.0%}", mean <= aim * (1 + NEAR) + 4 * spread
        )


def counting(report: Report) -> None:
    """All shares from as many reports as answers; half of the people give one answer."""
    n = ANSWERS[report.level]
    table = report.table(
        f"All {n} shares from {n} reports, by a process of its own",
        {"epsilon": "8g", "steps": "7d", "size of sets": "8d", "cpu s": "8.2f", "s": "8.2f", "MB": "8.0f"},
    )
    for epsilon in EPSILONS[:2] if report.level == "tiny" else EPSILONS:
        done = subprocess.run(
            [sys.executable, "-c", COUNT, str(n), str(epsilon), str(report.seed)],
            capture_output=True,
            text=True,
            check=True,
        )
        steps, size, cpu, seconds, memory = map(float, done.stdout.split())
        table.row(epsilon, int(steps), int(size), cpu, seconds, memory)
        report.check(
            f"{n} answers, epsilon {epsilon:g}: {min(cpu, seconds):.1f} s (10 wanted), {memory:.0f} MB (2000)",
            min(cpu, seconds) <= 10 and memory <= 2000,  # on a busy machine the processor's
        )


def populations(n: int) -> dict[str, np.ndarray]:
    """Shares of n answers: one at 50 %, ten neighbours at 5 % each, all alike."""
    one, neighbours = np.full((2, n), 0.5 / n)
    one[7] += 0.5
    neighbours[3:13] += 0.05
    return {"one at 50 %": one, "neighbours": neighbours, "uniform": np.full(n, 1 / n)}


def errors(report: Report) -> None:
    """The mean squared error with few steps as a multiple of that with all steps, exactly, bias included.

    Estimates are means over reports, so the ratio is the same for every number of people. Groups that are fitted to the
    sets, here a set moved to the commonest answer, are shown and not checked: few steps balance pairs of answers, and
    the error of a group depends on triples.
    """
    answers = FEW[report.level]
    table = report.table(
        f"Squared error, bias included, as a multiple of that with all steps: {answers} answers",
        {
            "epsilon": "8g",
            "steps": "7d",
            "population": "<14",
            "worst answer": "12.3f",
            "worst group": "12.3f",
            "fitted group": "12.3f",
            "largest bias": "12.1e",
        },
    )
    for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0, 5.0):
        few = best_choice(None, answers, epsilon)
        prime = next_prime(answers)
        every = Choice(prime, prime - 1, _best_size(None, answers, prime, epsilon), few.odds)
        fitted = (
            7 + Cosets(few.prime, few.steps).numbers(np.arange(few.steps)[:, None], np.arange(few.size))
        ) % few.prime
        members = np.zeros((7 + min(few.steps, 20), answers))
        for row, chosen in zip(
            members,
            (
                [7],
                [answers - 1],
                range(3, 13),
                range(2, 22),
                range(0, answers, 3),
                np.random.default_rng(0).permutation(answers)[:200],
                range(50, answers),
                *(numbers[numbers < answers].tolist() for numbers in fitted[:20]),
            ),
            strict=True,
        ):
            row[list(chosen)] = 1.0
        for name, share in populations(answers).items():
            mine, best_one = (exact(choice, share, members) for choice in (few, every))
            ratio, bias = mine[1] / best_one[1], np.abs(mine[0]).max()
            table.row(epsilon, few.steps, name, ratio[:2].max(), ratio[2:7].max(), ratio[7:].max(), bias)
            report.check(f"epsilon {epsilon:g}, {name}: at most 1.05 x all steps", ratio[:7].max() <= 1.05)


def exact(choice: Choice, share: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Bias and mean squared error of one report's estimates of groups, summed over every report."""
    layout, p = Cosets(choice.prime, choice.steps), choice.prime
    outside = 1 / (choice.odds * choice.size + p - choice.size)
    own, other = supports(p, choice.size, choice.odds * choice.size * outside)
    part = members.sum(axis=1) / len(share)  # of the codes that are no answer
    weights = np.zeros((len(members) + 1, p))
    weights[:-1, : len(share)] = members
    weights[:-1, len(share) :] = part[:, None]
    weights[-1, : len(share)] = share
    spectra, found = np.fft.rfft(weights, axis=1), np.zeros((2, len(members)))
    for step in range(choice.steps):
        first = np.zeros(p)
        first[layout.numbers(step, np.arange(choice.size))] = 1.0
        *held, common = np.fft.irfft(spectra * np.fft.rfft(first).conj(), p, axis=1)
        chance = outside * (1 + (choice.odds - 1) * common) / choice.steps
        off = (np.array(held) - weights[:-1].sum(axis=1)[:, None] * other) / (own - other)
        off -= (members @ share)[:, None]
        found += off @ chance, off**2 @ chance
    return found


def many(report: Report) -> None:
    """The same from simulated reports on many answers, and how often ordinary intervals hold."""
    n = ANSWERS[report.level]
    table = report.table(
        f"{n} answers, epsilon 3: squared error as a multiple of the promised one; coverage of 95 % intervals",
        {
            "population": "<14",
            "people": "9d",
            "all answers": "12.3f",
            "covered": "9.4f",
            "common": "9.3f",
            "beside": "9.3f",
        },
    )
    windows, times = ex.large.windows(n, 3.0), TIMES[report.level]
    own, other = windows.supports
    for name, share in populations(n).items():
        rate = other + (own - other) * share
        for people in (10_000, 1_000_000):
            rng, hits = np.random.default_rng(report.seed), np.zeros((times, 11))
            for k in range(times):
                answers = rng.choice(n, people, p=share)
                reports = windows.privatize(answers, source=ex.randomness.SeededWords(report.seed + k))
                if not k:
                    all_of_them = ex.large.estimate(windows, reports)
                    wrong = (
                        (all_of_them.estimates - share) ** 2 * people * (own - other) ** 2 / rate / (1 - rate)
                    )
                    covered = (all_of_them.lower <= share) & (share <= all_of_them.upper)
                some = ex.large.estimate(windows, reports, range(3, 14))
                hits[k] = (some.lower <= share[3:14]) & (share[3:14] <= some.upper)
            common = hits[:, 4] if name.startswith("one") else hits[:, :10]
            beside = hits[:, 5] if name.startswith("one") else hits[:, 10]
            table.row(name, people, wrong.mean(), covered.mean(), common.mean(), beside.mean())
            chance = 4 * math.sqrt(2 / n)  # of one simulation
            report.check(f"{name}, {people} people: error within 5 %", abs(wrong.mean() - 1) <= 0.05 + chance)
            report.check(f"{name}, {people} people: intervals hold", covered.mean() >= 0.95)


def simulate(windows: ex.large.Windows, prior: ex.Prior, times: int, seed: int) -> tuple[float, float]:
    rng, errors = np.random.default_rng(seed), []
    for k in range(times):
        answers = rng.choice(SIZE, size=PEOPLE, p=prior.probabilities)
        reports = windows.privatize(answers, source=ex.randomness.SeededWords(seed + k))
        estimates = ex.large.estimate(windows, reports).estimates
        errors.append(1e6 * float(np.mean((estimates - prior.probabilities) ** 2)))
    return float(np.mean(errors)), float(np.std(errors, ddof=1)) / math.sqrt(times)


if __name__ == "__main__":
    run(Report(sys.argv[1].lstrip("-") if len(sys.argv) > 1 else "normal", 0))
