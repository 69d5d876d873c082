"""Run the pieces, and print what came of them."""

import argparse
from importlib import import_module

from tests.torture.harness import HEADER, Piece, Result, show, table

PIECES = (
    "fuzz",
    "callables",
    "forks",
    "threads",
    "interrupts",
    "memory",
    "state",
    "files",
    "leaks",
)


def _piece(name: str) -> Piece:
    piece: Piece = import_module(f"tests.torture.{name}").PIECE
    return piece


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture")
    parser.add_argument("pieces", nargs="*", help=f"all of {', '.join(PIECES)}")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases and the time")
    parser.add_argument("--seed", type=int, default=0, help="of the first cases (%(default)s)")
    options = parser.parse_args()
    unknown = set(options.pieces) - set(PIECES)
    if unknown:
        parser.error(f"no such piece: {', '.join(sorted(unknown))} (choose from {PIECES})")
    return options


def main() -> int:
    options = _parse()
    results: list[Result] = []
    for name in options.pieces or PIECES:
        piece = _piece(name)
        cases = max(1, round(piece.cases * options.share))
        result = piece.run(piece.seconds * options.share, cases, options.seed)
        show(result)
        print(f"{HEADER}\n{result.line()}", flush=True)
        results.append(result)
    return table(results)


if __name__ == "__main__":
    raise SystemExit(main())
