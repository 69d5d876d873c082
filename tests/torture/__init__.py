"""What looks for the next faults: `make torture`, or one piece alone.

    python -m tests.torture                          every piece, the full numbers
    python -m tests.torture --share 0.01 fuzz forks  two pieces, a hundredth of the numbers
    python -m tests.torture.fuzz --seed 123 --cases 1

Each module with a `PIECE` is a piece. Its cases are numbered by their seeds, run in processes of
their own, and a crash or a hang of a case is a failure of that case like any other.
"""
