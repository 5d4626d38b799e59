"""Tokens made from tokens: n-grams, sparse n-grams, sets and pieces of words, prefixed and replaced words."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.ngrams import cut_names, join_names, measure_joined, order_pairs
from thresher.kernels.tokenizer import NONE, Tokens
from thresher.text.tokens import encode, gather_names

# Marks between the members of a name. No token contains one, so names of different kinds never collide.
SPACE, TILDE, AMPERSAND, COLON = map(ord, " ~&:")
MAX_DISTANCE_IN_SENTENCE, MAX_DISTANCE_IN_DOCUMENT = 40, 100
MAX_WORDS_IN_SETS = 2000  # words of a document that are paired, as pairs take much memory
MAX_CHOICES = 2**20  # choices of words per document; words that would begin more are left out


def expand_documents(tokens: Tokens) -> NDArray[np.int64]:
    """Return the document number of each token."""
    return np.repeat(np.arange(len(tokens.documents)), np.diff(tokens.documents, prepend=0))


def concatenate_parts(parts: list[Tokens]) -> Tokens:
    """Return the names of all parts of one document, one after another and without positions."""
    stops, length = [], 0
    for part in parts:
        stops.append(part.stops + length)
        length += len(part.letters)
    letters, ends = np.concatenate([part.letters for part in parts]), np.concatenate(stops)
    return Tokens(letters, ends, documents=np.array([len(ends)]))


def join_tokens(tokens: Tokens, members: NDArray[np.int64], mark: int) -> Tokens:
    """Return one token per row of members, with the mark between their names; the members of a row share a document."""
    owners = expand_documents(tokens)[members[:, -1]]
    order = np.argsort(owners, kind="stable")
    members = np.ascontiguousarray(members[order])
    letters, stops = join_rows(tokens.letters, tokens.stops, members, mark)
    return _locate(tokens, members, owners[order], letters, stops)


def join_rows(
    letters: NDArray[np.uint8], stops: NDArray[np.int64], members: NDArray[np.int64], mark: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the names of each row of members, joined by the mark and concatenated."""
    joined_letters = np.empty(measure_joined(stops, members), dtype=np.uint8)
    joined_stops = np.empty(len(members), dtype=np.int64)
    join_names(letters, stops, members, mark, joined_letters, joined_stops)
    return joined_letters, joined_stops


def _locate(
    tokens: Tokens,
    members: NDArray[np.int64],
    owners: NDArray[np.int64],
    letters: NDArray[np.uint8],
    stops: NDArray[np.int64],
) -> Tokens:
    documents = np.cumsum(np.bincount(owners, minlength=len(tokens.documents)))
    if len(tokens.starts) == 0:
        return Tokens(letters, stops, documents=documents)
    starts, ends = tokens.starts[members].min(axis=1), tokens.ends[members].max(axis=1)
    return Tokens(letters, stops, NONE, NONE, starts, ends, tokens.sentences[members[:, -1]], documents)


def _select_within(tokens: Tokens, members: NDArray[np.int64], sentence: bool = False) -> NDArray[np.int64]:
    """Return the rows of members that are in one document or, if `sentence`, in one sentence."""
    if len(tokens.stops) == 0:
        return members[:0]
    members = members[members.max(axis=1) < len(tokens.stops)]
    documents = expand_documents(tokens)
    same = documents[members[:, 0]] == documents[members[:, -1]]
    if sentence:
        same &= tokens.sentences[members[:, 0]] == tokens.sentences[members[:, -1]]
    return np.asarray(members[same])


def make_ngrams(tokens: Tokens, n: int) -> Tokens:
    """Return the runs of n tokens, such as "crude oil"."""
    members = np.arange(len(tokens.stops))[:, None] + np.arange(n)
    return join_tokens(tokens, _select_within(tokens, members), SPACE)


def make_sparse_ngrams(tokens: Tokens, n: int, window: int) -> Tokens:
    """Return all ordered choices of n tokens within a window, such as "oil~rose" (Cohen and Singer, 1996)."""
    shapes = [np.array((0, *rest)) for rest in combinations(range(1, window), n - 1)]
    tokens = _truncate(tokens, MAX_CHOICES // len(shapes))
    members = np.concatenate([np.arange(len(tokens.stops))[:, None] + shape for shape in shapes])
    return join_tokens(tokens, _select_within(tokens, members), TILDE)


def make_word_sets(tokens: Tokens, within: str) -> Tokens:
    """Return the unordered pairs of different words in a sentence or document, such as "oil&price".

    Words that are too far apart are not paired.
    """
    farthest = MAX_DISTANCE_IN_SENTENCE if within == "sentence" else MAX_DISTANCE_IN_DOCUMENT
    tokens = _truncate(tokens, MAX_WORDS_IN_SETS)
    gaps = np.stack((np.zeros(farthest, dtype=np.int64), np.arange(1, farthest + 1)), axis=1)
    members = (np.arange(len(tokens.stops))[:, None, None] + gaps).reshape(-1, 2)
    pairs = np.ascontiguousarray(_select_within(tokens, members, within == "sentence"))
    different = order_pairs(tokens.letters, tokens.stops, pairs)
    return join_tokens(tokens, pairs[:different], AMPERSAND)


def _truncate(tokens: Tokens, most: int) -> Tokens:
    """Return only the first `most` tokens of each document."""
    counts = np.diff(tokens.documents, prepend=0)
    if counts.max(initial=0) <= most:
        return tokens
    numbers = np.arange(len(tokens.stops)) - np.repeat(tokens.documents - counts, counts)
    chosen = np.flatnonzero(numbers < most)
    places = (array[chosen] if len(array) else array for array in tokens[4:7])
    letters, stops = gather_names(tokens.letters, tokens.stops, chosen)
    return Tokens._make([letters, stops, NONE, NONE, *places, np.cumsum(np.minimum(counts, most))])


def prefix_tokens(tokens: Tokens, prefixes: Sequence[str], which: NDArray[np.int64]) -> Tokens:
    """Return the tokens with a field's name in front, such as "title:oil"; `which` gives the prefix of each token."""
    before = encode(prefixes)
    lengths = np.array([len(prefix) for prefix in before], dtype=np.int64)
    letters = np.concatenate((np.frombuffer(b"".join(before), dtype=np.uint8), tokens.letters))
    stops = np.concatenate((np.cumsum(lengths), tokens.stops + lengths.sum()))
    members = np.stack((which, len(prefixes) + np.arange(len(tokens.stops))), axis=1)
    named, named_stops = join_rows(letters, stops, members, COLON)
    return tokens._replace(letters=named, stops=named_stops, keys=NONE, rests=NONE)


def cut_pieces(tokens: Tokens, low: int, high: int) -> Tokens:
    """Return the runs of low to high characters of each token, padded with underscores, such as "#_oil"."""
    most = (high - low + 1) * (len(tokens.letters) + 2 * len(tokens.stops))
    letters, stops, owners = (
        np.empty(most * (4 * high + 1), np.uint8),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    count = cut_names(tokens.letters, tokens.stops, (low, high), letters, stops, owners)
    owners = owners[:count]
    documents = expand_documents(tokens)[owners]
    return _locate(tokens, owners[:, None], documents, letters[: stops[count - 1] if count else 0], stops[:count])


def replace_names(
    tokens: Tokens, numbers: NDArray[np.int32], letters: NDArray[np.uint8], stops: NDArray[np.int64]
) -> Tokens:
    """Return the tokens with each name replaced by that of its number; tokens with an empty name are dropped."""
    is_kept = np.diff(stops, prepend=0)[numbers] > 0
    documents = np.cumsum(np.bincount(expand_documents(tokens)[is_kept], minlength=len(tokens.documents)))
    starts, ends, sentences = (array[is_kept] if len(array) else array for array in tokens[4:7])
    return Tokens(*gather_names(letters, stops, numbers[is_kept]), NONE, NONE, starts, ends, sentences, documents)
