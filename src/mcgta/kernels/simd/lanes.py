"""Several doubles at a time: the SIMD type that the lane kernels are written in.

A ``Lanes`` value holds 8 (or 16) doubles, one for each of as many independent small problems. Inside functions compiled by
Numba it adds, subtracts, multiplies and divides like a float, a float on either side standing for all lanes; products
that are added are fused. Values live in registers for as long as they fit, whatever loops surround them, which the
automatic vectoriser does not manage for loops over tiny matrices of a size known at run time only.

    get(array, at, k)                      the k-th group of 8 lanes in a flat float64 array from index ``at`` on
    get2(array, at, i, n, j)               the group i n + j: entry (i, j) of matrices of n columns
    get16(array, at, k)                    the k-th group of 16
    put(array, at, k, lanes), put2(array, at, i, n, j, lanes)
    splat(x), splat16(x)                   the same number in every lane
    sqrt(a), fabs(a), copysign(a, b)
    gather(rows, ...)                      rows of a table written side by side, one to a lane
    where_less(a, b, x, y)                 x in the lanes where a < b, else y
    total_of(a)                            sum of the lanes, halves first
    any_less(a, b)                         whether a < b in any lane; a comparison with NaN is false

LLVM maps the type to whatever the processor has (AVX2: two or four registers; NEON: four or eight). No fast-math flag but
contraction is set, so NaN and infinities behave. Kernels keep all they work on in one flat array, made by ``workspace``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from mcgta.kernels.simd.compiled import snippet
from mcgta.runtime.types import Array

WIDTH = 8
WIDE = 16
_LINE = 64
_emitted: Any = intrinsic  # for type checkers: what Python calls has other arguments than what Numba emits it from


class Lanes(types.Type):
    """The Numba type of ``width`` doubles."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"Lanes{width}")

    @property
    def vector(self) -> ir.VectorType:
        """The LLVM type."""
        return ir.VectorType(ir.DoubleType(), self.width)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, lanes.vector)


def _spread(builder: Any, value: Any, lanes: Lanes) -> Any:
    index = ir.VectorType(ir.IntType(32), lanes.width)
    undefined = ir.Constant(lanes.vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(index, [0] * lanes.width))


def _arithmetic(symbol: Callable[..., Any], instruction: str) -> None:
    """Teach Numba an operator for two lanes, or lanes and a float."""

    @infer_global(symbol)
    class _Template(AbstractTemplate):
        def generic(self, args: tuple[Any, ...], kws: Any) -> Any:
            lanes = [kind for kind in args if isinstance(kind, Lanes)]
            if len(args) != 2 or not lanes:
                return None
            return signature(lanes[0], *(kind if isinstance(kind, Lanes) else types.float64 for kind in args))

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        sides = [
            value if isinstance(kind, Lanes) else _spread(builder, value, sig.return_type)
            for value, kind in zip(args, sig.args, strict=True)
        ]
        return getattr(builder, instruction)(*sides, flags=("contract",))

    for pair in ((Lanes, Lanes), (Lanes, types.Float), (types.Float, Lanes)):
        lower_builtin(symbol, *pair)(lower)


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
_arithmetic(operator.truediv, "fdiv")


def _address(context: Any, builder: Any, array_type: Any, array: Any, at: Any, k: Any, lanes: Lanes) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    offset = builder.add(at, builder.mul(k, ir.Constant(k.type, lanes.width), flags=("nsw",)), flags=("nsw",))
    return builder.bitcast(builder.gep(data, [offset]), lanes.vector.as_pointer())


def _entry(builder: Any, i: Any, n: Any, j: Any) -> Any:
    return builder.add(builder.mul(i, n, flags=("nsw",)), j, flags=("nsw",))


def _entrances(width: int) -> tuple[Any, Any]:
    lanes = Lanes(width)

    @_emitted
    def get_lanes(typing: Any, array: Any, at: Any, k: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            array, at, k = args
            return builder.load(_address(context, builder, sig.args[0], array, at, k, lanes), align=8)

        return lanes(array, types.intp, types.intp), generate

    @_emitted
    def splat_lanes(typing: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _spread(builder, args[0], lanes)

        return lanes(types.float64), generate

    return get_lanes, splat_lanes


get, splat = _entrances(WIDTH)
get16, splat16 = _entrances(WIDE)


@_emitted
def get2(typing: Any, array: Any, at: Any, i: Any, n: Any, j: Any) -> Any:
    """Read entry (i, j) of 8 matrices of n columns."""
    lanes = Lanes(WIDTH)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array, at, i, n, j = args
        place = _address(context, builder, sig.args[0], array, at, _entry(builder, i, n, j), lanes)
        return builder.load(place, align=8)

    return lanes(array, *[types.intp] * 4), generate


@_emitted
def put(typing: Any, array: Any, at: Any, k: Any, value: Any) -> Any:
    """Write lanes to a flat array."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array, at, k, value = args
        builder.store(value, _address(context, builder, sig.args[0], array, at, k, sig.args[3]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, value), generate


@_emitted
def put2(typing: Any, array: Any, at: Any, i: Any, n: Any, j: Any, value: Any) -> Any:
    """Write entry (i, j) of 8 matrices of n columns."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array, at, i, n, j, value = args
        place = _address(context, builder, sig.args[0], array, at, _entry(builder, i, n, j), sig.args[5])
        builder.store(value, place, align=8)
        return context.get_dummy_value()

    return types.void(array, *[types.intp] * 4, value), generate


def _call(name: str, builder: Any, sig: Any, args: Any) -> Any:
    lanes = sig.return_type
    kind = ir.FunctionType(lanes.vector, [lanes.vector] * len(args))
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{lanes.width}f64")
    return builder.call(function, args)


@_emitted
def sqrt(typing: Any, a: Any) -> Any:
    """Square root of each lane."""
    return a(a), lambda context, builder, sig, args: _call("sqrt", builder, sig, args)


@_emitted
def fabs(typing: Any, a: Any) -> Any:
    """Absolute value of each lane."""
    return a(a), lambda context, builder, sig, args: _call("fabs", builder, sig, args)


@_emitted
def copysign(typing: Any, a: Any, b: Any) -> Any:
    """Magnitude of ``a`` with the sign of ``b``."""
    return a(a, b), lambda context, builder, sig, args: _call("copysign", builder, sig, args)


@_emitted
def where_less(typing: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """Choose ``x`` in the lanes where a < b, else ``y``."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b, x, y = args
        return builder.select(builder.fcmp_ordered("<", a, b), x, y)

    return a(a, b, x, y), generate


@_emitted
def any_less(typing: Any, a: Any, b: Any) -> Any:
    """Tell whether a < b in any lane."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bits = ir.IntType(sig.args[0].width)
        mask = builder.bitcast(builder.fcmp_ordered("<", *args), bits)
        return builder.icmp_unsigned("!=", mask, ir.Constant(bits, 0))

    return types.boolean(a, b), generate


@_emitted
def total_of(typing: Any, a: Any) -> Any:
    """Add up the lanes, halves first."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = args[0]
        width = sig.args[0].width
        while width > 1:
            width //= 2
            kind = ir.VectorType(ir.IntType(32), width)
            low = ir.Constant(kind, list(range(width)))
            high = ir.Constant(kind, list(range(width, 2 * width)))
            value = builder.fadd(builder.shuffle_vector(value, value, low), builder.shuffle_vector(value, value, high))
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return types.float64(a), generate


@_emitted
def lean(typing: Any) -> Any:
    """Compile the function that calls this without unrolling its loops, which lanes gain nothing from, in half the time."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.function.attributes.add("optsize")
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


def workspace(groups: int) -> Array:
    """Return room for that many groups of 8 lanes, beginning at a cache line, so that none straddles two."""
    room = np.zeros(groups * WIDTH + _LINE // 8)
    skip = (-room.__array_interface__["data"][0] % _LINE) // 8
    return room[skip : skip + groups * WIDTH]


@snippet
def gather(rows: Any, first: int, index: Any, width: int, B: Any, at: int) -> None:
    """Write ``width`` rows of a table, from ``first`` on, side by side: entry k of lane l goes to ``at + k * width + l``.

    Where an index is given they are the rows it lists from there on. At the end the last one is repeated.
    """
    listed = index.shape[0] > 0
    last = (index.shape[0] if listed else rows.shape[0]) - 1
    for lane in range(width):
        row = min(first + lane, last)
        if listed:
            row = index[row]
        for k in range(rows.shape[1]):
            B[at + k * width + lane] = rows[row, k]
