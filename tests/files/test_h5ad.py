"""h5ad: positions and genes by the conventions of scanpy and squidpy; clusters go into obs, and all else stays."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import scipy.sparse

from mcgta.drawing.palette import NOISE_COLOR, cluster_color
from mcgta.files import FileProblem, guess_roles, make_observations, read_file, write_file
from mcgta.files.h5ad.reading import MAX_GENES
from mcgta.runtime.config import config_context

N_CELLS = 6
ADDED = {
    "cluster": np.array([1, 0, -1, 1, 0, 0]),
    "probability": np.array([0.5, 1, 0, 1, 1, 1]),
    "is_noise": np.array([0, 0, 1, 0, 0, 0], dtype=bool),
}


def put(group, name, data, **attributes):
    item = group.create_dataset(name, data=data)
    item.attrs["encoding-type"] = "array" if np.asarray(data).dtype.kind in "biuf" else "string-array"
    item.attrs["encoding-version"] = "0.2.0"
    item.attrs.update(attributes)


def part(group, name, kind="dict", version="0.1.0", **attributes):
    made = group.require_group(name)
    made.attrs.update({"encoding-type": kind, "encoding-version": version, **attributes})
    return made


def frame(file, name, index, **columns):
    made = part(file, name, "dataframe", "0.2.0", _index="_index")
    made.attrs["column-order"] = list(columns) or np.zeros(0)
    put(made, "_index", index)
    for column, values in columns.items():
        put(made, column, values)
    return made


def categorical(group, name, codes, categories):
    item = part(group, name, "categorical", "0.2.0", ordered=False)
    put(item, "codes", np.array(codes, dtype=np.int8))
    put(item, "categories", categories)


def cells(path, X, genes, components=None, spatial=True):
    """A file as AnnData writes it, without AnnData."""
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        obs = frame(file, "obs", [f"c{k}" for k in range(N_CELLS)], total=np.arange(N_CELLS), ok=np.arange(N_CELLS) > 2)
        categorical(obs, "slide", [0, 0, 0, 1, 1, -1], ["left", "right"])
        masked = part(obs, "age", "nullable-integer")
        put(masked, "values", np.arange(N_CELLS))
        put(masked, "mask", np.arange(N_CELLS) == 1)
        obs.attrs["column-order"] = ["total", "ok", "slide", "age"]
        frame(file, "var", genes)
        if scipy.sparse.issparse(X):
            item = part(file, "X", f"{X.format}_matrix", shape=X.shape)
            for name in ("data", "indices", "indptr"):
                item.create_dataset(name, data=getattr(X, name))
        elif X is not None:
            put(file, "X", X)
        obsm = part(file, "obsm")
        if spatial:
            put(obsm, "spatial", rng.normal(size=(N_CELLS, 2)))
        if components is not None:
            put(obsm, "X_pca", components)
        uns = part(file, "uns")
        for slide in ("left", "right"):
            part(part(uns, "spatial"), slide)
        put(uns, "remark", "kept")
        for name in ("layers", "varm", "obsp", "varp"):
            part(file, name)
    return path


def make_X(n_genes=3):
    return np.random.default_rng(1).normal(size=(N_CELLS, n_genes))


def test_positions_genes_and_slides_are_known_by_the_conventions(tmp_path):
    X = make_X()
    table = read_file(cells(tmp_path / "a.h5ad", X, ["CD3", "CD4", "CD8"]))
    roles = guess_roles(table)
    assert roles.position == ("spatial_0", "spatial_1")
    assert roles.features == ("CD3", "CD4", "CD8")
    assert roles.group == "slide"
    np.testing.assert_array_equal(make_observations(table, roles).X, X)


def test_columns_of_obs_keep_their_types_and_gaps(tmp_path):
    table = read_file(cells(tmp_path / "a.h5ad", make_X(), ["a", "b", "c"]))
    assert list(table.columns)[:5] == ["obs_names", "total", "ok", "slide", "age"]
    assert [table.kinds[name] for name in ("total", "ok", "slide", "age")] == ["integer", "flag", "text", "integer"]
    assert table.columns["slide"].tolist() == ["left", "left", "left", "right", "right", None]
    np.testing.assert_array_equal(table.columns["age"], [0, np.nan, 2, 3, 4, 5])


@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csc_matrix])
def test_a_sparse_matrix_is_read_as_a_dense_one(tmp_path, form):
    X = np.where(make_X() > 0, make_X(), 0)
    table = read_file(cells(tmp_path / "a.h5ad", form(X), ["a", "b", "c"]))
    np.testing.assert_array_equal(np.column_stack([table.columns[gene] for gene in "abc"]), X)


def test_of_many_genes_the_components_are_the_features(tmp_path):
    genes = [f"g{k}" for k in range(60)]
    pca = np.arange(2.0 * N_CELLS).reshape(N_CELLS, 2)
    table = read_file(cells(tmp_path / "a.h5ad", make_X(60), genes, pca))
    assert guess_roles(table).features == ("X_pca_0", "X_pca_1")
    assert table.notes == ("the 2 components in obsm['X_pca'] are the features, not 60 genes",)
    assert "g59" in table.columns


def test_too_many_genes_are_not_read(tmp_path):
    X = scipy.sparse.csr_matrix((N_CELLS, MAX_GENES + 1))
    genes = [f"g{k}" for k in range(MAX_GENES + 1)]
    table = read_file(cells(tmp_path / "a.h5ad", X, genes, np.zeros((N_CELLS, 2))))
    assert "g0" not in table.columns
    assert table.declared.features == ("X_pca_0", "X_pca_1")
    with pytest.raises(FileProblem, match=r"1,001 genes are too many features, at most 1,000; compute components"):
        read_file(cells(tmp_path / "b.h5ad", X, genes))


def test_genes_of_one_name_are_numbered(tmp_path):
    table = read_file(cells(tmp_path / "a.h5ad", make_X(), ["g", "g", "total"]))
    assert table.declared.features == ("g", "g-1", "total-1")
    assert "a second column called g is called g-1" in table.notes


def test_without_a_place_the_columns_are_asked(tmp_path):
    table = read_file(cells(tmp_path / "a.h5ad", make_X(), ["a", "b", "c"], spatial=False))
    assert table.declared.position == ()


def test_clusters_are_categories_with_colours_and_all_else_stays(tmp_path):
    path = cells(tmp_path / "a.h5ad", scipy.sparse.csr_matrix(make_X()), ["a", "b", "c"])
    write_file(read_file(path), tmp_path / "b.h5ad", ADDED)
    before = contents(path)
    after = contents(tmp_path / "b.h5ad")
    assert {name: after[name] for name in before} == before
    assert sorted(name for name in after if name not in before) == [
        "obs/cluster/categories",
        "obs/cluster/codes",
        "obs/is_noise",
        "obs/probability",
        "uns/cluster_colors",
    ]
    with h5py.File(tmp_path / "b.h5ad") as file:
        assert file["obs/cluster/categories"].asstr()[...].tolist() == ["0", "1", "noise"]
        assert file["obs/cluster/codes"][...].tolist() == [1, 0, 2, 1, 0, 0]
        colors = file["uns/cluster_colors"].asstr()[...].tolist()
        assert colors == [cluster_color(0), cluster_color(1), NOISE_COLOR]
        assert list(file["obs"].attrs["column-order"]) == ["total", "ok", "slide", "age", *ADDED]


def contents(path):
    """The bytes of all data sets of a file."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: found.update({name: repr(item[()])}) if isinstance(item, h5py.Dataset) else None
        )
    return found


@pytest.mark.filterwarnings("ignore")
def test_anndata_reads_what_is_written(tmp_path):
    anndata = pytest.importorskip("anndata")
    write_file(read_file(cells(tmp_path / "a.h5ad", make_X(), ["a", "b", "c"])), tmp_path / "b.h5ad", ADDED)
    found = anndata.read_h5ad(tmp_path / "b.h5ad")
    assert found.obs["cluster"].tolist() == ["1", "0", "noise", "1", "0", "0"]
    assert found.obs["cluster"].cat.categories.tolist() == ["0", "1", "noise"]
    assert found.obs["is_noise"].tolist() == ADDED["is_noise"].tolist()
    assert found.shape == (N_CELLS, 3)


@pytest.mark.filterwarnings("ignore")
def test_a_table_of_another_format_becomes_cells(tmp_path):
    anndata = pytest.importorskip("anndata")
    (tmp_path / "a.csv").write_text("km/h,when,s,\n1.5,2024-01-01,x,1\n,2024-01-02,,2\n")
    write_file(read_file(tmp_path / "a.csv"), tmp_path / "b.h5ad", {"cluster": np.array([0, -1])})
    found = anndata.read_h5ad(tmp_path / "b.h5ad")
    assert list(found.obs.columns) == ["km_h", "when", "s", "column_4", "cluster"]
    assert found.obs["when"].tolist() == ["2024-01-01", "2024-01-02"]
    assert found.obs["s"].isna().tolist() == [False, True]
    assert list(read_file(tmp_path / "b.h5ad").columns) == ["obs_names", *found.obs.columns]


def test_a_file_that_has_changed_since_it_was_read_is_not_mixed_up(tmp_path):
    table = read_file(cells(tmp_path / "a.h5ad", make_X(), ["a", "b", "c"]))
    cells(tmp_path / "a.h5ad", make_X() + 1, ["a", "b", "c"])
    with pytest.raises(FileProblem, match="has changed since it was read"):
        write_file(table, tmp_path / "b.h5ad", ADDED)


@pytest.mark.parametrize("content", [b"", b"obs", b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + b"\0" * 4000])
def test_what_is_no_hdf5_is_refused(tmp_path, content):
    (tmp_path / "a.h5ad").write_bytes(content)
    with pytest.raises(FileProblem, match=r"^a\.h5ad: damaged, or not h5ad"):
        read_file(tmp_path / "a.h5ad")


def spoil(path, change):
    with h5py.File(path, "r+") as file:
        change(file)
    return path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda file: file.pop("obs"), "it has no frame 'obs' as AnnData writes it"),
        (lambda file: file["obs"].pop("_index"), "damaged, or not h5ad"),
        (
            lambda file: (file["obs"].pop("total"), put(file["obs"], "total", [1])),
            "column total has 1 rows, and obs has 6",
        ),
        (lambda file: (file.pop("X"), put(file, "X", np.zeros((2, 3)))), r"X is of shape \(2, 3\), and obs has 6 rows"),
        (lambda file: (file["obsm"].pop("spatial"), part(file["obsm"], "spatial")), "must be a dense matrix"),
        (lambda file: (file["obs"].pop("_index"), put(file["obs"], "_index", np.zeros(0))), "obs has no row"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(tmp_path, change, said):
    path = spoil(cells(tmp_path / "a.h5ad", make_X(), ["a", "b", "c"]), change)
    with pytest.raises(FileProblem, match=rf"^a\.h5ad: .*{said}"):
        read_file(path)


@pytest.mark.parametrize("name", ["indices", "indptr"])
def test_a_damaged_sparse_matrix_is_refused(tmp_path, name):
    path = cells(tmp_path / "a.h5ad", scipy.sparse.csr_matrix(make_X()), ["a", "b", "c"])
    with h5py.File(path, "r+") as file:
        file["X"][name][1] = 10**6
    with pytest.raises(FileProblem, match="X: its sparse matrix is damaged"):
        read_file(path)


def test_a_matrix_that_does_not_fit_into_memory_is_refused_before_it_is_read(tmp_path):
    path = cells(tmp_path / "a.h5ad", make_X(500), [f"g{k}" for k in range(500)])
    with config_context(max_memory="20kB"), pytest.raises(FileProblem, match="its columns take"):
        read_file(path)
