"""How much memory a fit may use, and what it refuses."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from mcgta import MCGTA, config_context
from mcgta.runtime import memory
from mcgta.runtime.memory import MemoryNeed, available_bytes, budget
from mcgta.runtime.sizes import read_size

MEMINFO = "MemTotal:       16000000 kB\nMemFree:         2000000 kB\nMemAvailable:    8000000 kB\n"


def system(root, *groups, meminfo=None):
    """Write the files of a system that is not there."""
    for name, text in itertools.chain({"proc/meminfo": meminfo or ""}.items(), *(group.items() for group in groups)):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1.5GB", 1.5e9),
        ("800MiB", 800 * 2**20),
        ("2 TiB", 2 * 2**40),
        ("10kb", 1e4),
        (" 3KiB ", 3072),
        (".5gib", 2**29),
        ("12B", 12),
        ("4000000000", 4e9),
    ],
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert read_size(text) == size
    assert budget(text) == size


@pytest.mark.parametrize("text", ["", "GB", "2G", "1,5GB", "-1GB", "0MB", "1e9", "1.5 GB free", "nan", "inf", "٣GB"])
def test_what_is_no_size_is_refused(text):
    assert read_size(text) is None
    with pytest.raises(ValueError, match=r"must be a number of bytes > 0, text such as '1\.5GB'"):
        budget(text)


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf])
def test_numbers_that_are_no_size_are_refused(value):
    with pytest.raises(ValueError, match="max_memory="):
        budget(value)


def test_left_to_itself_the_budget_is_three_quarters_of_what_is_available(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    assert (budget(), budget(None), budget("auto"), budget(123), budget(2.5)) == (750, 750, 750, 123, 2)


def test_an_unknown_amount_is_no_limit(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    assert budget("auto") is None
    MemoryNeed(10**9, 3, dense=True).check(None)


def test_the_kernel_says_what_is_available(tmp_path):
    assert available_bytes(system(tmp_path, meminfo=MEMINFO)) == 8_000_000 * 1024


def groups_of(version, *, limit, used, spare, path="", name="/"):
    """The files of one control group of either version."""
    names = ("max", "current") if version == 2 else ("limit_in_bytes", "usage_in_bytes")
    stat = f"anon 1\n{'' if version == 2 else 'total_'}inactive_file {spare}\n"
    line = f"0::{name}\n" if version == 2 else f"9:cpu:/other\n4:hugetlb,memory:{name}\n"
    folder = ("sys/fs/cgroup" if version == 2 else "sys/fs/cgroup/memory") + path
    return {
        "proc/self/cgroup": line,
        f"{folder}/memory.{names[0]}": f"{limit}\n",
        f"{folder}/memory.{names[1]}": f"{used}\n",
        f"{folder}/memory.stat": stat,
    }


@pytest.mark.parametrize("version", [1, 2])
def test_a_container_has_what_its_limit_leaves_and_files_that_are_not_needed(tmp_path, version):
    files = groups_of(version, limit=2 * 2**30, used=2**30, spare=2**28)
    assert available_bytes(system(tmp_path, files, meminfo=MEMINFO)) == 2**30 + 2**28


@pytest.mark.parametrize("version", [1, 2])
def test_a_group_further_up_counts_too(tmp_path, version):
    outer = groups_of(version, limit=3000, used=2500, spare=0, path="/jobs", name="/jobs/mine")
    inner = groups_of(version, limit=2000, used=100, spare=0, path="/jobs/mine", name="/jobs/mine")
    assert available_bytes(system(tmp_path, outer, inner)) == 500


@pytest.mark.parametrize("version", [1, 2])
def test_a_group_that_is_mounted_at_the_top_is_found(tmp_path, version):
    files = groups_of(version, limit=3000, used=1000, spare=0, name="/docker/0123")
    assert available_bytes(system(tmp_path, files)) == 2000


@pytest.mark.parametrize(("version", "limit"), [(2, "max"), (1, 9223372036854771712)])
def test_a_group_without_limit_changes_nothing(tmp_path, version, limit):
    files = groups_of(version, limit=limit, used=2**30, spare=0)
    assert available_bytes(system(tmp_path, files, meminfo=MEMINFO)) == 8_000_000 * 1024


def test_more_used_than_allowed_leaves_nothing(tmp_path):
    assert available_bytes(system(tmp_path, groups_of(2, limit=1000, used=1500, spare=0))) == 0


def test_without_such_files_the_pages_are_counted_where_the_system_does(tmp_path, monkeypatch):
    pages = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}

    def sysconf(name):
        if name not in pages:
            raise ValueError("unrecognized configuration name")
        return pages[name]

    monkeypatch.setattr(memory.os, "sysconf", sysconf)
    assert available_bytes(tmp_path) == 4_096_000
    pages["SC_AVPHYS_PAGES"] = 10
    assert available_bytes(tmp_path) == 40_960
    monkeypatch.delattr(memory.os, "sysconf")
    assert available_bytes(tmp_path) is None


class Limits:
    """A system with a limit of the address space."""

    RLIMIT_AS = 9
    RLIM_INFINITY = -1

    def __init__(self, soft):
        self.soft = soft

    def getrlimit(self, kind):
        assert kind == self.RLIMIT_AS
        return self.soft, self.RLIM_INFINITY

    def getpagesize(self):
        return 4096


@pytest.mark.parametrize(
    ("soft", "available"), [(-1, 8_000_000 * 1024), (2**31, 2**31 - 4096 * 1000), (4096, 0), (2**50, 8_000_000 * 1024)]
)
def test_a_limit_of_the_address_space_counts_less_what_is_in_use(tmp_path, monkeypatch, soft, available):
    monkeypatch.setattr(memory, "resource", Limits(soft))
    files = {"proc/self/statm": "1000 500 20 1 0 40 0\n"}
    assert available_bytes(system(tmp_path, files, meminfo=MEMINFO)) == available


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is enforced on Linux")
def test_a_process_whose_address_space_is_limited_has_no_more_than_that():
    program = (
        "import resource; from mcgta.runtime.memory import available_bytes, budget; "
        "resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, -1)); print(available_bytes(), budget())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    available, allowed = map(int, done.stdout.split())
    assert 0 < available < 4 * 2**30
    assert allowed == pytest.approx(0.75 * available, rel=0.01)


def test_a_fit_beyond_max_memory_is_refused_before_it_begins(series):
    told = []
    model = MCGTA(n_neighbors=6, progress=lambda name, share: told.append(name))
    said = (
        r"120 observations of 2 features need 8 x 82 bytes for each: 78.7 kB, but max_memory allows 70 kB .*; at most "
        r"106 observations fit"
    )
    with config_context(max_memory="70kB"), pytest.raises(MemoryError, match=said):
        model.fit(series.X, positions=series.positions)
    assert told == []


def test_a_fit_within_max_memory_is_the_same_as_any(series):
    model = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical")
    labels = model.fit(series.X, positions=series.positions).labels_
    for size in (None, "auto", "1GB", 10**9, 1e9):
        with config_context(max_memory=size):
            np.testing.assert_array_equal(model.fit(series.X, positions=series.positions).labels_, labels)


def test_a_refit_asks_for_memory_too(series):
    with config_context(max_memory="1MB"):
        roomy = MCGTA(n_neighbors=6, eps=4.0, semivariogram="empirical").fit(series.X)
    assert roomy.backend_.name == "table"
    with config_context(max_memory="100kB"):
        assert roomy.refit(eps=3.0).backend_.name == "tree"
    with config_context(max_memory="70kB"), pytest.raises(MemoryError, match="120 observations"):
        roomy.refit(eps=3.0)
