"""``mcgta stability``: which clusters of a saved model are found again where parts of its rows are left out."""

from __future__ import annotations

import argparse

from mcgta.cli.flags import add_general_flags, add_work_flags, number_above, whole_number
from mcgta.cli.models import read_model
from mcgta.cli.parameters import progress_of
from mcgta.cli.screen import Screen

DESCRIPTION = (
    "Tell how stable the clusters of a saved model are: the rows are cut into blocks of time or space, some of the "
    "blocks are clustered anew, and the clusters are compared. Each resample takes about as long as the model did."
)
EXAMPLES = ("mcgta stability readings.mcgta", "mcgta stability readings.mcgta --resamples 50 --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL", help="model that `mcgta cluster` has saved")
    group = parser.add_argument_group("resamples")
    group.add_argument("--resamples", metavar="R", type=whole_number(2), default=20, help="how many; default: 20")
    group.add_argument(
        "--share", metavar="S", type=number_above(0), default=0.7, help="of the blocks to draw; default: 0.7"
    )
    group.add_argument("--seed", metavar="S", type=whole_number(0), default=0, help="of the draws; default: 0")
    add_work_flags(parser)
    add_general_flags(parser)


def run(options: argparse.Namespace, screen: Screen) -> None:
    """Draw resamples and compare."""
    import numpy as np

    from mcgta import __version__
    from mcgta.cli.estimating import computing
    from mcgta.cli.failures import usage_error
    from mcgta.cli.findings import cluster_shares
    from mcgta.cli.screen import Styled
    from mcgta.drawing.palette import cluster_color
    from mcgta.runtime.wording import say_share
    from mcgta.validation.stability import stability

    if not options.share < 1:
        raise usage_error(f"--share {options.share:g} must be below 1: some blocks are left out")
    with computing(options):
        model = read_model(options.model)
        found = stability(
            model,
            n_resamples=options.resamples,
            share=options.share,
            random_state=options.seed,
            n_jobs=options.jobs,
            progress=progress_of(options),
        )
    shares = cluster_shares(model)
    rows = [
        (Styled(f"{k}", f"bold {cluster_color(k)}"), say_share(shares[k]), f"{found.clusters[k]:.2f}", verdict)
        for k, verdict in enumerate(found.verdicts)
    ]
    screen.show_table(
        ("cluster", "share", "found again", "verdict"), [((row[0],), *row[1:]) for row in rows], left=(0, 3)
    )
    screen.show("", "")
    screen.show_text(str(found))
    screen.give(
        {
            "mcgta": __version__,
            "command": "stability",
            "resamples": options.resamples,
            "share": options.share,
            "blocks": found.blocks,
            "adjusted_rand_index": float(np.mean(found.agreement)),
            "numbers_of_clusters": found.numbers,
            "clusters": [
                {"cluster": k, "share": shares[k], "jaccard": found.clusters[k], "verdict": verdict}
                for k, verdict in enumerate(found.verdicts)
            ],
            "words": str(found),
            "notes": screen.notes,
        }
    )
