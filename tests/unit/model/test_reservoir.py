"""The documents that a model keeps are a fair sample, and what is known of a text is put together."""

import numpy as np

from thresher.model.reservoir import MAX_SAMPLED, Reservoir, SampledDocument


def document(number: int, categories: frozenset[int] = frozenset(), complete: bool = True) -> SampledDocument:
    return SampledDocument(np.array([number], dtype=np.int32), np.ones(1, dtype=np.float32), categories, complete)


def test_every_document_has_a_fair_chance() -> None:
    reservoir, total = Reservoir(), 20_000
    for number in range(total):
        reservoir.add(document(number))
    kept = np.array([int(kept.indices[0]) for kept in reservoir.documents])
    assert len(kept) == len(set(kept.tolist())) == MAX_SAMPLED
    share, _ = np.histogram(kept, bins=5, range=(0, total))
    assert (np.abs(share - MAX_SAMPLED / 5) < 4 * np.sqrt(MAX_SAMPLED / 5)).all()


def test_the_same_documents_give_the_same_sample() -> None:
    samples = []
    for _ in range(2):
        reservoir = Reservoir()
        for number in range(1000):
            reservoir.add(document(number))
        samples.append([int(kept.indices[0]) for kept in reservoir.documents])
    assert samples[0] == samples[1]


def test_categories_of_the_same_text_are_merged() -> None:
    reservoir = Reservoir()
    reservoir.add(document(1, frozenset({0}), complete=False))
    joined = reservoir.add(document(1, frozenset({2}), complete=False))
    assert joined.categories == {0, 2}
    assert not joined.complete
    assert reservoir.add(document(1, frozenset({5}), complete=True)).categories == {5}
    assert len(reservoir.documents) == 1
    assert reservoir.seen == 3
