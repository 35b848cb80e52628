"""The features of an AnnData: components, genes of X or of a layer, or any other representation, as a frame of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.runtime.memory import budget
from mcgta.runtime.rules import INF, Rule, check_value, suggest
from mcgta.runtime.sizes import say_size
from mcgta.runtime.types import Mask
from mcgta.runtime.warnings import warn

MAX_GENES = 50
"""Genes up to which X itself is taken where nothing is said; beyond them, components."""
DEFAULT_PCS = 15
"""Components that are taken; a local model of d features has d squared numbers."""
PCA_KEY = "X_pca"
"""Where scanpy puts principal components."""
BYTES_PER_NUMBER = 8


@dataclass(frozen=True)
class FeatureSource:
    """Where the features of an AnnData are, as the user said it.

    Attributes
    ----------
    use_rep : key of ``obsm``, "X", or None
    layer : key of ``layers``; None for X
    genes : names, a mask, or the name of a column of ``var`` that is a mask; None for all
    n_pcs : components of ``obsm["X_pca"]``; None for all
    """

    use_rep: str | None = None
    layer: str | None = None
    genes: Any = None
    n_pcs: int | None = DEFAULT_PCS

    def __post_init__(self) -> None:
        check_value("n_pcs", self.n_pcs, Rule(integer=(1, INF), none=True))
        if self.use_rep not in (None, "X"):
            for name, value in (("layer", self.layer), ("genes", self.genes)):
                if value is not None:
                    raise ValueError(f"{name} has no effect with use_rep={self.use_rep!r}; pass one of the two")


def read_features(adata: Any, source: FeatureSource) -> Any:
    """Return the features of an AnnData as a frame of pandas with the names of observations and of features."""
    key = source.use_rep
    if key is None and source.layer is None and source.genes is None and adata.n_vars > MAX_GENES:
        key = _choose_components(adata)
    if key is None or key == "X":
        return _of_genes(adata, source)
    return _of_representation(adata, key, source)


def look_up(name: str, key: Any, entries: Any, where: str) -> Any:
    """Return an entry of a part of an AnnData; ``name`` is the parameter that asks for it."""
    if not isinstance(key, str) or key not in entries:
        known = ", ".join(map(repr, entries.keys())) or "none"
        raise ValueError(
            f"{name}={key!r} is not in adata.{where}, which has {known}{suggest(key, tuple(map(str, entries.keys())))}"
        )
    return entries[key]


def _choose_components(adata: Any) -> str:
    if PCA_KEY not in adata.obsm:
        raise ValueError(
            f"adata has {adata.n_vars:,} genes, too many for local models, and no obsm[{PCA_KEY!r}]; run scanpy.pp.pca(adata) "
            "first, or say which genes= or use_rep= to take (use_rep='X' for all genes)"
        )
    return PCA_KEY


def _of_representation(adata: Any, key: str, source: FeatureSource) -> Any:
    import pandas

    values = look_up("use_rep", key, adata.obsm, "obsm")
    if key == PCA_KEY and source.n_pcs is not None:
        values = values.iloc[:, : source.n_pcs] if hasattr(values, "iloc") else values[:, : source.n_pcs]
    names = list(map(str, values.columns)) if hasattr(values, "columns") else _numbered(key, values.shape[1])
    return pandas.DataFrame(_dense(values, f"adata.obsm[{key!r}]"), index=adata.obs_names, columns=names)


def _numbered(key: str, count: int) -> list[str]:
    """Name components: PC1, PC2, ... as scanpy does, or by the key of the representation."""
    if key == PCA_KEY:
        return [f"PC{k + 1}" for k in range(count)]
    return [f"{key} {k}" for k in range(count)]


def _of_genes(adata: Any, source: FeatureSource) -> Any:
    import pandas

    where = "adata.X" if source.layer is None else f"adata.layers[{source.layer!r}]"
    if source.layer is not None:
        look_up("layer", source.layer, adata.layers, "layers")
    elif adata.X is None:
        raise ValueError("adata.X is None; say which layer= or use_rep= holds the features")
    mask = _gene_mask(adata, source.genes)
    names = adata.var_names[mask]
    repeated = names[names.duplicated()]
    if len(repeated):
        raise ValueError(f"adata.var_names holds {repeated[0]!r} several times; call adata.var_names_make_unique()")
    values = adata.X if source.layer is None else adata.layers[source.layer]
    values = _dense(values, where, mask)
    _warn_of_counts(values, where)
    return pandas.DataFrame(values, index=adata.obs_names, columns=list(map(str, names)))


def _gene_mask(adata: Any, genes: Any) -> Mask:
    """Return (n_vars,) which genes are taken."""
    if genes is None:
        return np.ones(adata.n_vars, dtype=bool)
    if isinstance(genes, str):
        genes = look_up("genes", genes, adata.var, "var").to_numpy()
        if genes.dtype != bool:
            raise ValueError(f"genes names a column of adata.var that holds {genes.dtype}; it must hold True and False")
    chosen = np.asarray(genes)
    if chosen.dtype == bool and chosen.shape == (adata.n_vars,):
        mask = np.asarray(chosen)
    elif chosen.dtype.kind in "UOT" and chosen.ndim == 1:
        unknown = [name for name in chosen.tolist() if name not in adata.var_names]
        if unknown:
            raise ValueError(f"genes names {unknown[0]!r}, which is not in adata.var_names ({len(unknown)} such)")
        mask = np.asarray(adata.var_names.isin(chosen.tolist()))
    else:
        raise ValueError(
            f"genes must be names of genes, a mask of {adata.n_vars} values, or the name of a column of adata.var, got "
            f"{chosen.dtype} of shape {chosen.shape}"
        )
    if not mask.any():
        raise ValueError("genes takes no gene at all")
    return mask


def _dense(values: Any, where: str, columns: Mask | None = None) -> Any:
    """Return some columns as a table of numbers, made dense and read from their file where there is memory for that."""
    count = values.shape[1] if columns is None else np.count_nonzero(columns)
    size = BYTES_PER_NUMBER * int(values.shape[0]) * int(count)
    free = budget()
    if free is not None and size > free:
        raise MemoryError(
            f"{where} has {values.shape[0]} x {count} values, {say_size(size)} once it is dense, but max_memory allows "
            f"{say_size(free)}; take fewer genes=, or use_rep= with components"
        )
    if hasattr(values, "to_memory"):  # a sparse matrix in a file, whose columns cannot be read alone
        values = values.to_memory()
    if columns is not None and not columns.all():
        values = values[:, np.flatnonzero(columns)]
    for method in ("compute", "toarray"):  # of dask, of sparse matrices
        if hasattr(values, method):
            values = getattr(values, method)()
    return np.asarray(values, dtype=np.float64)


def _warn_of_counts(values: Any, where: str) -> None:
    """Warn of raw counts, whose spread grows with their mean, so that Gaussians are a poor model."""
    if values.size and values.min() >= 0 and values.max() > 2 and bool((values == np.round(values)).all()):
        warn(
            f"{where} holds whole numbers, such as counts of molecules, which local Gaussian models do not suit; normalise "
            "and take logarithms first, by scanpy.pp.normalize_total(adata) and scanpy.pp.log1p(adata)"
        )
