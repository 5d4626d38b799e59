"""The vocabulary is a dict from names to numbers in the order of first sight, with a cap."""

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.kernels import hash_table as kernels
from thresher.kernels.compiler import COMPILED
from thresher.kernels.tokenizer import Tokens
from thresher.text import vocabulary as vocabulary_module
from thresher.text.tokens import make_tokens, tokenize
from thresher.text.vocabulary import Vocabulary, make_entries

MANY = 100_000 if COMPILED else 3_000
FEW = settings(max_examples=150 if COMPILED else 20, deadline=None)

names_in_few_letters = st.lists(st.text("abé漢𐐨", max_size=4), max_size=60)


def tokens(names: Sequence[str]) -> Tokens:
    return make_tokens(names)._replace(documents=np.array([len(names)]))


def numbers(vocabulary: Vocabulary, names: Sequence[str], grow: bool = True) -> list[int]:
    return [int(number) for number in vocabulary.look_up(tokens(names), grow)]


def by_dict(names: Sequence[str], known: dict[str, int], most: int) -> list[int]:
    found = []
    for name in names:
        if name not in known and len(known) < most:
            known[name] = len(known)
        found.append(known.get(name, -1))
    return found


@FEW
@given(st.lists(names_in_few_letters, max_size=4), st.integers(0, 30))
def test_numbers_are_those_of_a_dict(streams: list[list[str]], most: int) -> None:
    vocabulary, known = Vocabulary(most), dict[str, int]()
    for stream in streams:
        assert numbers(vocabulary, stream) == by_dict(stream, known, most)
    assert vocabulary.names == list(known)
    assert vocabulary.count == len(known)


def test_the_table_grows_through_many_doublings() -> None:
    names = [f"name{i * 7919 % MANY}" for i in range(MANY)]
    vocabulary = Vocabulary()
    assert numbers(vocabulary, names) == list(range(MANY))
    assert numbers(vocabulary, names[::-1], grow=False) == list(range(MANY))[::-1]
    assert vocabulary.names == names


def test_a_name_longer_than_the_table_finds_room() -> None:
    vocabulary = Vocabulary()
    long = "x" * 100_000
    assert numbers(vocabulary, ["a", long, "b", long]) == [0, 1, 2, 1]
    assert vocabulary.names == ["a", long, "b"]


@pytest.mark.parametrize("most", [0, 1, 1023, 1024, 1025, 2048])
def test_names_beyond_the_cap_are_unknown(most: int) -> None:
    vocabulary = Vocabulary(most)
    names = [f"n{i}" for i in range(most + 1)]
    for _ in range(2):
        assert numbers(vocabulary, names) == [*range(most), -1]
    assert vocabulary.names == names[:most]


def test_without_growing_nothing_changes() -> None:
    vocabulary = Vocabulary()
    assert numbers(vocabulary, ["a", "b"], grow=False) == [-1, -1]
    assert vocabulary.names == []
    numbers(vocabulary, ["a"])
    assert numbers(vocabulary, ["b", "a", "c"], grow=False) == [-1, 0, -1]
    assert vocabulary.names == ["a"]
    assert numbers(vocabulary, ["c", "b"]) == [1, 2]


@FEW
@given(st.lists(st.text("abé漢𐐨", max_size=4), unique=True, max_size=40), st.text("abé漢𐐨", max_size=5))
def test_a_vocabulary_comes_back_from_its_names(names: list[str], other: str) -> None:
    vocabulary = Vocabulary()
    numbers(vocabulary, names)
    again = Vocabulary.from_names(vocabulary.letters.copy(), vocabulary.stops.copy())
    assert again.names == names
    assert numbers(again, names) == list(range(len(names)))
    assert numbers(again, [other]) == [names.index(other) if other in names else len(names)]
    assert again.letters.tobytes() == "".join(again.names).encode()


def test_chosen_names_are_numbered_in_the_order_of_choice() -> None:
    vocabulary = Vocabulary(4)
    numbers(vocabulary, ["öl", "a", "漢字", ""])
    chosen = vocabulary.select(np.array([2, 0, 3]))
    assert chosen.names == ["漢字", "öl", ""]
    assert numbers(chosen, ["a", "öl", "漢字", "", "b"]) == [3, 1, 0, 2, -1]
    assert vocabulary.names == ["öl", "a", "漢字", ""]
    assert vocabulary.select(np.zeros(0, dtype=np.int64)).names == []


def test_names_differ_by_every_byte() -> None:
    names = ["é", "è", "e", "éé", "é\0", "\0", "", "e\u0301", "漢", "𐐨"]
    assert numbers(Vocabulary(), names) == list(range(len(names)))


def test_a_name_is_not_the_beginning_of_another() -> None:
    assert numbers(Vocabulary(), ["abc", "ab", "a", "bc", "abc", "ab"]) == [0, 1, 2, 3, 0, 1]


def test_an_empty_list_of_tokens_has_no_numbers() -> None:
    vocabulary = Vocabulary()
    assert numbers(vocabulary, []) == []
    assert vocabulary.count == 0
    assert vocabulary.letters.size == 0
    assert vocabulary.stops.size == 0


def test_names_that_collide_in_the_low_bits_keep_their_own_numbers() -> None:
    candidates = [f"n{i}" for i in range(12_000)]
    data = tokens(candidates)
    keys, rests = np.empty(len(candidates), dtype=np.int64), np.empty(len(candidates), dtype=np.int64)
    kernels.make_keys(data.letters, data.stops, keys, rests)
    pairs = zip(keys.tolist(), rests.tolist(), strict=True)
    slots = [kernels.hash_name(key, rest, vocabulary_module.SEEDS) & 0x3FF for key, rest in pairs]
    commonest = max(set(slots), key=slots.count)
    colliding = [name for name, slot in zip(candidates, slots, strict=True) if slot == commonest]
    assert len(colliding) >= 12
    for reserved in ([], candidates[:2000]):
        vocabulary = Vocabulary()
        known = by_dict(reserved + colliding, {}, MANY)
        assert numbers(vocabulary, reserved + colliding) == known
        assert numbers(vocabulary, reserved + colliding, grow=False) == known


def test_a_vocabulary_of_another_process_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its table came by pickle, with hashes that were made of other seeds."""
    names = [f"n{i}" for i in range(1000)]
    vocabulary = Vocabulary.from_names(tokens(names).letters, tokens(names).stops)
    there = pickle.dumps(vocabulary)
    monkeypatch.setattr(vocabulary_module, "SEEDS", tuple(seed ^ 2 for seed in vocabulary_module.SEEDS))
    here = pickle.loads(there)
    assert numbers(here, [*names, "new", "n7"]) == [*range(1000), 1000, 7]
    assert numbers(here, [*names, "new"], grow=False) == [*range(1001)]


def test_names_of_one_hash_keep_their_own_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_python(kernel: Callable[..., Any]) -> Callable[..., Any]:
        return getattr(kernel, "py_func", kernel)

    monkeypatch.setattr(kernels, "hash_name", lambda key, rest, seeds: 4095)  # the last slot of the table
    for name in ("add_names", "find_names", "hash_names"):
        monkeypatch.setattr(vocabulary_module, name, in_python(getattr(kernels, name)))
    names = ["a", "b", "ab", "ba", "", "b", "a", "é"]
    vocabulary = Vocabulary()
    assert numbers(vocabulary, names) == [0, 1, 2, 3, 4, 1, 0, 5]
    again = Vocabulary.from_names(vocabulary.letters.copy(), vocabulary.stops.copy())
    assert numbers(again, [*names, "c"]) == [0, 1, 2, 3, 4, 1, 0, 5, 6]


@FEW
@given(st.lists(st.lists(st.integers(-1, 9), max_size=12), max_size=5))
def test_entries_count_each_document_s_numbers_in_the_order_of_first_sight(documents: list[list[int]]) -> None:
    flat = np.array([number for document in documents for number in document], dtype=np.int32)
    ends = np.cumsum([len(document) for document in documents], dtype=np.int64)
    found, stops = make_entries(flat, ends.copy(), 10)
    start = 0
    for document, stop in zip(documents, stops.tolist(), strict=True):
        known = [number for number in document if number >= 0]
        expected = [(number, known.count(number)) for number in dict.fromkeys(known)]
        assert [(entry >> 32, entry & 0xFFFFFFFF) for entry in found[start:stop].tolist()] == expected
        start = stop


def test_a_lookup_does_not_undo_what_another_thread_has_added(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Vocabulary()
    known.look_up(tokenize(["oil and gas"]))

    def meanwhile(*given: Any) -> Any:
        found = kernels.number_and_count(*given)
        known.look_up(tokenize(["gold"]))  # as another thread may
        return found

    monkeypatch.setattr(vocabulary_module, "number_and_count", meanwhile)
    known.count_tokens(tokenize(["oil"]), grow=False)
    assert known.names == ["oil", "and", "gas", "gold"]
