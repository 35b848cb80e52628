"""AnnData by the conventions of squidpy: where features and positions are read, and what is written back."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import mcgta
from mcgta import MCGTA, config_context
from mcgta.drawing.palette import NOISE_COLOR, cluster_colors

SETTINGS = {"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical"}
ANNDATA_WITH_NEW_PANDAS = pytest.mark.filterwarnings("ignore:The 'mode.chained_assignment' option is deprecated")


def cluster(adata, **options):
    return mcgta.cluster_anndata(adata, **{**SETTINGS, **options})


def tissue(plane, X=None, **parts):
    """128 cells on a tissue, in two slides."""
    X = plane.X if X is None else X
    cells = pd.Index([f"cell {k}" for k in range(128)], dtype=object)
    genes = pd.Index([f"gene {k}" for k in range(X.shape[1])], dtype=object)
    slides = pd.Categorical.from_codes(np.repeat([0, 1], 64), pd.Index(["left", "right"], dtype=object))
    return anndata.AnnData(
        X,
        obs=pd.DataFrame({"slide": slides}, index=cells),
        var=pd.DataFrame({"highly_variable": np.arange(X.shape[1]) < 2}, index=genes),
        **{"obsm": {"spatial": plane.positions}, **parts},
    )


def test_clusters_are_categories_of_text_with_probabilities_and_colours(plane):
    adata = tissue(plane)
    model = cluster(adata)
    assert isinstance(model, MCGTA)
    assert adata.obs["mcgta"].tolist() == [str(k) for k in plane.truth]
    assert adata.obs["mcgta"].cat.categories.tolist() == ["0", "1"]
    np.testing.assert_array_equal(adata.obs["mcgta_probability"], model.probabilities_)
    assert adata.uns["mcgta_colors"] == cluster_colors(2)


def test_noise_is_the_last_category_and_has_the_colour_of_noise(plane):
    X = plane.X.copy()
    X[5, 0] = np.nan
    adata = tissue(plane, X)
    with pytest.warns(UserWarning, match="1 of 128 rows have missing values"):
        cluster(adata, missing="drop", key_added="state")
    assert adata.obs["state"].cat.categories.tolist() == ["0", "1", "noise"]
    assert adata.obs["state"].iloc[5] == "noise"
    assert adata.uns["state_colors"] == [*cluster_colors(2), NOISE_COLOR]
    assert adata.obs["state_probability"].iloc[5] == 0


def test_the_model_knows_the_names_of_cells_and_genes(plane):
    model = cluster(tissue(plane))
    assert model.feature_names_in_.tolist() == ["gene 0", "gene 1"]
    assert model.to_frame().index[7] == "cell 7"


def test_slides_share_clusters_but_no_neighbourhoods(plane):
    adata = tissue(plane)
    adata.obsm["spatial"][64:] -= adata.obsm["spatial"][64] - adata.obsm["spatial"][0]  # slides lie on each other
    model = cluster(adata, library_key="slide")
    assert model.positions_.group_names.tolist() == ["left", "right"]
    np.testing.assert_array_equal(adata.obs["mcgta"].astype(int), plane.truth)


def test_several_slides_without_their_key_are_reported(plane):
    adata = tissue(plane, uns={"spatial": {"left": {}, "right": {}}})
    with pytest.warns(UserWarning, match="has 2 slides .*pass library_key=") as caught:
        cluster(adata)
    assert caught[0].filename == __file__
    cluster(adata, library_key="slide")  # warnings are errors here


def test_positions_are_a_plane_even_where_they_look_like_degrees(plane):
    adata = tissue(plane, obsm={"spatial": plane.positions + 41.5})
    assert cluster(adata).positions_.metric.name == "euclidean"


# ---------------------------------------------------------------------- features


def wide(plane):
    """More genes than are taken as they are."""
    return np.hstack([plane.X, np.random.default_rng(0).normal(size=(128, 60))])


TAKES_SPARSE_ARRAYS = tuple(map(int, version("anndata").split(".")[:2])) >= (0, 11)


@pytest.mark.parametrize(
    "wrap",
    [
        scipy.sparse.csr_matrix,
        pytest.param(
            scipy.sparse.csc_array,
            marks=pytest.mark.skipif(not TAKES_SPARSE_ARRAYS, reason="anndata before 0.11 takes no sparse arrays"),
        ),
        np.asfortranarray,
        np.float32,
    ],
)
def test_sparse_and_other_arrays_give_the_same_clusters(plane, wrap):
    adata = tissue(plane, wrap(plane.X))
    cluster(adata)
    assert adata.obs["mcgta"].tolist() == [str(k) for k in plane.truth]


@pytest.mark.parametrize(
    "genes",
    ["highly_variable", ["gene 0", "gene 1"], pd.Index(["gene 1", "gene 0"]), np.arange(62) < 2],
    ids=["column of var", "list", "index", "mask"],
)
def test_genes_are_named_masked_or_marked_in_var(plane, genes):
    model = cluster(tissue(plane, scipy.sparse.csr_matrix(wide(plane))), genes=genes)
    assert model.feature_names_in_.tolist() == ["gene 0", "gene 1"]
    np.testing.assert_array_equal(model.labels_, plane.truth)


def test_a_layer_takes_the_place_of_x(plane):
    adata = tissue(plane, np.zeros((128, 2)), layers={"log": plane.X})
    np.testing.assert_array_equal(cluster(adata, layer="log").labels_, plane.truth)


def test_many_genes_are_replaced_by_the_first_components(plane):
    adata = tissue(plane, wide(plane))
    with pytest.raises(
        ValueError, match=r"adata has 62 genes, .* run scanpy.pp.pca\(adata\) first, or say which genes="
    ):
        cluster(adata)
    adata.obsm["X_pca"] = wide(plane)[:, :20]
    assert cluster(adata).feature_names_in_.tolist() == [f"PC{k + 1}" for k in range(15)]
    assert cluster(adata, n_pcs=2).feature_names_in_.tolist() == ["PC1", "PC2"]
    assert cluster(adata, use_rep="X", eps=200.0).feature_names_in_.size == 62


def test_another_representation_may_be_a_frame(plane):
    adata = tissue(plane, wide(plane))
    adata.obsm["shape"] = pd.DataFrame(plane.X, columns=["area", "roundness"], index=adata.obs_names)
    model = cluster(adata, use_rep="shape")
    assert model.feature_names_in_.tolist() == ["area", "roundness"]
    np.testing.assert_array_equal(model.labels_, plane.truth)


def test_counts_are_reported(plane):
    counts = np.random.default_rng(0).poisson(3.0, (128, 3))
    with pytest.warns(UserWarning, match=r"^adata.X holds whole numbers, .*scanpy.pp.log1p"):
        cluster(tissue(plane, counts))


def test_what_would_not_fit_into_memory_is_refused_before_it_is_dense(plane):
    adata = tissue(plane, scipy.sparse.csr_matrix(wide(plane)))
    said = "adata.X has 128 x 62 values, 63.5 kB once it is dense, but max_memory allows 20 kB"
    with config_context(max_memory="20kB"), pytest.raises(MemoryError, match=said):
        cluster(adata, use_rep="X")
    assert "mcgta" not in adata.obs


# ---------------------------------------------------------------------- files, views and bad input


@pytest.mark.parametrize("wrap", [scipy.sparse.csr_matrix, np.asarray], ids=["sparse", "dense"])
def test_results_survive_a_file_and_a_file_can_be_read_from(plane, tmp_path, wrap):
    adata = tissue(plane, wrap(plane.X))
    cluster(adata)
    adata.write_h5ad(tmp_path / "tissue.h5ad")
    read = anndata.read_h5ad(tmp_path / "tissue.h5ad", backed="r")
    assert read.obs["mcgta"].tolist() == adata.obs["mcgta"].tolist()
    assert list(read.uns["mcgta_colors"]) == adata.uns["mcgta_colors"]
    cluster(read, key_added="again", genes=["gene 0", "gene 1"])
    assert read.obs["again"].tolist() == adata.obs["mcgta"].tolist()
    read.file.close()


@ANNDATA_WITH_NEW_PANDAS
def test_a_view_becomes_a_copy_of_its_own_and_says_so(plane):
    adata = tissue(plane)
    part = adata[:64]
    with pytest.warns(UserWarning, match="adata is a view, which becomes a copy of its own") as caught:
        cluster(part)
    assert caught[-1].filename == __file__
    assert part.obs["mcgta"].tolist() == [str(k) for k in plane.truth[:64]]
    assert "mcgta" not in adata.obs


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"spatial_key": "spatail"}, "spatial_key='spatail' is not in adata.obsm, which has 'spatial'; did you mean"),
        ({"library_key": "Slide"}, "library_key='Slide' is not in adata.obs, which has 'slide'; did you mean 'slide'"),
        ({"layer": "log"}, "layer='log' is not in adata.layers, which has none"),
        ({"use_rep": "X_pca"}, "use_rep='X_pca' is not in adata.obsm"),
        ({"use_rep": "spatial", "layer": "log"}, "layer has no effect with use_rep='spatial'"),
        ({"genes": ["gene 9"]}, "genes names 'gene 9', which is not in adata.var_names"),
        ({"genes": [0, 1]}, "genes must be names of genes, a mask of 2 values, or .*got int64"),
        ({"genes": []}, "genes"),
        ({"n_pcs": 0}, "n_pcs=0 is not allowed"),
        ({"key_added": ""}, "key_added='' must be the name of a column"),
        ({"key_added": "slide", "library_key": "slide"}, "key_added='slide' would overwrite the groups"),
        ({"n_neighbors": 0}, "n_neighbors=0 is not allowed"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_keys_and_values_are_refused_with_what_there_is(plane, options, said):
    adata = tissue(plane)
    with pytest.raises(ValueError, match=said):
        cluster(adata, **options)
    assert adata.obs.columns.tolist() == ["slide"]


def test_an_unknown_parameter_is_refused_with_the_nearest(plane):
    with pytest.raises(TypeError, match=r"no parameter 'spatial_keys', nor has MCGTA; did you mean 'spatial_key'\?"):
        cluster(tissue(plane), spatial_keys="spatial")


def test_names_of_genes_that_repeat_are_refused(plane):
    adata = tissue(plane)
    adata.var.index = pd.Index(["gene", "gene"], dtype=object)
    with pytest.raises(
        ValueError, match=r"adata.var_names holds 'gene' several times; call adata.var_names_make_unique"
    ):
        cluster(adata)


def test_other_containers_are_refused_with_what_to_pass(plane):
    with pytest.raises(ValueError, match=r"adata is a ndarray; cluster_anndata takes an AnnData, and mcgta.MCGTA"):
        cluster(plane.X)
    SpatialData = type("SpatialData", (), {"__module__": "spatialdata._core.spatialdata"})
    with pytest.raises(ValueError, match=r"adata is a SpatialData; pass one of its tables"):
        cluster(SpatialData())


def test_without_anndata_it_is_said_what_to_install():
    code = "import sys; sys.modules['anndata'] = None; import mcgta; mcgta.cluster_anndata([[1.0]])"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert "cluster_anndata needs anndata: pip install 'mcgta[omics]'" in done.stderr
