"""Tokenizer kernels for ASCII-only documents, which process 32 bytes at a time.

`tokenizer` takes this path where it can. One vector instruction finds which of 32 bytes belong to words. The loop then
jumps from one word boundary to the next instead of from letter to letter, and reads a word's first letters at once.
Numba offers neither operation, so both are written as LLVM intrinsics here, each next to a plain function that does the
same.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from thresher.kernels.compiler import BOUNDSCHECK, COMPILED, kernel

STRIDE = 32  # bytes processed together; this number of bytes must follow the text
MAX_TOKEN_LETTERS = 64
KEY_LETTERS = 7
PRIME = 16777619  # the 32-bit FNV prime; products stay below 2**57
_EIGHT = 8

Bytes = NDArray[np.uint8]


# -- which bytes belong to words ---------------------------------------------------------------------------------------


def _word_bits_plain(text: Bytes, place: int, low: Bytes) -> int:
    """Write the lowercase form of 32 bytes, and return a bit mask of the letters and digits among them.

    The 32 bytes may reach into other documents, which may not be ASCII. Bytes lose their high bit, so that eight in a
    row are never a negative number.
    """
    bits = 0
    for k in range(STRIDE):
        byte = int(text[place + k])
        upper = ord("A") <= byte <= ord("Z")
        low[place + k] = (byte + 32 if upper else byte) & 0x7F
        if upper or ord("a") <= byte <= ord("z") or ord("0") <= byte <= ord("9"):
            bits |= 1 << k
    return bits


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _word_bits_compiled(_typing: Any, text: Any, place: Any, low: Any) -> Any:
    """Do the same with vector instructions."""
    signature = types.int64(text, place, low)
    vector = ir.VectorType(ir.IntType(8), STRIDE)

    def all_of(number: int) -> Any:
        return ir.Constant(vector, [number] * STRIDE)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_address(context, builder, signature, arguments, 0, vector))
        loaded.align = 1

        def within(values: Any, first: str, count: int) -> Any:
            return builder.icmp_unsigned("<", builder.sub(values, all_of(ord(first))), all_of(count))

        lowered = builder.add(loaded, builder.select(within(loaded, "A", 26), all_of(32), all_of(0)))
        where = _address(context, builder, signature, arguments, 2, vector)
        builder.store(builder.and_(lowered, all_of(0x7F)), where).align = 1
        of_words = builder.or_(within(lowered, "a", 26), within(lowered, "0", 10))
        return builder.zext(builder.bitcast(of_words, ir.IntType(STRIDE)), ir.IntType(64))

    return signature, generate


# -- eight bytes at once -----------------------------------------------------------------------------------------------


def _load_eight_plain(source: Bytes, place: int) -> int:
    """Return eight bytes as a little-endian integer."""
    number = 0
    for k in range(_EIGHT):
        number |= int(source[place + k]) << 8 * k
    return number


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _load_eight_compiled(_typing: Any, source: Any, place: Any) -> Any:
    signature = types.int64(source, place)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_address(context, builder, signature, arguments, 0, ir.IntType(64)))
        loaded.align = 1
        return loaded

    return signature, generate


def _store_eight_plain(number: int, place: int, target: Bytes) -> None:
    """Write an integer as eight little-endian bytes."""
    for k in range(_EIGHT):
        target[place + k] = number >> 8 * k & 0xFF


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _store_eight_compiled(_typing: Any, number: Any, place: Any, target: Any) -> Any:
    signature = types.void(types.int64, place, target)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where = _address(context, builder, signature, arguments, 2, ir.IntType(64))
        builder.store(arguments[0], where).align = 1
        return context.get_dummy_value()

    return signature, generate


def _lowest_bit_plain(bits: int) -> int:
    """Return the position of the lowest set bit."""
    place = 0
    while not bits >> place & 1:
        place += 1
    return place


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _lowest_bit_compiled(_typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _address(context: Any, builder: Any, signature: Any, arguments: Any, array: int, kind: Any) -> Any:
    """Return a pointer into an array argument, at the position that the second argument gives."""
    data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
    place = context.cast(builder, arguments[1], signature.args[1], types.int64)
    return builder.bitcast(builder.gep(data, [place]), kind.as_pointer())


def _chosen(compiled: Any, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return the implementation to use.

    Numba compiles the plain function if bounds are to be checked, as it cannot check intrinsics.
    """
    if not COMPILED:
        return plain
    return kernel(plain) if BOUNDSCHECK else compiled


word_bits = _chosen(_word_bits_compiled, _word_bits_plain)
load_eight = _chosen(_load_eight_compiled, _load_eight_plain)
store_eight = _chosen(_store_eight_compiled, _store_eight_plain)
lowest_bit = _chosen(_lowest_bit_compiled, _lowest_bit_plain)


# -- words -------------------------------------------------------------------------------------------------------------


@kernel
def find_edges(text: Bytes, start: int, stop: int, low: Bytes, edges: NDArray[np.int64]) -> int:
    """Write the start and end of each word in turn into `edges`, and the lowercase text into `low`.

    The byte at `stop` counts as a separator. Return the number of edges.
    """
    n_edges = before = 0
    for place in range(start, stop + 1, STRIDE):
        bits = word_bits(text, place, low)
        if stop - place < STRIDE:
            bits &= (1 << (stop - place)) - 1
        changes = bits ^ (bits << 1 & 0xFFFFFFFF | before)
        before = bits >> STRIDE - 1
        while changes:
            edges[n_edges] = place + lowest_bit(changes)
            changes &= changes - 1
            n_edges += 1
    return n_edges


@kernel
def write_words(
    low: Bytes,
    edges: NDArray[np.int64],
    n_edges: int,
    count: int,
    place: int,
    letters: Bytes,
    stops: NDArray[np.int64],
    keys: NDArray[np.int64],
    rests: NDArray[np.int64],
) -> int:
    """Append the words between edges to the `count` existing tokens, whose letters end at `place`.

    Words are cut after 64 letters. Keys and rests are those of `tokenizer.take_letters`. Return where the letters of
    the new tokens end.
    """
    for edge in range(0, n_edges, 2):
        start = edges[edge]
        size = min(edges[edge + 1] - start, MAX_TOKEN_LETTERS)
        first = load_eight(low, start)
        store_eight(first, place, letters)
        key, rest = first & ((1 << 8 * min(size, KEY_LETTERS)) - 1), 0
        if size > KEY_LETTERS:
            for k in range(_EIGHT, size, _EIGHT):
                store_eight(load_eight(low, start + k), place + k, letters)
            for k in range(start + KEY_LETTERS, start + size):
                rest = ((rest ^ int(low[k])) * PRIME) & 0xFFFFFFFF
        place += size
        stops[count] = place
        keys[count] = key | min(size, KEY_LETTERS + 1) << 8 * KEY_LETTERS
        rests[count] = rest
        count += 1
    return place
