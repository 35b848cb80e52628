"""Compiling all kernels before anything is measured."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from mcgta import kernels
from mcgta.kernels.simd.compiled import Kernel, Shared


def compile_kernels() -> None:
    """Compile all kernels, or read them from the cache: where it can be written, later processes find them there.

    Otherwise the first cells on a machine would be charged for the compiler's seconds, which alone could exceed their caps.
    """
    for kernel in find_kernels():
        if isinstance(kernel, Kernel):
            kernel.compile()
        else:
            kernel.address  # noqa: B018 - asking for it compiles it


def find_kernels() -> Iterator[Kernel | Shared]:
    """Give each kernel and shared function of the package once."""
    for module in pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, (Kernel, Shared)) and value.function.__module__ == module.name:
                yield value
