"""Model files with something changed, each by a seed: bytes of any file, or contents whose digest is right again.

    PYTHONPATH=tests python -m fuzz.mutants FIRST LAST

reads the mutants of these seeds in one process, and prints the figures. The seed of the mutant that is being read
stands in the file that THRESHER_MUTANT names, for whoever finds the process dead.
"""

import json
import os
import random
import resource
import sys
import time
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fuzz import models
from thresher import Categorizer
from thresher.model_file import packing
from thresher.model_file.compress import estimate_file_size

Arrays = dict[str, NDArray[Any]]
TEXTS = ["crude oil rose", "oil and gas", "wheat and corn", "Wheat harvest\nrose", "gold mine", "silver, gold"] * 2
NAMES = [["energy"], ["energy"], ["grain"], ["grain", "trade"], ["metal"], []] * 2
ROOM, LONGEST = 64 * 2**20, 5.0  # bytes in addition to the file, and seconds of one processor, that a mutant may take
KINDS: dict[str, dict[str, Any]] = {
    "fast": {"preset": "fast"},
    "default": {},
    "paper": {"preset": "paper"},
    "paper, averaged": {"preset": "paper", "average": True, "discard": True, "discard_by_pass": 1},
    "positive winnow": {"learner": "positive-winnow", "average": True},
    "perceptron": {"learner": "perceptron", "strength": "tfidf", "thresholds": "recall:0.9"},
    "sparse": {"preset": "fast", "sparse": True},
    "sparse and balanced": {"learner": "balanced-winnow", "sparse": True, "average": True},
    "views": {"preset": "fast", "analyser": "words+ngrams:2+chars:3-3+title", "policy": "exactly-one"},
    "late words": {"preset": "paper", "late_start": "initial", "threshold_range": None, "discard": False},
    "compressed": {"preset": "fast"},
    "unfitted": {"policy": "at-most-2"},
}


def fitted(kind: str) -> Categorizer:
    """Return a small model of a kind."""
    model = Categorizer(**({"min_count": 1} | KINDS[kind]))
    if kind == "unfitted":
        return model
    model.fit(TEXTS, NAMES)
    model.learn("new words: größer, нефть", accept=["Ölpreise"], reject=["grain"])
    if kind == "compressed":
        model.compress(estimate_file_size(model.state) - 200)
    return model


@cache
def originals() -> list[bytes]:
    """Return a file of each kind."""
    return [file for kind in KINDS if (file := models.packed(*packing.pack(fitted(kind).state))) is not None]


# -- what is changed ---------------------------------------------------------------------------------------------------


def mutant(seed: int) -> bytes:
    """Return one of the originals, changed."""
    draw = random.Random(seed)
    return mutated(draw.choice(originals()), draw)


def mutated(data: bytes, draw: random.Random) -> bytes:
    """Change bytes anywhere or, of a file that can be read, its contents."""
    changed = with_other_contents(data, draw) if draw.random() < 0.6 else None
    return damaged(data, draw) if changed is None else changed


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Flip one or two bytes, cut the end, double a part, or edit the length or a digit of the header."""
    octets = bytearray(data)
    kind = draw.randrange(6)
    if kind == 0:
        return data[: draw.randrange(len(data))]
    if kind == 1:
        octets[:8] = draw.choice([draw.randrange(2 * len(data)), draw.getrandbits(64)]).to_bytes(8, "little")
    elif kind == 2:
        begin, end = sorted(draw.choices(range(len(data)), k=2))
        octets[begin:begin] = octets[begin:end]
    elif kind == 3:
        digits = [place for place, octet in enumerate(octets) if chr(octet) in "0123456789"]
        octets[draw.choice(digits or [0])] = draw.choice(b"0123456789-.e")
    else:
        for _ in range(kind - 3):
            octets[draw.randrange(len(data))] ^= draw.randrange(1, 256)
    return bytes(octets)


def with_other_contents(data: bytes, draw: random.Random) -> bytes | None:
    """Return a file of the same contents but for one to three changes, with the digest of what they are now."""
    found = models.contents_of(data)
    if found is None:
        return None
    settings, arrays = deepcopy(found.settings), dict(found.arrays)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        if draw.random() < 0.4 or not arrays:
            change_json(settings, draw)
        else:
            draw.choice(ARRAY_CHANGES)(arrays, draw.choice(sorted(arrays)), draw)
    return models.packed(settings, arrays)


VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 1000, 2**31, 2**53 + 1, 2**63, -(2**63), 10**30, 0.0, -0.0, 0.5, 1e-300, 1e300,
    -1.5, "", "words", "paper", "fast", "sparse:3:9", "at-most-0", "at-most-99999999999", "exactly-one",
    "auto", "f1", "precision:2", "cosine", "tfidf", "(a.b)", "\0", "é" * 300, [], {}, [[]],
    [0.0, 1.0], [1e300, -1e300], {"a": 1}, "balanced-winnow", "perceptron", "zero", "initial", "thorough",
]  # fmt: skip


def change_json(value: Any, draw: random.Random) -> None:
    """Change something in an object or a list, at any depth: another value, one more or one less."""
    while True:
        places = list(value) if isinstance(value, dict) else list(range(len(value)))
        inner = [place for place in places if isinstance(value[place], dict | list) and value[place]]
        if not inner or draw.random() < 0.4:
            break
        value = value[draw.choice(inner)]
    kind = draw.randrange(5)
    if kind == 0 and places:
        del value[draw.choice(places)]
    elif kind == 1 and isinstance(value, dict):
        value[draw.choice(["extra", "bias", "sparse", "choices", "n_threads", "seed"])] = draw.choice(VALUES)
    elif places:
        place = draw.choice(places)
        old = value[place]
        near = isinstance(old, int | float) and draw.random() < 0.4
        value[place] = draw.choice([old + 1, old - 1, -old, old * 2, float(old)]) if near else draw.choice(VALUES)


def put(arrays: Arrays, name: str, draw: random.Random) -> None:
    """Put an odd value into a place, or that of another place."""
    array = arrays[name].copy()
    if array.size:
        flat = array.reshape(-1)
        odd: list[Any] = [0, 1, flat[draw.randrange(flat.size)]]
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            near = int(flat[draw.randrange(flat.size)])
            odd += [limits.min, limits.max, max(near - 1, int(limits.min)), min(near + 1, int(limits.max))]
        elif array.dtype.kind == "f":
            odd += [np.nan, np.inf, -np.inf, -1.5, np.finfo(array.dtype).max, np.finfo(array.dtype).tiny, 1e-45, -0.0]
        flat[draw.randrange(flat.size)] = draw.choice(odd)
        arrays[name] = array


def flip(arrays: Arrays, name: str, draw: random.Random) -> None:
    octets = bytearray(arrays[name].tobytes())
    if octets and arrays[name].dtype != np.bool_:
        octets[draw.randrange(len(octets))] ^= 1 << draw.randrange(8)
        arrays[name] = np.frombuffer(bytes(octets), arrays[name].dtype).reshape(arrays[name].shape)


def resize(arrays: Arrays, name: str, draw: random.Random) -> None:
    array = arrays[name]
    kind = draw.randrange(4)
    if kind == 0:
        arrays[name] = array[: draw.randrange(len(array) + 1)]
    elif kind == 1 and array.size:
        arrays[name] = np.concatenate([array, array[: draw.randrange(1, len(array) + 1)]])
    elif kind == 2:
        arrays[name] = array[:0]
    elif array.size:
        arrays[name] = np.delete(array, draw.randrange(len(array)), axis=0)


def reshape(arrays: Arrays, name: str, draw: random.Random) -> None:
    array = arrays[name]
    shapes = [(array.size, 1), (1, array.size), (array.size,), (array.size, 1, 1), (0, array.size)]
    shape = draw.choice(shapes)
    arrays[name] = array.reshape(shape) if 0 not in shape or not array.size else array.reshape(-1)[:0].reshape(shape)


def retype(arrays: Arrays, name: str, draw: random.Random) -> None:
    """Take an array's bytes, or its values, for those of another type."""
    array, other = arrays[name], np.dtype(draw.choice(["b1", "u1", "i1", "i4", "i8", "f4", "f8"]))
    if draw.random() < 0.5 and array.nbytes % other.itemsize == 0 and other != np.bool_:
        arrays[name] = np.frombuffer(array.tobytes(), other)
    else:
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(other)


def drop(arrays: Arrays, name: str, draw: random.Random) -> None:
    del arrays[name]


def rename(arrays: Arrays, name: str, draw: random.Random) -> None:
    arrays[draw.choice(["extra", "decisions.rivalry", "weights.moment", name[::-1]])] = arrays.pop(name)


def exchange(arrays: Arrays, name: str, draw: random.Random) -> None:
    other = draw.choice(sorted(arrays))
    arrays[name], arrays[other] = arrays[other], arrays[name]


def disorder(arrays: Arrays, name: str, draw: random.Random) -> None:
    """Exchange two values, or turn all round."""
    array = arrays[name].copy()
    if array.ndim and len(array) > 1:
        one, two = draw.sample(range(len(array)), 2)
        array[[one, two]] = array[[two, one]]
        arrays[name] = array if draw.random() < 0.7 else np.ascontiguousarray(array[::-1])


ARRAY_CHANGES: list[Callable[[Arrays, str, random.Random], None]] = [
    put, put, put, put, flip, flip, resize, resize, reshape, retype, drop, rename, exchange, disorder
]  # fmt: skip


# -- reading them ------------------------------------------------------------------------------------------------------


class Figures(NamedTuple):
    """What became of mutants: how many there were, how many were taken, and what reading them took at the most."""

    mutants: int
    taken: int
    room: int
    seconds: float


def peak() -> int:
    """Return the most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def read(first: int, last: int, note: Callable[[int], object]) -> Figures:
    """Read the mutants of seeds; anything but a refusal or a model that works ends it with the seed in the error."""
    for original in originals():
        models.load_and_use(original)
    begun, taken, longest, most = peak(), 0, 0.0, 0
    for seed in range(first, last):
        note(seed)
        data = mutant(seed)
        before = time.process_time()
        try:
            taken += models.load_and_use(data)
        except Exception as error:
            raise AssertionError(f"mutant {seed}: {type(error).__name__}: {error}") from error
        longest, most = max(longest, time.process_time() - before), max(most, peak() - begun - len(data))
        assert longest < LONGEST, f"mutant {seed} took {longest:.1f} s"
        assert most < ROOM, f"mutant {seed} took {most >> 20} MB more than its file has"
    return Figures(last - first, taken, most, longest)


def main() -> None:
    """Read mutants in this process, and print the figures as JSON."""
    place = os.open(os.environ.get("THRESHER_MUTANT", os.devnull), os.O_WRONLY | os.O_CREAT, 0o600)
    figures = read(int(sys.argv[1]), int(sys.argv[2]), lambda seed: os.pwrite(place, b"%-20d" % seed, 0))
    print(json.dumps(figures._asdict()))


if __name__ == "__main__":
    main()
