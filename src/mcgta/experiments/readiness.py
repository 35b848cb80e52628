"""What is done once before cells are run, so that none of them pays for it."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from mcgta import kernels
from mcgta.kernels.simd.compiled import Kernel, Shared


def compile_kernels() -> None:
    """Compile all kernels, or read them from the cache: where it can be written, the cells' processes find them there.

    Otherwise the first cells on a machine would be charged for the compiler's seconds, which alone could exceed their caps.
    """
    for found in find_kernels():
        if isinstance(found, Kernel):
            found.compile()
        else:
            found.address  # noqa: B018 - asking for it compiles it


def find_kernels() -> Iterator[Kernel | Shared]:
    """Give each kernel and shared function of the package once."""
    for module in pkgutil.iter_modules(kernels.__path__):
        full = f"{kernels.__name__}.{module.name}"
        for found in vars(import_module(full)).values():
            if isinstance(found, (Kernel, Shared)) and found.function.__module__ == full:
                yield found
