"""What a learner promises in addition to its update rule: batches, growth, purity, threads, stopping."""

import _thread
from typing import Any

import numpy as np
import pytest

from support.problems import LEARNERS, Problem, as_rows, assert_same_bits, random_problem, state, weights_in_blocks
from thresher import BalancedWinnow, Labels, Perceptron, PositiveWinnow, Rows
from thresher.errors import NotFittedError
from thresher.learners.chunks import CHUNK_WORK, split_order
from thresher.learners.dense_weights import DenseWeights
from thresher.learners.training import Progress
from thresher.rows.labels import label_one_row

every_learner = pytest.mark.parametrize("name", LEARNERS)
VERSIONS: list[dict[str, Any]] = [
    {},
    {"average": True},
    {"discard": False, "threshold_range": None, "strength": "binary"},
    {"normalize": True, "threshold_range": (0.5, 1.5)},
]


@every_learner
@pytest.mark.parametrize("settings", VERSIONS)
def test_two_batches_equal_one_pass(name: str, settings: dict[str, Any]) -> None:
    problem = random_problem(7, n_rows=30)
    whole = LEARNERS[name](max_passes=1, shuffle=False, **settings).fit(problem.rows, problem.labels, n_categories=5)
    batched = LEARNERS[name](average_active=whole.average_active_, **settings)
    for start, stop in ((0, 1), (1, 12), (12, 30)):
        batched.partial_fit(problem.part(start, stop).rows, problem.labels[start:stop], n_categories=5)
    assert_same_bits(batched.weights_, whole.weights_)
    assert_same_bits(batched.score(problem.rows), whole.score(problem.rows))
    assert batched.online_mistakes_.tolist() == whole.mistakes_[0].tolist()


@every_learner
def test_a_batch_equals_single_documents(name: str) -> None:
    problem = random_problem(8, n_rows=25)
    batch = LEARNERS[name](average_active=4.0, average=True).partial_fit(problem.rows, problem.labels, n_categories=5)
    single = LEARNERS[name](average_active=4.0, average=True)
    for i in range(25):
        single.partial_fit(problem.part(i, i + 1).rows, problem.labels[i : i + 1], n_categories=5)
    assert_same_bits(single.weights_, batch.weights_)


@every_learner
def test_average_active_is_measured_once_and_kept(name: str) -> None:
    learner = LEARNERS[name]().partial_fit(as_rows([{0: 1.0}, {0: 1.0, 1: 2.0, 2: 1.0}], 3), [[0], []])
    assert learner.average_active_ == 2.0
    learner.partial_fit(as_rows([{0: 1.0, 1: 1.0, 2: 1.0}], 3), [[0]])
    assert learner.average_active_ == 2.0
    assert LEARNERS[name](average_active=7.5).fit(as_rows([{0: 1.0}], 1), [[0]]).average_active_ == 7.5


@every_learner
@pytest.mark.parametrize("settings", VERSIONS)
def test_scoring_and_reading_weights_change_nothing(name: str, settings: dict[str, Any]) -> None:
    problem = random_problem(9)
    learner = LEARNERS[name](**settings).fit(problem.rows, problem.labels, n_categories=5)
    before, scores = state(learner), learner.score(problem.rows)
    for _ in range(3):
        assert_same_bits(learner.score(problem.rows), scores)
        assert learner.weights_.shape == (5, 7)
        assert learner.discarded_.shape == (5,)
    assert state(learner) == before


@every_learner
def test_input_is_neither_changed_nor_referenced(name: str) -> None:
    problem = random_problem(10)
    rows = problem.rows
    copies = [part.copy() for part in rows[:3]]
    learner = LEARNERS[name]().fit(rows, problem.labels, n_categories=5)
    for part, copy in zip(rows[:3], copies, strict=True):
        np.testing.assert_array_equal(part, copy)
    before = state(learner)
    for part in rows[:3]:
        part.fill(0)
    assert state(learner) == before


@every_learner
def test_threads_and_block_widths_never_change_the_result(name: str) -> None:
    problem = random_problem(11, n_rows=40, n_features=20, n_categories=40)
    states = []
    for width in (1, 2, 4, 8, 16, 32):
        for threads in (1, 2, 4):
            learner = LEARNERS[name](block_width=width, n_threads=threads, shuffle=True, average=True)
            learner.fit(problem.rows, problem.labels)
            states.append((learner.weights_.tobytes(), learner.mistakes_.tobytes(), learner.n_passes_.tobytes()))
    assert len(set(states)) == 1


@every_learner
def test_new_features_and_categories_may_appear_at_any_time(name: str) -> None:
    learner = LEARNERS[name](discard=False)
    for n in (1, 2, 3, 5, 17, 40):
        learner.partial_fit(as_rows([{n - 1: 1.0}], n), [[n - 1]])
        assert (learner.n_features_, learner.n_categories_) == (n, n)
    assert learner.weights_.shape == (40, 40)
    learner.partial_fit(as_rows([{0: 1.0}], 2), [[0]])  # fewer columns than known: the rest are absent
    assert learner.n_features_ == 40


@every_learner
def test_a_grown_learner_equals_one_that_knew_everything_from_the_start(name: str) -> None:
    problem = random_problem(12, n_rows=30, n_features=9, n_categories=20)
    early = Problem(
        [{f: n for f, n in document.items() if f < 4} for document in problem.documents[:10]],
        [{c for c in labels if c < 3} for labels in problem.labels[:10]],
        4,
        3,
    )
    grown, ready = (LEARNERS[name](average_active=4.0) for _ in range(2))
    grown.partial_fit(early.rows, early.labels, n_categories=3)
    ready.partial_fit(as_rows(early.documents, 9), early.labels, n_categories=3)
    for learner in (grown, ready):
        learner.partial_fit(problem.rows, problem.labels, n_categories=20)
    assert_same_bits(grown.weights_, ready.weights_)


@every_learner
def test_a_category_without_positives_is_learned_but_never_accepted(name: str) -> None:
    problem = random_problem(13)
    labels = [{c for c in row if c != 2} for row in problem.labels]
    learner = LEARNERS[name]().fit(problem.rows, labels, n_categories=5)
    long_document = as_rows([dict.fromkeys(range(7), 100.0)], 7)
    assert learner.score(problem.rows)[:, 2].max() <= learner.theta
    assert learner.score(long_document)[0, 2] <= learner.theta
    assert learner.n_passes_[2] >= 1


@every_learner
def test_order_of_documents_matters_only_when_it_should(name: str) -> None:
    problem = random_problem(14, n_rows=40)
    fits = [
        LEARNERS[name](shuffle=shuffle, seed=seed, max_passes=3).fit(problem.rows, problem.labels).weights_.tobytes()
        for shuffle, seed in ((False, 0), (False, 1), (True, 0), (True, 0), (True, 1))
    ]
    assert fits[0] == fits[1]
    assert fits[2] == fits[3]
    assert len(set(fits)) == 3


@every_learner
@pytest.mark.parametrize("large", [False, True])
def test_weights_stay_finite_under_endless_corrections(name: str, large: bool) -> None:
    """The same document twenty thousand times, then as often as what it is not, then in turns."""
    settings = _large_steps(name) if large else {}
    learner = LEARNERS[name](average_active=1.0, **settings)
    document = as_rows([{0: 2.0**40 if large else 3.0, 1: 1.0}], 2)
    rows = Rows(np.arange(0, 40_001, 2), np.tile(document.indices, 20_000), np.tile(document.data, 20_000), 2)
    teachers: list[list[list[int]]] = [[[0]] * 20_000, [[]] * 20_000, [[0], []] * 10_000, [[0], [1]] * 10_000]
    for labels in teachers:
        learner.partial_fit(rows, labels, n_categories=2)
        assert np.isfinite(learner.weights_).all()
        assert np.isfinite(learner.score(rows)).all()
        assert np.abs(learner.weights_).max() <= 2.0**60


@every_learner
@pytest.mark.parametrize(
    "settings", [{}, {"average": True}, {"sparse": True}, {"threshold_range": (-1e6, 1e6)}], ids=str
)
@pytest.mark.parametrize("signs", [[1], [-1], [1, -1]], ids=["always", "never", "in turn"])
def test_a_correction_repeated_twenty_thousand_times_keeps_everything_finite(
    name: str, settings: dict[str, Any], signs: list[int]
) -> None:
    own = {key: value for key, value in settings.items() if key in LEARNERS[name].__dataclass_fields__}
    learner = LEARNERS[name](average_active=2.0, **own).fit(as_rows([{0: 1.0, 1: 3.0}, {1: 1.0}], 2), [[0], []])
    rows = as_rows([{0: 1.0, 1: 3.0}] * 1000, 2)
    labels = [[0] if signs[i % len(signs)] > 0 else [] for i in range(1000)]
    for _ in range(20):
        learner.partial_fit(rows, labels)
    for found in (learner.weights_, learner.score(rows)):
        assert np.isfinite(found).all()
    assert np.abs(learner.weights_).max() <= 2.0**60


def _large_steps(name: str) -> dict[str, Any]:
    if name == "RegularizedWinnow":
        return {"rate": 1e6, "cap": 1e6, "positive_cap": 1e6}
    steps = {"alpha": 1e6} if name == "Perceptron" else {"alpha": 1e6, "beta": 2e-6}
    return steps | {"threshold_range": (-1e6, 1e6)}


@pytest.mark.parametrize("name", ["BalancedWinnow", "PositiveWinnow"])
def test_winnow_weights_never_reach_zero(name: str) -> None:
    settings: dict[str, Any] = {"normalize": False, "discard": False, "beta": 0.01}
    learner = LEARNERS[name](average_active=1.0, threshold_range=(-1e6, 1e6), **settings)
    learner.partial_fit(as_rows([{0: 1.0}] * 500, 1), [[]] * 500, n_categories=1)
    weights = weights_in_blocks(learner)
    smallest = weights.positive if name == "BalancedWinnow" else weights.weight
    assert smallest[0, 0, 0] == 2.0**-60


@every_learner
def test_scores_do_not_depend_on_how_rows_are_divided_among_threads(name: str) -> None:
    rows, labels = big_problem()
    learner = LEARNERS[name](max_passes=1, n_threads=1).fit(rows, labels)
    alone = np.concatenate([learner.score(part(rows, i, i + 1)) for i in range(0, 60_000, 5_000)])
    for threads in (1, 2, 4, 10_000):
        learner.n_threads = threads
        assert_same_bits(learner.score(rows)[::5_000], alone)


def part(rows: Rows, start: int, stop: int) -> Rows:
    """Return some of the rows of a big problem, which have a hundred features each."""
    return Rows(rows.indptr[: stop - start + 1], rows.indices[100 * start :], rows.data[100 * start :], 400)


@every_learner
def test_unordered_features_within_a_row_are_refused(name: str) -> None:
    """Rows are taken in the order of their features alone; any other is refused, so it cannot change the result."""
    with pytest.raises(ValueError, match="increase strictly"):
        LEARNERS[name]().fit(Rows([0, 2], [1, 0], [1.0, 1.0], 2), [[0]])  # type: ignore[arg-type]


def test_chunks_hold_no_more_work_than_allowed_even_for_uneven_rows() -> None:
    lengths = np.concatenate((np.zeros(200_000, dtype=np.int64), np.full(200, 100_000)))
    for width in (1, 16, 32):
        parts = split_order(np.arange(len(lengths)), lengths, width)
        assert np.concatenate(parts).tolist() == list(range(len(lengths)))
        assert max(lengths[rows].sum() * width for rows in parts) <= CHUNK_WORK + 100_000 * width


def test_growth_leaves_room_to_spare() -> None:
    learner = BalancedWinnow(discard=False).partial_fit(as_rows([{0: 1.0}], 1000), [[0]])
    moves, before = 0, weights_in_blocks(learner)
    for n_features in range(1001, 1400):
        learner.partial_fit(as_rows([{0: 1.0}], n_features), [[0]])
        moves += weights_in_blocks(learner) is not before
        before = weights_in_blocks(learner)
    assert moves == 1


@every_learner
def test_failed_growth_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(22)
    learner = LEARNERS[name]().fit(problem.rows, problem.labels, n_categories=5)
    before = state(learner)

    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("thresher.learners.dense_weights.make_aligned", no_memory)
    with pytest.raises(MemoryError):
        learner.partial_fit(problem.rows, [[500]] * 14)
    assert state(learner) == before
    assert learner.score(problem.rows).shape == (14, 5)


@every_learner
def test_late_features_and_categories_have_zero_weight_until_promoted(name: str) -> None:
    problem = random_problem(23)
    learner = LEARNERS[name](late_start="zero").fit(problem.rows, problem.labels, n_categories=5)
    before = learner.weights_
    learner.partial_fit(as_rows([{0: 1.0, 8: 1.0}], 9), label_one_row({6: 1}))
    assert learner.weights_[:5, :7].tobytes() == before.tobytes()
    assert not learner.weights_[:6, 7:].any()
    assert np.flatnonzero(learner.weights_[6]).tolist() == [0, 8]


def test_a_learner_may_resume_another_with_other_parameters() -> None:
    problem = random_problem(24)
    first = BalancedWinnow().fit(problem.rows, problem.labels)
    second = BalancedWinnow(alpha=2.0).resume(first)
    assert state(second) == state(first)
    second.partial_fit(problem.rows, [set()] * 14)
    assert second.alpha == 2.0
    assert state(second) != state(first)
    with pytest.raises(ValueError, match="cannot resume"):
        PositiveWinnow().resume(first)


@every_learner
def test_empty_documents_are_never_negative_mistakes_and_change_no_weight(name: str) -> None:
    learner = LEARNERS[name]().fit(as_rows([{}, {}], 3), [[0], []])
    assert learner.score(as_rows([{}], 3)).tolist() == [[0.0]]
    assert learner.average_active_ == 1.0


def test_many_small_batches_keep_memory_constant() -> None:
    problem = random_problem(15)
    learner = BalancedWinnow(average=True).fit(problem.rows, problem.labels, n_categories=5)
    size = len(state(learner))
    for _ in range(300):
        learner.partial_fit(problem.rows, problem.labels)
    assert len(state(learner)) == size


def test_mean_of_few_rows_equals_mean_of_all() -> None:
    problem = random_problem(16, n_rows=60, n_features=400)
    learner = BalancedWinnow(average=True).fit(problem.rows, problem.labels)
    few = learner.score(as_rows(problem.documents[:1], 400))
    learner.weights_  # noqa: B018  (from here on the means of all features are at hand)
    assert_same_bits(few, learner.score(as_rows(problem.documents[:1], 400)))


def test_progress_is_reported_until_the_end() -> None:
    problem = random_problem(17)
    seen: list[Progress] = []
    learner = BalancedWinnow(max_passes=4).fit(problem.rows, problem.labels, progress=seen.append)
    assert seen[-1].done == seen[-1].total == 4 * 14
    assert seen[-1].mistakes == learner.mistakes_.sum()
    learner.partial_fit(problem.rows, problem.labels, progress=seen.append)
    assert seen[-1] == Progress(14, 14, learner.online_mistakes_.sum())


def big_problem() -> tuple[Rows, list[list[int]]]:
    """Return a problem that keeps a learner busy for seconds: labels without a pattern."""
    rng = np.random.default_rng(0)
    n_rows, active = 60_000, 100
    indices = np.sort(rng.integers(0, 300, (n_rows, active)), axis=1) + np.arange(active)
    rows = Rows(
        np.arange(0, n_rows * active + 1, active), indices.reshape(-1), np.ones(n_rows * active, dtype=np.float32), 400
    )
    return rows, [[int(c)] for c in rng.integers(0, 8, n_rows)]


def test_interrupted_training_changes_nothing() -> None:
    rows, labels = big_problem()
    problem = random_problem(18)
    learner = BalancedWinnow().fit(problem.rows, problem.labels)
    before = state(learner)

    def press_ctrl_c(progress: Progress) -> None:
        _thread.interrupt_main()

    with pytest.raises(KeyboardInterrupt):
        learner.fit(rows, labels, progress=press_ctrl_c)
    assert state(learner) == before


@pytest.mark.parametrize("late_start", ["initial", "zero"])
def test_a_category_removed_by_an_interrupt_leaves_nothing_to_the_next_one(
    late_start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(blocks: DenseWeights, *given: Any) -> Any:
        learn(blocks, *given)
        raise KeyboardInterrupt

    learn = DenseWeights._learn
    documents = [{0: 1.0, 1: 1.0}, {2: 1.0, 3: 1.0}]
    rows, one, other = (as_rows(some, 4) for some in (documents, documents[:1], documents[1:]))
    first, second = (
        BalancedWinnow(block_width=4, average=True, late_start=late_start).fit(rows, [[0], [1]]) for _ in range(2)
    )
    with monkeypatch.context() as patch:
        patch.setattr(DenseWeights, "_learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            first.partial_fit(one, [[2]])
    assert first.n_categories_ == 2
    for learner in (first, second):
        learner.partial_fit(other, [[2]])
    np.testing.assert_array_equal(first.weights_[2], second.weights_[2])


def test_interrupted_partial_fit_changes_nothing() -> None:
    rows, labels = big_problem()
    learner = PositiveWinnow().fit(rows._replace(indptr=rows.indptr[:11]), labels[:10])
    before = state(learner)

    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.partial_fit(rows, labels, progress=interrupt)
    assert state(learner) == before
    fresh = PositiveWinnow()
    with pytest.raises(KeyboardInterrupt):
        fresh.partial_fit(rows, labels, progress=interrupt)
    with pytest.raises(NotFittedError):
        fresh.score(rows)


def test_long_batch_equals_short_ones() -> None:
    rows, labels = big_problem()
    at_once, in_parts = (BalancedWinnow(average_active=100.0) for _ in range(2))
    at_once.partial_fit(rows, labels, n_categories=8)
    for start in range(0, 60_000, 20_000):
        part = Rows(rows.indptr[:20_001], rows.indices[start * 100 :], rows.data[start * 100 :], 400)
        in_parts.partial_fit(part, labels[start : start + 20_000])
    assert_same_bits(at_once.weights_, in_parts.weights_)


def test_judgements_may_be_given_as_labels() -> None:
    problem = random_problem(19)
    flat = [c for row in problem.labels for c in sorted(row)]
    labels = Labels(
        np.cumsum([0] + [len(row) for row in problem.labels]),
        np.array(flat, dtype=np.int32),
        np.ones(len(flat), dtype=np.int8),
        -1,
    )
    one = BalancedWinnow().fit(problem.rows, labels)
    other = BalancedWinnow().fit(problem.rows, problem.labels)
    assert state(one) == state(other)


def test_corrections_count_as_examples_only_for_the_categories_judged() -> None:
    learner = BalancedWinnow(average=True).fit(as_rows([{0: 1.0}], 1), [[0]], n_categories=3)
    before = learner.get_weights().examples.copy()
    learner.partial_fit(as_rows([{0: 1.0}], 1), label_one_row({1: 1}))
    assert (learner.get_weights().examples - before).reshape(-1)[:3].tolist() == [0, 1, 0]


def test_many_passes_need_few_stages() -> None:
    """Two documents that contradict each other never stop a category from learning."""
    rows = Rows(np.array([0, 1, 2]), np.zeros(2, dtype=np.int32), np.ones(2, dtype=np.float32), 1)
    learner = Perceptron(max_passes=10_000, block_width=1).fit(rows, [[0, 1], []])
    assert learner.n_passes_.tolist() == [10_000, 10_000]
