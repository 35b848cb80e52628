"""The palette: a colour for each cluster, bound to its number, that colour-blind people can tell apart.

Five of the eight base colours are those of Okabe and Ito, *Color Universal Design* (2008, https://jfly.uni-koeln.de/color):
blue, orange, bluish green, reddish purple and sky blue. Three are those of Paul Tol, *Colour Schemes* (SRON technical note
SRON/EPS/TN/09-002, issue 3.2, 2021): purple and red of "bright", green of "muted". Yellow and black are left out, since each is
lost on white or on dark. The order keeps neighbours far apart under protanopia, deuteranopia and tritanopia.

Cluster 8 has a darker shade of the colour of cluster 0, cluster 16 a lighter one; from cluster 24 on colours repeat. Colours
alone never carry the number: plots and reports write it, too.
"""

from __future__ import annotations

BASE_COLORS = ("#0072b2", "#e69f00", "#009e73", "#aa3377", "#cc79a7", "#117733", "#56b4e9", "#ee6677")
"""Blue, orange, bluish green, purple, reddish purple, green, sky blue, red."""

NOISE_COLOR = "#b0b0b0"
"""A grey that recedes on white and on dark, for observations in no cluster."""

_SHADES: tuple[tuple[int, float], ...] = ((0, 0.0), (0, 0.3), (255, 0.35))
"""Rounds of the palette: what a base colour is mixed with, black 0 or white 255, and the share of that."""

N_COLORS = len(BASE_COLORS) * len(_SHADES)
"""Clusters that have a colour of their own."""


def cluster_color(cluster: int) -> str:
    """Return the colour of a cluster as "#rrggbb"; that of noise for -1.

    Examples
    --------
    >>> from mcgta.drawing.palette import cluster_color
    >>> cluster_color(0), cluster_color(8), cluster_color(-1)
    ('#0072b2', '#00507d', '#b0b0b0')
    """
    if cluster < -1:
        raise ValueError(f"cluster={cluster} is not a cluster: the first is 0, and -1 is noise")
    if cluster == -1:
        return NOISE_COLOR
    round_, place = divmod(int(cluster) % N_COLORS, len(BASE_COLORS))
    target, share = _SHADES[round_]
    red_green_blue = bytes.fromhex(BASE_COLORS[place][1:])
    return "#" + bytes(round(part + share * (target - part)) for part in red_green_blue).hex()


def cluster_colors(n_clusters: int) -> list[str]:
    """Return the colours of clusters 0 to ``n_clusters`` - 1."""
    if n_clusters < 0:
        raise ValueError(f"n_clusters={n_clusters} must be 0 or more")
    return [cluster_color(k) for k in range(n_clusters)]
