"""The process of a cell: it solves the cell, scores each attempt as it comes, and tells the best so far.

It tells dicts, each of which overrides the entries of those before, so that the listener has at any time all that is known.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import parent_process, set_start_method
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from mcgta.datasets.cache import MissingDataError
from measuring.scoring import score, score_ari
from measuring.usage import own_cpu, own_peak
from paper.running.cells import Attempt, Cell, Solving, Unsuitable
from paper.running.records import plain

Solve = Callable[[Cell], Solving]
Tell = Callable[[dict[str, Any]], None]

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "LOKY_MAX_CPU_COUNT",
    ),
    "1",
) | {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Variables of the environment that libraries read, when they are imported, to know how many threads to use.

The last is of pyarrow, whose allocator otherwise keeps a thread, so that cells would be forked off a process with two.
"""


def work(cell: Cell, solve: Solve, pipe: Connection) -> None:
    """Solve the cell in this process, and tell through the pipe; the last thing told has the entry "status"."""
    _stand_alone()
    warnings.simplefilter("ignore")

    def tell(known: dict[str, Any]) -> None:
        pipe.send({**known, "peak": own_peak()})

    tell({"peak_before": own_peak()})
    try:
        follow(cell, solve, tell)
    except Unsuitable as error:
        tell({"status": "unsuitable", "error": str(error)})
    except ImportError as error:
        tell({"status": "missing package", "error": _last_line(error)})
    except MissingDataError as error:
        tell({"status": "missing data", "error": _first_sentence(error)})
    except MemoryError as error:
        tell({"status": "memory", "error": _last_line(error)})
    except BaseException as error:  # whatever a method does, it is a result, and other cells go on
        tell({"status": "failed", "error": _last_line(error)})
    else:
        tell({"status": "ok"})
    pipe.close()


def follow(cell: Cell, solve: Solve, tell: Tell) -> None:
    """Go through the attempts; of a tuned cell the best ARI is kept, the earlier of equal ones, else the last with labels."""
    solving = solve(cell)
    truth = np.asarray(solving.truth)
    attempts = iter(solving.attempts)
    tell({"n": int(truth.size), "d": int(solving.d), "true_clusters": int(np.unique(truth).size)})
    best = -np.inf
    tried = 0
    total = 0.0
    while True:
        begun = own_cpu()
        attempt = next(attempts, None)
        if attempt is None:
            return
        spent = own_cpu() - begun
        tried += 1
        total += spent
        known: dict[str, Any] = {"tried": tried, "total": total}
        if attempt.labels is None:
            if best == -np.inf:
                known |= _described(attempt)
        else:
            ari = score_ari(truth, attempt.labels)
            if cell.setting != "tuned" or ari > best:
                best = ari
                # Of a tuned cell the time of the setting that is kept; else all was needed for what is kept.
                took = spent if cell.setting == "tuned" else total
                known |= {"seconds": took, **score(truth, attempt.labels), **_described(attempt)}
        tell(known)


def _described(attempt: Attempt) -> dict[str, Any]:
    return {"params": plain(attempt.params), "note": attempt.note, "converged": bool(attempt.converged)}


def _stand_alone() -> None:
    """Lead a group that can be killed as one, end with the parent, and discard what libraries print."""
    os.environ.update(ONE_THREAD)
    set_start_method(None, force=True)  # processes that a method starts come as they do elsewhere
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a stream may be closed, or not be there
            stream.flush()
    for number in (1, 2):
        os.dup2(silence, number)
    os.close(silence)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        if hasattr(os, "killpg"):
            os.killpg(os.getpgrp(), signal.SIGKILL)
        os._exit(1)


def _first_sentence(error: BaseException) -> str:
    """Return what is missing; the folders that were looked through are no part of a result."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].partition(". ")[0]


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[-1].strip()}" if lines else type(error).__name__
