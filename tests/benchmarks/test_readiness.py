"""Before cells are run, every kernel is compiled, and each once."""

from __future__ import annotations

from mcgta.kernels.gaussians import factors, graphical_lasso
from mcgta.kernels.simd.compiled import Kernel, Shared
from measuring import readiness
from paper import plan


def test_every_kernel_is_found_once():
    found = list(readiness.find_kernels())
    assert len(found) == len({id(one) for one in found}) > 50
    assert factors._cholesky in found
    assert graphical_lasso._fit in found


def test_every_kernel_is_compiled_before_the_first_cell(monkeypatch):
    compiled = []
    monkeypatch.setattr(Kernel, "compile", lambda self: compiled.append(self))
    monkeypatch.setattr(Shared, "address", property(lambda self: compiled.append(self)))
    plan.prepare()
    assert compiled == list(readiness.find_kernels())
