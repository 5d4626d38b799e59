"""The score of one document for a block of categories at once, with one category per SIMD lane.

The lanes stay in vector registers for the whole document. Numba's own loops keep such accumulators in memory, which was
measured to be six times slower, so the loop is written with LLVM vector types. It makes one product and one sum per
feature, in document order and rounded separately. So each lane has the result of a plain loop over its category.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from thresher.kernels.compiler import BOUNDSCHECK, COMPILED, kernel


def _score_lanes_interpreted(
    indices: NDArray[np.int32],
    strengths: NDArray[np.float32],
    start: int,
    stop: int,
    weight: NDArray[np.float32],
    width_tag: tuple[int, ...],
    scores: NDArray[np.float32],
) -> None:
    """Write the sum of strength x weight over the entries `start` to `stop` into `scores`, for every lane."""
    scores[:] = np.float32(0)
    for j in range(start, stop):
        scores += strengths[j] * weight[indices[j]]


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _score_lanes_compiled(
    _typing: Any, indices: Any, strengths: Any, start: Any, stop: Any, weight: Any, width_tag: Any, scores: Any
) -> Any:
    """Write the same sums; the number of lanes is the length of the tuple, which is known at compile time."""
    signature = types.void(indices, strengths, start, stop, weight, width_tag, scores)
    vector = ir.VectorType(ir.FloatType(), width_tag.count)
    zeros = ir.Constant(vector, [0.0] * width_tag.count)
    int32, int64 = ir.IntType(32), ir.IntType(64)
    first_lane = ir.Constant(ir.VectorType(int32, width_tag.count), [0] * width_tag.count)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def pointer(position: int) -> Any:
            return context.make_array(signature.args[position])(context, builder, arguments[position]).data

        features, values = pointer(0), pointer(1)
        weights = builder.bitcast(pointer(4), vector.as_pointer())
        output = builder.bitcast(pointer(6), vector.as_pointer())
        total = builder.alloca(vector)
        builder.store(zeros, total)
        with cgutils.for_range_slice(builder, arguments[2], arguments[3], int64(1), inc=True) as (j, _):
            feature = builder.sext(builder.load(builder.gep(features, [j])), int64)
            value = builder.insert_element(zeros, builder.load(builder.gep(values, [j])), int32(0))
            weight_row = builder.load(builder.gep(weights, [feature]))
            weight_row.align = 4
            product = builder.fmul(builder.shuffle_vector(value, zeros, first_lane), weight_row)
            builder.store(builder.fadd(builder.load(total), product), total)
        builder.store(builder.load(total), output).align = 4
        return context.get_dummy_value()

    return signature, generate


@kernel
def _score_lanes_checked(
    indices: NDArray[np.int32],
    strengths: NDArray[np.float32],
    start: int,
    stop: int,
    weight: NDArray[np.float32],
    width_tag: tuple[int, ...],
    scores: NDArray[np.float32],
) -> None:
    """Write the same sums in a loop that Numba can check for out-of-bounds access."""
    scores[:] = np.float32(0)
    for j in range(start, stop):
        for lane in range(len(width_tag)):
            scores[lane] += strengths[j] * weight[indices[j], lane]


_COMPILED_LOOP = _score_lanes_checked if BOUNDSCHECK else _score_lanes_compiled
score_lanes: Callable[..., None] = _COMPILED_LOOP if COMPILED else _score_lanes_interpreted
