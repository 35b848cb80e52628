"""CLaP (Ermshaus, Schäfer and Leser 2025) by claspy, in the environment that claspy has to itself.

It reads lines "FILE SECONDS" from standard input. FILE is an npy file (N, d); the answer is a line of JSON with the labels and
the seconds of the processor, or with a note that says why there are no labels. It knows nothing of mcgta.

    cd benchmarks && ../.venv-peers/bin/python -m peers.clap_server
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from measuring.timebox import OutOfTime, at_most

WARM_STEPS = 600


def detect_states(X: Any) -> Any:
    """Return the states of a series (N, d); all is one state where there is no change point."""
    from claspy.segmentation import BinaryClaSPSegmentation  # type: ignore[import-not-found, unused-ignore]
    from claspy.state_detection import AgglomerativeCLaPDetection  # type: ignore[import-not-found, unused-ignore]

    series = X[:, 0] if X.shape[1] == 1 else X
    borders = BinaryClaSPSegmentation(n_jobs=1).fit_predict(series)
    if len(borders) == 0:
        return np.zeros(len(X), dtype=np.int64)
    return AgglomerativeCLaPDetection(n_jobs=1).fit_predict(series, borders)


def answer(line: str) -> dict[str, Any]:
    """Answer one line."""
    file, seconds = line.rsplit(maxsplit=1)
    start = time.process_time()
    try:
        with at_most(float(seconds)):
            labels = detect_states(np.load(file))
    except OutOfTime as end:
        return {"note": str(end)}
    except Exception as error:  # a series that it cannot take is a result
        return {"note": f"{type(error).__name__}: {error}"}
    return {"labels": np.asarray(labels).tolist(), "seconds": time.process_time() - start}


def warm() -> None:
    """Have everything compiled: two waves, so that there is a border."""
    steps = np.arange(WARM_STEPS)
    wave = np.where(steps < WARM_STEPS // 2, np.sin(steps / 3.0), np.sign(np.sin(steps / 7.0)))
    detect_states(wave[:, None] + 0.01 * np.random.default_rng(0).normal(size=(WARM_STEPS, 1)))


def serve(out: TextIO) -> None:
    """Answer line after line."""
    warnings.simplefilter("ignore")
    warm()
    for line in sys.stdin:
        out.write(json.dumps(answer(line)) + "\n")
        out.flush()


if __name__ == "__main__":
    replies = sys.stdout
    sys.stdout = Path("/dev/null").open("w")  # noqa: SIM115 - whatever libraries print is no answer
    serve(replies)
