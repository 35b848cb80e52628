"""Colours of clusters: bound to their number, legible on white and on dark, and told apart by the colour-blind."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from mcgta.drawing.palette import BASE_COLORS, N_COLORS, NOISE_COLOR, cluster_color, cluster_colors

# Machado, Oliveira and Fernandes, A physiologically-based model for simulation of color vision deficiency (IEEE TVCG 2009),
# severity 1.0; they act on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
WHITE = "#ffffff"
DARK = "#15181d"
SRGB_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
D65 = np.array([0.9505, 1.0, 1.089])


def linear(color: str) -> NDArray[np.float64]:
    """Return linear RGB of a colour, by the curve of sRGB."""
    parts = np.array(list(bytes.fromhex(color[1:]))) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return CIELAB of linear RGB."""
    scaled = SRGB_TO_XYZ @ np.clip(rgb, 0, 1) / D65
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one: str, two: str, vision: str) -> float:
    """Return the colour difference (CIE 1976) that is seen; 2.3 is just noticeable."""
    seen = [lab(VISION[vision] @ linear(color)) for color in (one, two)]
    return float(np.linalg.norm(seen[0] - seen[1]))


def contrast(color: str, background: str) -> float:
    """Return the contrast ratio of WCAG 2."""
    luminance = [float(SRGB_TO_XYZ[1] @ linear(each)) for each in (color, background)]
    return (max(luminance) + 0.05) / (min(luminance) + 0.05)


@pytest.mark.parametrize("vision", VISION)
def test_all_base_colours_and_noise_are_told_apart(vision):
    for one, two in combinations((*BASE_COLORS, NOISE_COLOR), 2):
        assert difference(one, two, vision) > 9, (one, two)


@pytest.mark.parametrize("vision", VISION)
def test_neighbours_in_the_palette_are_far_apart(vision):
    colors = cluster_colors(N_COLORS)
    for k, (one, two) in enumerate(pairwise(colors)):
        assert difference(one, two, vision) > (18 if k + 1 < len(BASE_COLORS) else 11), (one, two)


@pytest.mark.parametrize("vision", VISION)
def test_a_repeated_colour_has_another_shade(vision):
    for k in range(len(BASE_COLORS)):
        for later in (k + 8, k + 16):
            assert difference(cluster_color(k), cluster_color(later), vision) > 9, (k, later)


def test_base_colours_show_on_white_and_on_dark():
    for color in (*BASE_COLORS, NOISE_COLOR):
        assert contrast(color, WHITE) > 2
        assert contrast(color, DARK) > 2.5


def test_a_colour_belongs_to_its_number_whatever_the_number_of_clusters():
    assert cluster_colors(5) == cluster_colors(30)[:5]
    assert cluster_colors(5)[3] == cluster_color(3)


def test_colours_repeat_after_three_rounds_only():
    colors = cluster_colors(N_COLORS)
    assert len(set(colors)) == N_COLORS == 24
    assert cluster_color(N_COLORS) == colors[0]


def test_noise_is_grey():
    assert cluster_color(-1) == NOISE_COLOR


def test_what_is_no_cluster_is_refused():
    with pytest.raises(ValueError, match="cluster=-2"):
        cluster_color(-2)
    with pytest.raises(ValueError, match="n_clusters=-1"):
        cluster_colors(-1)
