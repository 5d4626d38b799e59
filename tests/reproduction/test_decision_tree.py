"""Decision trees by category: their questions, how they are cut back, and the probabilities at their leaves."""

import numpy as np
import pytest

from support.corpora import made_up
from support.problems import dense_rows
from thresher.errors import NotFittedError, ParameterError, RowsError
from thresher.metrics import pooled_break_even
from thresher.text.vectorizer import TextFeatures
from thresher_reproduction.rivals.decision_tree import DecisionTree, information_gain
from thresher_reproduction.rivals.tables import make_truth_table

NAMES = ["energy", "grain", "metals", "money", "ships", "trade"]


def entropy(share: float) -> float:
    return 0.0 if share in (0, 1) else float(-share * np.log2(share) - (1 - share) * np.log2(1 - share))


@pytest.mark.parametrize("seed", range(5))
def test_information_gain_equals_the_difference_of_entropies(seed: int) -> None:
    draw = np.random.default_rng(seed)
    dense = draw.random((20, 6)) < 0.4
    positive = draw.random(20) < 0.3
    expected = []
    for with_word in dense.T:
        parts = [part for part in (positive[with_word], positive[~with_word]) if len(part)]
        left = sum(len(part) / 20 * entropy(part.mean()) for part in parts)
        expected.append(entropy(positive.mean()) - left)
    assert information_gain(dense_rows(dense.astype(int).tolist()), positive) == pytest.approx(expected, abs=1e-12)


def test_a_word_that_tells_nothing_has_no_gain() -> None:
    gains = information_gain(
        dense_rows([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0]]), np.array([True, True, False, False])
    )
    assert gains.tolist() == [0.0, 0.0, 0.0]


def test_probability_at_a_leaf_worked_by_hand() -> None:
    # Two of six documents are inside. With the word: 2 of 2; without: 0 of 4; four documents with the share 1/3 more.
    rows = dense_rows([[1, 1], [1, 0], [0, 1], [0, 1], [0, 1], [0, 1]])
    trees = DecisionTree(split_bits=1.0, prior_documents=4.0, n_words=1)
    trees.fit(rows, [[0], [0], [], [], [], []], n_categories=1)
    inside, outside = (2 + 4 / 3) / 6, (0 + 4 / 3) / 8
    assert trees.score(rows)[:, 0] == pytest.approx([inside] * 2 + [outside] * 4)
    assert (trees.size, trees.features_kept) == (3, 1)


def test_a_split_stays_only_if_it_saves_its_bits() -> None:
    # The classes of six documents, two of them inside, take 6 x H(1/3) = 5.51 bits; the word saves them all.
    rows = dense_rows([[1], [1], [0], [0], [0], [0]])
    for bits, nodes in ((5.5, 3), (5.52, 1)):
        assert DecisionTree(split_bits=bits).fit(rows, [[0], [0], [], [], [], []], n_categories=1).size == nodes


def test_a_tree_may_ask_how_often_a_word_occurs() -> None:
    rows = dense_rows([[3, 1], [4, 1], [1, 1], [1, 0], [0, 1], [0, 1]])
    scores = DecisionTree(split_bits=0.5).fit(rows, [[0], [0], [], [], [], []], n_categories=1).score(rows)[:, 0]
    assert scores[:2].min() > scores[2:].max()


def test_an_exception_to_a_word_is_learned() -> None:
    rows = dense_rows([[1, 0]] * 10 + [[1, 1]] * 10 + [[0, 1]] * 10 + [[0, 0]] * 10)
    trees = DecisionTree(split_bits=1.0).fit(rows, [[0]] * 10 + [[]] * 30, n_categories=1)
    scores = trees.score(rows)[:, 0]
    assert scores[:10].min() > 0.5 > scores[10:].max()
    assert trees.features_kept == 2


def test_learns_a_separable_collection_the_same_way_each_time() -> None:
    corpus = made_up(900)
    features = TextFeatures(min_count=1)
    rows = features.fit(corpus.texts[:800])
    labels = [[NAMES.index(name) for name in chosen] for chosen in corpus.categories]
    trees, again = (DecisionTree().fit(rows, labels[:800], n_categories=6) for _ in range(2))
    test = features.rows(corpus.texts[800:])
    assert trees.score(test).dtype == np.float32
    assert pooled_break_even(trees.score(test).astype(np.float64), make_truth_table(labels[800:], 100, 6)) > 0.85
    assert np.array_equal(trees.score(test), again.score(test))


def test_empty_documents_and_empty_or_full_categories_have_their_share() -> None:
    rows = dense_rows([[1, 0], [0, 1], [0, 0], [1, 0]])
    trees = DecisionTree(split_bits=0.1).fit(rows, [[0, 2], [2], [2], [0, 2]], n_categories=3)
    scores = trees.score(rows)
    assert scores[:, 1].tolist() == [0.0] * 4
    assert scores[:, 2].tolist() == [1.0] * 4
    assert scores[2, 0] == scores[1, 0] < scores[0, 0]


def test_faulty_calls_are_refused() -> None:
    rows = dense_rows([[1, 0], [0, 1]])
    for faulty in ({"n_words": 0}, {"split_bits": -1}, {"min_leaf": 0}, {"prior_documents": np.inf}, {"seed": 0.5}):
        with pytest.raises(ParameterError, match=r"invalid .*allowed: "):
            DecisionTree(**faulty)
    with pytest.raises(NotFittedError):
        DecisionTree().score(rows)
    with pytest.raises(RowsError, match="category 1"):
        DecisionTree().fit(rows, [[1], []], n_categories=1)
