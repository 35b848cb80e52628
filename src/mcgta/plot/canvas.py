"""What all plots share: axes, colours of text and guides, a legend of clusters, and the width of axes in pixels."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from mcgta.drawing.palette import NOISE_COLOR, cluster_color
from mcgta.runtime.wording import say_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURE_INCHES = (7.0, 4.2)
MOST_LEGEND_ENTRIES = 24
SMALL_TEXT = "small"
LONGEST_NAME = 24
"""Characters of a feature's name that are written."""

_LEGEND_COLUMN_INCHES = 2.4
LEGEND_LINE_INCHES = 0.17
_REMARK_CHARACTERS_PER_INCH = 18
_LABEL_CHARACTERS_PER_INCH = 11
_LAYOUT_ROUNDS = 4
_LEAST_AXES_INCHES = 0.3
_USUAL_MARGINS_INCHES = (0.65, 0.5, 0.15, 0.35)
"""Left, below, right and above: what labels, ticks and title of a usual plot take beside its axes."""


def new_axes(ax: Axes | None, inches: tuple[float, float] = FIGURE_INCHES) -> Axes:
    """Return the axes to draw on: those given, or those of a new figure of this size."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plotting needs matplotlib: pip install 'mcgta[plot]'") from error
    return pyplot.subplots(figsize=inches, layout="constrained")[1]


def ink() -> Any:
    """Return the colour of text in the current style."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def faint() -> Any:
    """Return a colour for guides, between that of text and that of the background, in the current style."""
    return tint(ink(), 0.45)


def text_on(color: Any) -> str:
    """Return black or white, whichever is easier to read on a colour."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(color)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def size_in_pixels(ax: Axes) -> tuple[float, float]:
    """Return the width and the height of axes in pixels, as they stand."""
    box = ax.get_window_extent()
    return max(float(box.width), 1.0), max(float(box.height), 1.0)


def size_in_inches(ax: Axes) -> tuple[float, float]:
    """Return the width and the height of axes in inches, as they stand."""
    width, height = size_in_pixels(ax)
    return width / float(ax.figure.dpi), height / float(ax.figure.dpi)


def add_cluster_legend(ax: Axes, shares: Iterable[float], noise_share: float = 0.0) -> None:
    """Put a legend beside the axes: number, colour and share of each cluster, and of noise."""
    from matplotlib.patches import Patch

    listed = list(shares)
    room = int(size_in_inches(ax)[1] / LEGEND_LINE_INCHES) - 3  # lines beside title, noise and the number of others
    shown = len(listed) if len(listed) <= room + 1 else int(np.clip(room, 1, MOST_LEGEND_ENTRIES))
    entries = [
        Patch(color=cluster_color(k), label=f"{k}   {say_share(share)}") for k, share in enumerate(listed[:shown])
    ]
    if len(listed) > shown:
        entries.append(Patch(alpha=0, label=f"and {len(listed) - shown} more"))
    if noise_share > 0:
        entries.append(Patch(color=NOISE_COLOR, label=f"noise   {say_share(noise_share)}"))
    if entries:
        ax.legend(
            handles=entries,
            title="cluster",
            frameon=False,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0.0,
            handlelength=1.2,
            fontsize=SMALL_TEXT,
            title_fontsize=SMALL_TEXT,
        )


def add_legend_above(ax: Axes) -> None:
    """Put a legend of the labelled parts above the axes, in as many columns as there is room for."""
    columns = int(min(max(size_in_inches(ax)[0] / _LEGEND_COLUMN_INCHES, 1), len(ax.get_legend_handles_labels()[1])))
    ax.legend(
        frameon=False,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=columns,
        fontsize=SMALL_TEXT,
        borderaxespad=0.2,
        handlelength=1.6,
    )


def name_length(ax: Axes) -> int:
    """Return how many characters of a name are written beside axes: fewer where they are narrow."""
    return int(np.clip(4 * size_in_inches(ax)[0], 12, LONGEST_NAME))


def shorten(text: str, most: int = LONGEST_NAME) -> str:
    """Return a text whose middle is left out where it is longer than so many characters."""
    return text if len(text) <= most else f"{text[: most - most // 2 - 1]}…{text[len(text) - most // 2 :]}"


def tint(color: Any, share: float) -> tuple[float, float, float]:
    """Return a colour mixed with the background of the current style; of share 1 it is the colour itself."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    ground = to_rgb(rcParams["axes.facecolor"])
    red, green, blue = (share * a + (1 - share) * b for a, b in zip(to_rgb(color), ground, strict=True))
    return red, green, blue


def write(ax: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], **style: Any) -> None:
    """Write a small text beside a point of the axes, ``offset`` points away from it; ``style`` is that of ``annotate``."""
    ax.annotate(text, at, offset, **{"textcoords": "offset points", "fontsize": SMALL_TEXT, **style})


def halo() -> list[Any]:
    """Return path effects that set a text apart from what is drawn behind it by an outline."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2.5, foreground=tint(ink(), 0.0))]


def text_box() -> dict[str, Any]:
    """Return the style of a box that sets a text apart from what is drawn behind it."""
    from matplotlib import rcParams

    return {"boxstyle": "square,pad=0.1", "facecolor": rcParams["axes.facecolor"], "edgecolor": "none", "alpha": 0.75}


def bare(ax: Axes) -> None:
    """Take ticks and the frame away."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def remark(ax: Axes, text: str, *, beside: float = 0.0) -> None:
    """Write a remark, such as that a sample was drawn, above the right end of the axes.

    With ``beside``, the inches of what stands beside the axes, it begins at the left end and reaches over that, too.
    """
    inches = size_in_inches(ax)[0] + beside
    said = textwrap.fill(text, max(int(inches * _REMARK_CHARACTERS_PER_INCH), 12))
    ax.set_title(said, loc="left" if beside else "right", fontsize="x-small", color=tint(ink(), 0.7))


def wrap(ax: Axes, text: str) -> str:
    """Return the label of an axis, on several lines where axes are too narrow for one."""
    return textwrap.fill(text, max(int(size_in_inches(ax)[0] * _LABEL_CHARACTERS_PER_INCH), 12))


def settle_layout(ax: Axes) -> None:
    """Make sure that what stands beside the axes has room.

    A layout engine sees to that, but with axes of fixed proportions it needs more rounds than one drawing gives it. Without an
    engine the axes get smaller by what reaches too far, as they do for a colour bar.
    """
    figure: Any = ax.figure.figure  # that of a subfigure, too
    engine = figure.get_layout_engine()
    if engine is None:
        _make_room(ax)
    elif ax.get_aspect() != "auto":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # matplotlib says so again when it draws
            for _ in range(_LAYOUT_ROUNDS):
                engine.execute(figure)


def _reach(ax: Axes) -> Any:
    """Return the box, in pixels, of axes and of those that share their place, such as twins, with all that stands beside."""
    from matplotlib.transforms import Bbox

    sharing = ax.get_shared_x_axes().get_siblings(ax)
    place = ax.get_position(original=True).bounds
    twins = [other for other in sharing if other.get_position(original=True).bounds == place]
    return Bbox.union([twin.get_tightbbox() for twin in twins])


def _make_room(ax: Axes) -> None:
    """Shrink axes until legend and labels reach no further beyond their place than those of other plots do."""
    home: Any = ax.figure
    if ax.get_axes_locator() is not None:
        return  # an inset, whose place is not its own
    left, bottom, right, top = (inches * home.dpi for inches in _USUAL_MARGINS_INCHES)
    place = ax.get_position(original=True).transformed(home.transSubfigure)
    low = np.maximum([place.x0 - left, place.y0 - bottom], home.bbox.min)
    high = np.minimum([place.x1 + right, place.y1 + top], home.bbox.max)
    for _ in range(_LAYOUT_ROUNDS):
        reach = _reach(ax)
        own = ax.get_position(original=True).transformed(home.transSubfigure)
        begin = own.min + np.maximum(low - reach.min, 0.0)
        end = own.max - np.maximum(reach.max - high, 0.0)
        if (end - begin < _LEAST_AXES_INCHES * home.dpi).any():
            return
        corners = home.transSubfigure.inverted().transform([begin, end])
        ax.set_position((*corners[0], *(corners[1] - corners[0])))
        ax.set_in_layout(True)  # set_position has taken the axes out of it
