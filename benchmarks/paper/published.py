"""The tables that the paper printed (MC-GTA, ICML 2024), in per cent: ARI, and as NMI adjusted mutual information.

They are kept here as data, so that they stand beside what is measured. "-" says that a method does not suit a data set, "NC"
that it did not converge. Seconds are the paper's, of another machine.
"""

from __future__ import annotations

from dataclasses import dataclass

DATA = ("series", "regions", "pavement", "vehicle", "gesture", "climate", "inat", "poi", "landuse")

# Table 1, ARI and NMI for each data set in the order of DATA.
_TABLE = {
    "k-means": "1.03 1.69 1.26 1.66 8.02 6.59 8.94 21.54 2.78 5.23 5.47 22.14 6.91 14.71 18.37 43.44 2.39 4.21",
    "dbscan": "2.44 2.50 3.69 5.38 15.25 18.75 33.67 41.83 1.18 2.07 3.61 17.89 34.91 34.69 15.03 39.29 11.91 7.19",
    "hdbscan": "0.90 0.61 1.00 1.39 7.10 11.66 37.51 41.64 - - 11.52 28.01 7.65 17.92 20.78 62.55 1.00 7.64",
    "dtw": "2.52 2.13 - - 17.13 17.55 8.11 23.35 - - - - - - - - - -",
    "pck-means": "5.12 5.68 2.30 2.89 7.42 5.13 4.80 14.17 NC NC 18.50 34.67 25.51 28.96 0.12 0.18 0.11 0.26",
    "mdst-dbscan": "- - 1.12 5.73 - - - - - - 11.32 27.89 8.43 18.13 1.33 0.97 1.29 1.01",
    "skater": "- - 23.87 32.29 - - - - - - 23.44 44.10 0.51 0.35 1.52 0.91 1.03 0.74",
    "gmm": "7.82 9.54 9.26 10.35 28.05 28.74 57.87 58.78 2.44 4.15 19.06 34.97 21.72 35.91 16.38 42.96 2.86 4.61",
    "ticc-beta0": "80.11 83.95 - - 58.54 58.83 40.12 45.86 3.26 6.56 - - - - - - - -",
    "sticc-beta0": "- - 91.28 89.28 - - - - - - 13.30 30.53 NC NC 13.29 27.08 7.22 12.60",
    "mcgta-wo": "86.38 84.56 87.34 84.74 76.10 74.36 63.31 58.60 8.12 33.60 16.63 36.73 21.90 36.47 30.45 66.23 12.91 28.72",
    "ticc": "84.88 86.13 - - 62.27 61.89 50.53 53.68 12.20 23.20 - - - - - - - -",
    "sticc": "- - 91.84 89.85 - - - - - - 17.62 37.29 NC NC NC NC 11.04 15.35",
    "mcgta": "90.50 87.96 94.49 91.98 77.64 77.22 65.04 59.36 26.51 55.34 20.08 40.91 42.70 40.49 39.81 68.27 36.54 42.97",
}

METHODS = tuple(_TABLE)
"""The rows of Table 1."""

# The table of run times, seconds; the paper prints "< 1s" as 1 here.
_SECONDS = {
    "gmm": {"pavement": 1, "vehicle": 3, "gesture": 14, "climate": 1, "inat": 9},
    "ticc-beta0": {"pavement": 383, "vehicle": 441, "gesture": 4782},
    "sticc-beta0": {"climate": 1277, "inat": 6881},
    "ticc": {"pavement": 508, "vehicle": 566, "gesture": 4511},
    "sticc": {"climate": 1204, "inat": 6325},
    "mcgta-wo": {"pavement": 14, "vehicle": 74, "gesture": 573, "climate": 746, "inat": 588},
    "mcgta": {"pavement": 14, "vehicle": 76, "gesture": 554, "climate": 755, "inat": 594},
}

# The ablations, all on Pavement: table -> variant -> (ARI, NMI).
ABLATIONS = {
    "dissimilarity": {
        "wasserstein2": (77.64, 77.22),
        "euclidean": (23.11, 22.43),
        "cosine": (0.34, 1.36),
        "tv": (3.37, 3.61),
        "kl": (56.73, 66.10),
        "js": (15.55, 18.84),
    },
    "covariance": {"graphical_lasso": (77.64, 77.22), "min_cov_det": (80.82, 73.78), "shrunk": (74.70, 71.42)},
    "clusterer": {"dbscan": (77.64, 77.22), "hdbscan": (72.35, 69.61), "optics": (69.77, 68.58)},
    "hinge": {"hinge": (77.64, 77.22)},
    "range": {"within range": (77.64, 77.22), "everywhere": (76.91, 76.25)},
}


@dataclass(frozen=True)
class Printed:
    """A cell of a table of the paper.

    Attributes
    ----------
    ari, ami : per cent; None where ``said`` is printed in their place
    said : "-" or "NC", or ""
    """

    ari: float | None = None
    ami: float | None = None
    said: str = ""


def printed(method: str, data: str) -> Printed | None:
    """Return the cell of Table 1; None where it has no such row or column."""
    if method not in _TABLE or data not in DATA:
        return None
    column = 2 * DATA.index(data)
    ari, ami = _TABLE[method].split()[column : column + 2]
    return Printed(said=ari) if ari in ("-", "NC") else Printed(float(ari), float(ami))


def printed_seconds(method: str, data: str) -> float | None:
    """Return the run time that the paper states, or None."""
    return _SECONDS.get(method, {}).get(data)
