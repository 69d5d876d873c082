"""A piece whose cases fail in every way there is: it shows that the harness notices."""

import os
import time

from tests.torture.harness import Fault, Piece, main

WAYS = ("right", "fault", "exception", "exit", "crash", "hang", "interrupt")


def case(seed: int) -> str:
    """Fail in the way of the seed."""
    way = WAYS[seed % len(WAYS)]
    if way == "fault":
        raise Fault("a fault on purpose")
    if way == "exception":
        raise ZeroDivisionError("on purpose")
    if way == "exit":
        os._exit(0)
    if way == "crash":
        os.abort()
    if way == "hang":
        time.sleep(3600)
    if way == "interrupt":
        raise KeyboardInterrupt
    return way


PIECE = Piece("faulty", case, cases=len(WAYS), seconds=60, timeout=1.0)
run = PIECE.run

if __name__ == "__main__":
    raise SystemExit(main(PIECE))
