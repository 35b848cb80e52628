"""Compiling on first use: once for a machine where a cache can be written, with one line of notice while it lasts.

``kernel`` is for the entries that Python calls, ``helper``, ``literal_helper`` and ``snippet`` for their parts. An entry names
its signature, so there is one compiled form of it and no call from Python can start another; nothing is compiled before the
first call. The compiled form is kept in Numba's cache (beside the source, else in the user's cache folder, or where
``NUMBA_CACHE_DIR`` says), under a name that changes with any file of :mod:`mcgta.kernels`. Where the cache cannot be written or
read, the entry is compiled for this process only. A fork waits until the entry that is being compiled is ready: neither Numba
nor LLVM could compile in a child that began in the midst of it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config as numba_config
from numba.extending import intrinsic
from numpy.typing import NDArray

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
_NOTICE_AFTER = 0.7  # seconds
_KERNELS = Path(__file__).parent.parent
_lock = threading.RLock()
_noticed = threading.Event()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)

_numba: Any = numba
_njit = _numba.njit
carray = _numba.carray
_emitted: Any = intrinsic  # for type checkers: what Python calls has other arguments than what Numba emits it from


def _cfunc(signature: str, *, nogil: bool, **options: Any) -> Any:
    return _numba.cfunc(signature, **options)


helper: Callable[[Callable[..., Any]], Any] = _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)
"""Decorator of a function that kernels call; compiled by itself, and into them."""

literal_helper: Callable[[Callable[..., Any]], Any] = _njit(
    no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True, **{**_OPTIONS, "fastmath": False}
)
"""Decorator of a helper whose products and sums are never fused, whatever its caller is compiled with.

LLVM copies it into the caller and keeps that promise for each instruction; Numba's own copying, of a snippet, would not. So its
results have the same bits everywhere, if it calls the mathematics library (exp, atan2, ...) by way of :func:`scalar`.
"""

literal_part: Callable[[Callable[..., Any]], Any] = _njit(
    no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=False, **{**_OPTIONS, "fastmath": False}
)
"""The same for longer functions, which callers do not copy if they begin with ``lean()``."""

snippet: Callable[[Callable[..., Any]], Any] = _njit(inline="always", **_OPTIONS)
"""Decorator of a short function that kernels and helpers call; written out in them, which takes less time to compile."""


def scalar(function: Callable[..., float], arguments: int) -> Any:
    """Return a function of ``math`` for use in kernels that has the same bits wherever it is called.

    It is called in an LLVM function of its own. Otherwise loops could be compiled for several numbers at a time, for which the
    mathematics library may have other functions (SVML), with other last bits.
    """
    double = ir.DoubleType()
    typed = types.float64(*[types.float64] * arguments)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        name = f"mcgta_{function.__name__}"
        inner = builder.module.globals.get(name)
        if inner is None:
            inner = ir.Function(builder.module, ir.FunctionType(double, [double] * arguments), name)
            inner.linkage = "linkonce_odr"
            inner.attributes.add("noinline")
            body = ir.IRBuilder(inner.append_basic_block())
            body.ret(context.get_function(function, typed)(body, inner.args))
        return builder.call(inner, args)

    return intrinsic((lambda _, x: (typed, emit)) if arguments == 1 else (lambda _, x, y: (typed, emit)))


class Kernel:
    """A function that is compiled for one signature when it is first called."""

    def __init__(self, function: Callable[..., Any], signature: str, options: dict[str, Any]) -> None:
        self.function = function
        self.signature = signature
        self.options = options
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        """Run it, compiled before where it is not yet."""
        return (self._compiled or self.compile())(*args)

    def compile(self) -> Callable[..., Any]:
        """Compile, or read from the cache, unless that has been done."""
        with _lock:
            if self._compiled is None:
                with _notice():
                    self._compiled = _compile(self.function, self.signature, self.options)
        return self._compiled


class Shared:
    """A function that is compiled once and called from several kernels through its address, not compiled into each of them.

    Arguments are arrays, of which it gets the first entry's address and the size, and integers; see :func:`call`.
    """

    def __init__(self, function: Callable[..., None], signature: str) -> None:
        self.function = function
        self.signature = signature
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._compiled: Any = None

    @property
    def compiled(self) -> Any:
        """The C function."""
        if self._compiled is None:
            with _lock, _notice():
                self._compiled = self._compiled or _compile(self.function, self.signature, _OPTIONS, make=_cfunc)
        return self._compiled

    @property
    def address(self) -> int:
        """Where it is; a number that kernels take."""
        return int(self.compiled.address)


def shared(signature: str) -> Callable[[Callable[..., None]], Shared]:
    """Decorate a function of arrays and integers, the signature that of a C function: a pointer and a size for each array."""
    return lambda function: Shared(function, signature)


@_emitted
def call(typing: Any, address: Any, arguments: Any) -> Any:
    """Call the shared function at ``address`` with a tuple of flat arrays and integers."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        passed = []
        for k, kind in enumerate(sig.args[1]):
            value = builder.extract_value(args[1], k)
            if isinstance(kind, types.Array):
                array = context.make_array(kind)(context, builder, value)
                passed += [array.data, array.nitems]
            else:
                passed.append(context.cast(builder, value, kind, types.int64))
        function = ir.FunctionType(ir.VoidType(), [value.type for value in passed])
        builder.call(builder.inttoptr(args[0], function.as_pointer()), passed)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate


def native(array: Any, dtype: type = np.float64) -> NDArray[Any]:
    """Return an array as kernels take it: of this type, contiguous and writable; itself where it is."""
    if isinstance(array, np.ndarray) and array.dtype == dtype and array.flags.carray:
        return array
    return np.require(array, dtype, ("C", "W"))


def native_rows(rows: Any, count: int) -> NDArray[np.int64]:
    """Return row numbers as kernels take them; kernels do not check that there is such a row, so that is done here."""
    numbers = native(rows, np.int64)
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < count:
        raise IndexError(f"rows {numbers.min()} to {numbers.max()} are asked for, of {count}")
    return numbers


def kernel(signature: str, *, reorder: bool = False, literal: bool = False) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorate a function of arrays with the one signature that it is called with.

    ``reorder`` lets the compiler change the order of sums, once and for all, to add several terms at a time. ``literal`` keeps
    it from fusing products and sums, so that results are NumPy's to the last bit.
    """
    options = _OPTIONS
    if reorder or literal:
        options = {**_OPTIONS, "fastmath": {"contract", "reassoc"} if reorder else False}
    return lambda function: Kernel(function, signature, options)


def _compile(
    function: Callable[..., Any], signature: str, options: dict[str, Any], make: Callable[..., Any] = _njit
) -> Callable[..., Any]:
    if vars(numba_config).get("DISABLE_JIT"):
        raise RuntimeError("mcgta's kernels need Numba's compiler, which NUMBA_DISABLE_JIT turns off; unset it")
    function.__qualname__ = f"{function.__name__}_{_sources()}"  # which names its file in the cache
    try:
        compiled: Callable[..., Any] = make(signature, cache=True, **options)(function)
    except Exception:  # a damaged cache can raise anything; what is wrong with the function itself is raised again
        compiled = make(signature, **options)(function)
    return compiled


@cache
def _sources() -> str:
    """A digest of all kernels: Numba notices a change in an entry's own file, but not in the files of its parts."""
    digest = hashlib.sha256()
    for path in sorted(_KERNELS.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@contextmanager
def _notice() -> Iterator[None]:
    """Say once on standard error that kernels are being compiled, if that takes long."""
    timer = threading.Timer(_NOTICE_AFTER, _tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def compile_quietly() -> None:
    """Say nothing when kernels are being compiled in this process."""
    _noticed.set()


def _tell() -> None:
    if not _noticed.is_set():
        _noticed.set()
        line = "mcgta: compiling numerical kernels, once for this machine (up to half a minute)"
        if sys.stderr.isatty():
            line = f"\r{line:<{shutil.get_terminal_size().columns - 1}}"  # over a progress bar
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
