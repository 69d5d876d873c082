"""Cases in processes of their own: what crashes, hangs or fails is told by its seed.

A piece is a module with a `PIECE` and a function ``case(seed)``. It returns a word for what
happened ('right', 'refused', ...), which is counted, and raises for a fault. Workers run ranges of
seeds and write a line before and after each case; the parent ends a worker that is late, notes the
seed, and starts another one behind it.
"""

import argparse
import faulthandler
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Seconds until a worker has imported everything and begins its first case.
_START_SECONDS = 120.0

#: Cases that a worker is given at once: enough to make its start cheap, few enough to share out.
_CASES_PER_WORKER = 500

#: Seeds of failures of one kind that are shown.
_SEEDS_SHOWN = 20


def patience() -> float:
    """Return how many times longer things may take on a machine as busy as this one is now."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class Fault(AssertionError):
    """What a case raises when the library did something wrong."""


@dataclass(frozen=True)
class Piece:
    """How a piece is run in full: `timeout` is for one case, `fresh` for a process a case."""

    name: str
    case: Callable[[int], str]
    cases: int
    seconds: float
    timeout: float = 30.0
    workers: int = 2
    fresh: bool = False
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, seconds: float, cases: int, seed: int) -> "Result":
        """Run `cases` cases from `seed` on, or as many as `seconds` allow."""
        return _Run(self, seconds, cases, seed).result()


@dataclass
class Result:
    """What came of a piece."""

    piece: str
    cases: int = 0
    asked: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return bool(self.failures) or self.cases == 0

    def line(self) -> str:
        """Return the piece's line of the table."""
        outcomes = ", ".join(f"{count} {word}" for word, count in self.outcomes.most_common())
        times = f"{self.cases}" if self.cases == self.asked else f"{self.cases} of {self.asked}"
        return f"{self.piece:<11}{times:>16}{len(self.failures):>8}{self.seconds:>9.0f}  {outcomes}"


HEADER = f"{'piece':<11}{'how often':>16}{'failed':>8}{'seconds':>9}  what came of it"


class _Worker:
    """A process that runs a range of seeds, and what it has told so far."""

    def __init__(self, piece: Piece, first: int, last: int) -> None:
        self.seed, self.last = first, last
        self.deadline = time.monotonic() + _START_SECONDS * patience()
        self.told = b""
        self.ended = False
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115, closed by end()
        code = f"from tests.torture import harness; harness.work({_module(piece)!r})"
        reader, writer = os.pipe()
        arguments = [str(first), str(last), str(writer)]
        # Faults of the core are printed by the worker itself, before it dies.
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code, *arguments],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            | piece.environment,
            pass_fds=[writer],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.errors,
            start_new_session=True,
        )
        os.close(writer)
        self.pipe = reader

    def lines(self) -> list[list[str]]:
        """Return what was told since the last call."""
        more = os.read(self.pipe, 2**16)
        self.ended = not more
        self.told += more
        *whole, self.told = self.told.split(b"\n")
        return [json.loads(line) for line in whole]

    def end(self) -> str:
        """End the process and its children; return how it ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR2)  # faulthandler shows where it hangs
            time.sleep(0.3)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        os.close(self.pipe)
        self.errors.seek(0)
        text = (
            self.errors.read(4000)
            .decode(errors="replace")
            .partition("Extension modules")[0]
            .strip()
        )
        self.errors.close()
        return f"exit status {code}\n{text}" if text else f"exit status {code}"


def _module(piece: Piece) -> str:
    return f"tests.torture.{piece.name}"


class _Run:
    """The cases of one piece, shared out to workers."""

    def __init__(self, piece: Piece, seconds: float, cases: int, seed: int) -> None:
        self.piece = piece
        self.outcome = Result(piece.name, asked=cases)
        size = 1 if piece.fresh else max(1, min(_CASES_PER_WORKER, cases // piece.workers))
        end = seed + cases
        self.ranges = [(first, min(first + size, end)) for first in range(seed, end, size)]
        self.ranges.reverse()
        self.start = time.monotonic()
        self.end = self.start + seconds
        self.running: dict[int, _Worker] = {}

    def result(self) -> Result:
        selector = selectors.DefaultSelector()
        try:
            while self._refill(selector):
                for key, _ in selector.select(timeout=0.1):
                    self._listen(key.data, selector)
                self._end_the_late(selector)
        finally:
            for worker in self.running.values():
                worker.end()
        self.outcome.seconds = time.monotonic() - self.start
        return self.outcome

    def _refill(self, selector: selectors.BaseSelector) -> bool:
        """Start workers while there is something to do; tell whether anything is left."""
        while self.ranges and len(self.running) < self.piece.workers:
            if time.monotonic() > self.end:
                self.ranges.clear()
                break
            worker = _Worker(self.piece, *self.ranges.pop())
            self.running[worker.pipe] = worker
            selector.register(worker.pipe, selectors.EVENT_READ, worker)
        return bool(self.running)

    def _listen(self, worker: _Worker, selector: selectors.BaseSelector) -> None:
        for kind, *rest in worker.lines():
            worker.deadline = time.monotonic() + self.piece.timeout * patience()
            if kind == "begin":
                continue
            self.outcome.cases += 1
            if kind == "fault":
                self.outcome.failures.append((worker.seed, rest[0]))
            else:
                self.outcome.outcomes[rest[0]] += 1
            worker.seed += 1
        if worker.ended:
            self._stop(worker, selector, "died" if worker.seed < worker.last else "")
        elif time.monotonic() > self.end and worker.seed < worker.last:
            worker.last = worker.seed
            self._stop(worker, selector, "")

    def _end_the_late(self, selector: selectors.BaseSelector) -> None:
        now = time.monotonic()
        for worker in list(self.running.values()):
            if now > worker.deadline:
                self._stop(worker, selector, f"hung for {self.piece.timeout:g} s")

    def _stop(self, worker: _Worker, selector: selectors.BaseSelector, fault: str) -> None:
        """End a worker; if it is for a `fault` of its present case, go on behind that."""
        selector.unregister(worker.pipe)
        del self.running[worker.pipe]
        how = worker.end()
        if fault:
            self.outcome.cases += 1
            self.outcome.failures.append((worker.seed, f"{fault}: {how}"))
            if worker.seed + 1 < worker.last:
                self.ranges.append((worker.seed + 1, worker.last))


def work(module: str) -> None:
    """Run the cases of a piece in this process, as `_Worker` asks."""
    first, last, descriptor = (int(argument) for argument in sys.argv[1:])
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR2, all_threads=True)
    piece: Piece = import_module(module).PIECE
    with os.fdopen(descriptor, "w", buffering=1) as parent:
        for seed in range(first, last):
            parent.write(json.dumps(["begin"]) + "\n")
            parent.write(json.dumps(_outcome(piece, seed)) + "\n")


def _outcome(piece: Piece, seed: int) -> list[str]:
    try:
        return ["done", piece.case(seed)]
    except Fault as fault:
        return ["fault", str(fault)]
    except BaseException:
        return ["fault", traceback.format_exc(limit=-8)]


def show(result: Result) -> None:
    """Print the failures of a piece by kind, with what reproduces them."""
    kinds: dict[str, list[tuple[int, str]]] = {}
    for seed, text in result.failures:
        # Alike but for numbers and names in the last line, or in how a worker ended.
        lines = text.rstrip().splitlines()
        if re.match("died|hung", text):
            kind = lines[0]
        else:
            kind = re.sub(r"'[^']*'|[-+.\deE]*\d", "#", lines[-1])[:60]
        kinds.setdefault(kind, []).append((seed, text))
    for alike in sorted(kinds.values(), key=len, reverse=True):
        command = f"python -m tests.torture.{result.piece} --cases 1 --seed"
        print(f"\n{result.piece}, {len(alike)} times: {command} {alike[0][0]}")
        print("    " + alike[0][1].replace("\n", "\n    "))
        if len(alike) > 1:
            print("    also " + " ".join(str(seed) for seed, _ in alike[1:_SEEDS_SHOWN]))


def table(results: list[Result]) -> int:
    """Print what came of all pieces; return the exit status."""
    print(f"\n{HEADER}")
    for result in results:
        print(result.line())
    failed = sum(len(result.failures) for result in results)
    print(f"\n{sum(result.cases for result in results)} cases, {failed} failed", flush=True)
    return int(any(result.failed for result in results))


def main(piece: Piece) -> int:
    """Run one piece from the command line."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.torture.{piece.name}")
    parser.add_argument("--seed", type=int, default=0, help="of the first case (%(default)s)")
    parser.add_argument("--cases", type=int, default=piece.cases, help="(%(default)s)")
    parser.add_argument("--seconds", type=float, default=piece.seconds, help="(%(default)s)")
    parser.add_argument("--here", action="store_true", help="in this process, for a debugger")
    options = parser.parse_args()
    if options.here:
        for seed in range(options.seed, options.seed + options.cases):
            print(seed, piece.case(seed))
        return 0
    result = piece.run(options.seconds, options.cases, options.seed)
    show(result)
    return table([result])
