"""How an attack is run: a function, called by name in a process of its own that cannot hang ours.

An attack is a module of functions; ``run(module, name, *arguments)`` calls one of them in a new
interpreter, kills it and all its children at the time limit, and returns what it printed. The
arguments and the answer are JSON.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["main", "run"]

FOLDER = Path(__file__).resolve().parent


def run(
    module: str, name: str, *arguments: Any, seconds: float = 120.0, threads: int | None = None
) -> Any:
    """Call a function of a module beside this one in a process of its own.

    Raises
    ------
    AssertionError
        If the process hangs, dies or raises; the message has what it wrote.
    """
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if threads is not None:
        environment["RAYON_NUM_THREADS"] = str(threads)
    command = [sys.executable, str(FOLDER / f"{module}.py"), name, json.dumps(arguments)]
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that its children can be killed with it
    )
    what = f"{module}.{name}{arguments!r}"
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        raise AssertionError(f"{what} hangs:\n{output}{errors}") from None
    if process.returncode != 0:
        raise AssertionError(f"{what} ended with {process.returncode}:\n{output}{errors}")
    sys.stderr.write(errors)  # what children that failed have to say
    return json.loads(output.splitlines()[-1])


def main(attacks: dict[str, Callable[..., Any]]) -> None:
    """Call the function that the command line names and print its answer."""
    _, name, arguments = sys.argv
    print(json.dumps(attacks[name](*json.loads(arguments))), flush=True)
