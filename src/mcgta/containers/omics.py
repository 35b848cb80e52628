"""Tissues: an AnnData clustered by the conventions of squidpy, its clusters and their colours written back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.containers.omics_features import DEFAULT_PCS, FeatureSource, look_up, read_features
from mcgta.containers.parameters import make_model
from mcgta.drawing.palette import NOISE_COLOR, cluster_colors
from mcgta.estimator import MCGTA
from mcgta.files.problems import need
from mcgta.runtime.containers import is_from
from mcgta.runtime.warnings import warn

NOISE_CATEGORY = "noise"

_PARTS = {
    ("spatialdata", "SpatialData"): "a SpatialData; pass one of its tables, such as sdata.tables['table']",
    ("mudata", "MuData"): "a MuData; pass one of its modalities, such as mdata['rna']",
}
"""Containers that hold an AnnData, and how to pass that."""


@dataclass(frozen=True)
class Keys:
    """Where positions and groups of an AnnData are, and where results go.

    Attributes
    ----------
    spatial : key of ``obsm``
    library : column of ``obs``, or None
    added : column of ``obs`` for the clusters, from which other names are made
    """

    spatial: str
    library: str | None
    added: str

    def __post_init__(self) -> None:
        if not isinstance(self.added, str) or not self.added:
            raise ValueError(f"key_added={self.added!r} must be the name of a column of adata.obs")
        if self.added == self.library:
            raise ValueError(f"key_added={self.added!r} would overwrite the groups; pass another name")


def cluster_anndata(
    adata: Any,
    *,
    spatial_key: str = "spatial",
    library_key: str | None = None,
    use_rep: str | None = None,
    layer: str | None = None,
    genes: Any = None,
    n_pcs: int | None = DEFAULT_PCS,
    key_added: str = "mcgta",
    **parameters: Any,
) -> MCGTA:
    """Cluster the observations of an AnnData, write clusters and colours into it, and return the fitted model.

    Keys are those of squidpy and scanpy. Needs ``pip install 'mcgta[omics]'``.

    Parameters
    ----------
    adata : AnnData
        Written to in place. A view becomes a copy of its own, as always in anndata; to keep an AnnData as it is, pass
        ``adata.copy()``.
    spatial_key : str, default="spatial"
        Positions, in ``obsm``: two or three columns of a plane or a body, such as pixels or micrometres.
    library_key : str or None
        Slides, in ``obs``. Slides share clusters but no neighbourhoods.
    use_rep : str or None
        Features, in ``obsm``, such as "X_pca"; "X" for the genes. None takes the genes where there are at most 50 of them, or
        where ``layer`` or ``genes`` are given, else ``obsm["X_pca"]``.
    layer : str or None
        Key of ``layers`` to take genes from in the place of X.
    genes : sequence of str, mask, str or None
        Genes to take: their names, a mask, or the name of a column of ``var`` that is one, such as "highly_variable". Sparse
        values are made dense, where there is memory for that.
    n_pcs : int or None, default=15
        Components of ``obsm["X_pca"]`` to take, the first ones; None for all. A local model of d features has d squared
        numbers, so the time of a fit grows fast with them.
    key_added : str, default="mcgta"
        Where results go, see below.
    **parameters
        Of :class:`mcgta.MCGTA`; ``metric`` is "euclidean" unless it is given.

    Returns
    -------
    MCGTA
        The model, after ``fit``. ``model.to_frame()`` has the names of observations as its index.

    Notes
    -----
    Written into ``adata``:

    - ``obs[key_added]``: categories "0", "1", ... and "noise", where there is some;
    - ``obs[key_added + "_probability"]``: strength of membership, 0 for noise;
    - ``uns[key_added + "_colors"]``: a colour for each category, that of its number in every plot of this package.

    Examples
    --------
    >>> import anndata
    >>> import mcgta
    >>> from mcgta.datasets import make_regions
    >>> data = make_regions(500, n_clusters=3, random_state=0)
    >>> adata = anndata.AnnData(data.X, obsm={"spatial": data.positions})
    >>> model = mcgta.cluster_anndata(adata)
    >>> adata.obs["mcgta"].cat.categories.tolist()
    ['0', '1', '2']
    >>> adata.uns["mcgta_colors"]
    ['#0072b2', '#e69f00', '#009e73']
    """
    _refuse_others(adata)
    keys = Keys(spatial_key, library_key, key_added)
    source = FeatureSource(use_rep, layer, genes, n_pcs)
    model = make_model({"metric": "euclidean", **parameters}, cluster_anndata)
    positions = _read_positions(adata, keys)
    groups = None if library_key is None else look_up("library_key", library_key, adata.obs, "obs").tolist()
    model.fit(read_features(adata, source), positions=positions, groups=groups)
    _write(adata, model, key_added)
    return model


def _refuse_others(adata: Any) -> None:
    """Refuse anything but an AnnData."""
    if is_from(adata, "anndata", "AnnData"):
        return
    for (package, kind), said in _PARTS.items():
        if is_from(adata, package, kind):
            raise ValueError(f"adata is {said}")
    need("anndata", "cluster_anndata", "omics")
    raise ValueError(
        f"adata is a {type(adata).__name__}; cluster_anndata takes an AnnData, and mcgta.MCGTA().fit(X, positions=...) arrays "
        "and frames"
    )


def _read_positions(adata: Any, keys: Keys) -> Any:
    """Return the positions, and warn of several slides that are taken for one."""
    positions = look_up("spatial_key", keys.spatial, adata.obsm, "obsm")
    slides = adata.uns.get(keys.spatial)
    if keys.library is None and isinstance(slides, Mapping) and len(slides) > 1:
        warn(
            f"adata.uns[{keys.spatial!r}] has {len(slides)} slides ({', '.join(map(str, list(slides)[:3]))}, ...), whose "
            "positions are taken to be on one plane; pass library_key=, the column of adata.obs that names the slide"
        )
    if hasattr(positions, "toarray"):
        positions = positions.toarray()
    return positions


def _write(adata: Any, model: MCGTA, key: str) -> None:
    """Write clusters, probabilities and colours."""
    import pandas

    labels = model.labels_
    categories = [str(k) for k in range(model.n_clusters_)]
    colors = cluster_colors(model.n_clusters_)
    if (labels < 0).any():
        categories.append(NOISE_CATEGORY)
        colors.append(NOISE_COLOR)
    codes = np.where(labels < 0, model.n_clusters_, labels)
    if adata.is_view:
        warn(
            "adata is a view, which becomes a copy of its own: clusters are written there, not into the AnnData that it is a "
            "view of"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of anndata, about the view
        adata.obs[key] = pandas.Categorical.from_codes(codes, pandas.Index(categories, dtype=object))
        adata.obs[f"{key}_probability"] = model.probabilities_
        adata.uns[f"{key}_colors"] = colors
