"""Sleeping experts follow their published rule, and the kernel equals a plain reading of it."""

import numpy as np
import pytest

from support.corpora import made_up
from thresher.errors import NotFittedError, ParameterError, RowsError
from thresher.kernels.csr import Rows
from thresher.metrics import pooled_break_even
from thresher.text.vectorizer import TextFeatures
from thresher_reproduction.kernels.sleeping_experts import LEAST, MOST, run_experts_pass, sum_expert_votes
from thresher_reproduction.rivals.sleeping_experts import SleepingExperts
from thresher_reproduction.rivals.tables import make_truth_table

NAMES = ["energy", "grain", "metals", "money", "ships", "trade"]


def rows_of(documents: list[list[int]], n_features: int) -> Rows:
    ends = np.cumsum([0] + [len(document) for document in documents])
    indices = [feature for document in documents for feature in document]
    return Rows(ends, np.array(indices, dtype=np.int32), np.ones(len(indices), dtype=np.float32), n_features)


def naive_pass(
    documents: list[list[int]], positive: list[bool], beta: float, enough: float, pool: dict[tuple[int, int], float]
) -> int:
    """Learn as the description says: experts (feature, side) that are awake vote, and those who were wrong pay."""
    changes = 0
    for features, truth in zip(documents, map(int, positive), strict=True):
        right, wrong = 0.0, 0.0
        for feature in features:
            right += pool.setdefault((feature, truth), 1.0)
            wrong += pool.setdefault((feature, 1 - truth), 1.0)
        if not features or right > enough * (right + wrong):
            continue
        changes += 1
        scale = (right + wrong) / (right + beta * wrong)
        for feature in features:
            pool[feature, truth] = min(pool[feature, truth] * scale, MOST)
            pool[feature, 1 - truth] = max(pool[feature, 1 - truth] * (beta * scale), LEAST)
    return changes


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("beta", "enough"), [(0.5, 1.0), (0.8, 0.7), (0.9, 0.5), (1e-30, 1.0)])
def test_kernel_equals_a_plain_reading_of_the_rule(seed: int, beta: float, enough: float) -> None:
    draw = np.random.default_rng(seed)
    documents = [sorted(set(draw.integers(0, 12, draw.integers(0, 8)).tolist())) for _ in range(40)]
    positive = (draw.random(40) < 0.3).tolist()
    rows, weights, pool = rows_of(documents, 12), np.ones((12, 2)), dict[tuple[int, int], float]()
    for _ in range(3):
        changes = run_experts_pass(
            rows.indptr, rows.indices, np.array(positive), np.float64(beta), np.float64(enough), weights
        )
        assert changes == naive_pass(documents, positive, beta, enough, pool)
    for (feature, side), weight in pool.items():
        assert weights[feature, side] == weight
    votes = sum_expert_votes(rows.indptr, rows.indices, weights)
    for document, vote in zip(documents, votes.tolist(), strict=True):
        assert vote == [sum(weights[feature, side] for feature in document) for side in (0, 1)]


def test_first_update_worked_by_hand() -> None:
    # Two features, positive: 2 votes are right and 2 wrong. Halving the wrong ones leaves 3 of 4, so all grow by 4/3.
    weights = np.ones((3, 2))
    rows = rows_of([[0, 1]], 3)
    assert run_experts_pass(rows.indptr, rows.indices, np.array([True]), np.float64(0.5), np.float64(1), weights) == 1
    assert weights == pytest.approx(np.array([[2 / 3, 4 / 3], [2 / 3, 4 / 3], [1, 1]]))


def test_awake_experts_together_keep_their_weight() -> None:
    weights = np.array([[0.5, 3.0], [2.0, 0.25], [7.0, 7.0]])
    rows = rows_of([[0, 1]], 3)
    run_experts_pass(rows.indptr, rows.indices, np.array([False]), np.float64(0.3), np.float64(1), weights)
    assert weights[:2].sum() == pytest.approx(5.75)
    assert weights[2].tolist() == [7.0, 7.0]


def test_weights_stay_within_their_bounds() -> None:
    rows = rows_of([[0]] * 500, 1)
    weights = np.ones((1, 2))
    run_experts_pass(rows.indptr, rows.indices, np.ones(500, dtype=np.bool_), np.float64(0.5), np.float64(1), weights)
    assert weights[0].tolist() == [LEAST, 2.0]


def test_without_a_margin_only_mistakes_teach() -> None:
    rows = rows_of([[0], [0], [0]], 1)
    fitted = SleepingExperts(beta=0.5, margin=0.0, passes=5).fit(rows, [[0], [0], [0]], n_categories=1)
    assert fitted.pools_[0].weights == pytest.approx(np.array([[2 / 3, 4 / 3]]))


def test_counts_do_not_matter_only_occurrence_does() -> None:
    once = rows_of([[0, 1], [1, 2]], 3)
    often = once._replace(data=np.array([5, 1, 3, 2], dtype=np.float32))
    experts = SleepingExperts().fit(once, [[0], []], n_categories=1)
    assert np.array_equal(experts.score(once), SleepingExperts().fit(often, [[0], []], n_categories=1).score(often))


@pytest.mark.parametrize("analyser", ["words", "words+sparse:2:3+sparse:3:3"])
def test_learns_a_separable_collection(analyser: str) -> None:
    corpus = made_up(300)
    features = TextFeatures(analyser, min_count=1)
    rows, labels = features.fit(corpus.texts[:200]), [[NAMES.index(name) for name in c] for c in corpus.categories]
    experts = SleepingExperts().fit(rows, labels[:200], n_categories=6)
    scores = experts.score(features.rows(corpus.texts[200:]))
    assert scores.dtype == np.float32
    assert pooled_break_even(scores.astype(np.float64), make_truth_table(labels[200:], 100, 6)) > 0.95
    assert 0 < experts.features_kept <= rows.n_features
    assert experts.size >= 2 * experts.features_kept
    again = SleepingExperts().fit(rows, labels[:200], n_categories=6)
    assert np.array_equal(again.score(features.rows(corpus.texts[200:])), scores)


def test_empty_documents_and_empty_categories_score_the_odds_of_the_category() -> None:
    rows = rows_of([[0], [1], []], 2)
    scores = SleepingExperts().fit(rows, [[0], [], []], n_categories=2).score(rows)
    assert scores[2].tolist() == pytest.approx([np.log(2 / 3), np.log(1 / 4)])
    assert scores[:, 1].tolist() == pytest.approx([np.log(1 / 4)] * 3)
    assert scores[0, 0] > 0 > scores[1, 0]


def test_progress_counts_the_categories() -> None:
    heard: list[tuple[int, int]] = []
    SleepingExperts().fit(rows_of([[0]], 1), [[0]], n_categories=2, progress=lambda *done: heard.append(done))
    assert heard == [(1, 2), (2, 2)]


def test_faulty_calls_are_refused() -> None:
    rows = rows_of([[0], [1]], 2)
    for faulty in ({"beta": 1.0}, {"beta": 0}, {"margin": 0.6}, {"margin": -0.1}, {"passes": 0}, {"passes": 1.5}):
        with pytest.raises(ParameterError, match=r"invalid .*allowed: "):
            SleepingExperts(**faulty)
    with pytest.raises(NotFittedError):
        SleepingExperts().score(rows)
    with pytest.raises(RowsError, match="category 1"):
        SleepingExperts().fit(rows, [[1], []], n_categories=1)
    with pytest.raises(RowsError, match="3 features"):
        SleepingExperts().fit(rows, [[0], []], n_categories=1).score(rows_of([[2]], 3))
