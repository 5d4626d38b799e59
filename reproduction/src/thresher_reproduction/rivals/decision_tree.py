"""A decision tree for each category, in the style of C4.5 (Quinlan 1993; Lewis and Ringuette 1994), for Table 2."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher.errors import MissingPackageError
from thresher.kernels.csr import Rows
from thresher.kernels.reproducible_math import logarithm
from thresher.rows.validation import as_rows
from thresher.support.settings import Rule, check_values
from thresher_reproduction.rivals.tables import Progress, as_matrix, check_rows, count_documents, make_truth_table

Floats = NDArray[np.float64]

_POSITIVE_INTEGER = Rule("a whole number from 1", lambda value: isinstance(value, int) and value >= 1)
_NOT_NEGATIVE = Rule("a number from 0", lambda value: isinstance(value, int | float) and 0 <= value < np.inf)
RANGES = {
    "n_words": _POSITIVE_INTEGER,
    "split_bits": _NOT_NEGATIVE,
    "min_leaf": _POSITIVE_INTEGER,
    "prior_documents": _NOT_NEGATIVE,
    "seed": Rule("a whole number from 0", lambda value: isinstance(value, int) and value >= 0),
}


class Tree(NamedTuple):
    """The words that a tree may test, scikit-learn's tree (None: a single leaf), and the probability at each node."""

    words: NDArray[np.int64]
    nodes: Any
    probabilities: Floats


class DecisionTree:
    """A decision tree on word counts for each category, grown by information gain and pruned.

    Parameters
    ----------
    n_words : int
        Number of words that a category's tree may test: those with the highest information gain.
    split_bits : float
        The tree is pruned by minimal cost-complexity. A branch stays only if it saves at least this number of bits per
        split, of the bits that encode the classes of the training documents.
    min_leaf : int
        Minimum number of training documents in a leaf.
    prior_documents : float
        Number of pseudo-documents with the category's own share that are added to the training documents of a leaf to
        estimate its probability.
    seed : int
        Seed of the choice among equally good splits.

    Notes
    -----
    The score is the probability at the document's leaf, so scores of different categories are comparable. All documents
    in a leaf tie.

    Examples
    --------
    >>> rows = Rows([0, 1, 2, 3, 4], [0, 1, 0, 2], [1, 1, 2, 1], n_features=3)
    >>> trees = DecisionTree(split_bits=1.0, prior_documents=2.0).fit(rows, [[0], [], [0], []], n_categories=1)
    >>> trees.score(rows).ravel().tolist(), trees.size
    ([0.75, 0.25, 0.75, 0.25], 3)
    """

    def __init__(
        self,
        *,
        n_words: int = 1000,
        split_bits: float = 7.0,
        min_leaf: int = 1,
        prior_documents: float = 10.0,
        seed: int = 0,
    ) -> None:
        settings = {"n_words": n_words, "split_bits": split_bits, "min_leaf": min_leaf}
        check_values(settings | {"prior_documents": prior_documents, "seed": seed}, RANGES)
        self.n_words, self.split_bits, self.min_leaf = n_words, split_bits, min_leaf
        self.prior_documents, self.seed = prior_documents, seed
        self.trees_: list[Tree] = []
        self.n_features_: int | None = None

    def fit(self, rows: Rows, labels: Any, *, n_categories: int, progress: Progress | None = None) -> Self:
        """Grow the trees of all categories; `progress` receives the number of finished categories and the total."""
        checked = as_rows(rows)
        truth = make_truth_table(labels, len(checked.indptr) - 1, n_categories)
        columns = as_matrix(checked, checked.data).tocsc()
        trees = []
        for category in range(n_categories):
            trees.append(self._grow(columns, information_gain(checked, truth[:, category]), truth[:, category]))
            if progress is not None:
                progress(category + 1, n_categories)
        self.trees_, self.n_features_ = trees, checked.n_features
        return self

    def _grow(self, columns: Any, gains: Floats, positive: NDArray[np.bool_]) -> Tree:
        best = np.argsort(-gains, kind="stable")[: self.n_words]
        words = np.sort(best[gains[best] > 0])
        share = np.count_nonzero(positive) / max(len(positive), 1)
        if len(words) == 0:
            return Tree(words, None, np.array([share]))
        nodes = self._new_tree(len(positive)).fit(columns[:, words], positive).tree_
        documents = nodes.n_node_samples + self.prior_documents
        inside = nodes.value[:, 0, 1] * nodes.n_node_samples + self.prior_documents * share
        return Tree(words, nodes, inside / documents)

    def _new_tree(self, n_documents: int) -> Any:
        try:
            from sklearn.tree import DecisionTreeClassifier
        except ImportError:
            raise MissingPackageError("trees need scikit-learn", hint="pip install thresher-reproduction") from None
        return DecisionTreeClassifier(
            criterion="entropy",
            min_samples_leaf=self.min_leaf,
            ccp_alpha=self.split_bits / n_documents,
            random_state=self.seed,
        )

    def score(self, rows: Rows) -> NDArray[np.float32]:
        """Return the probability at the leaf of each category's tree, documents x categories."""
        checked = check_rows(rows, self.n_features_)
        columns = as_matrix(checked, checked.data).tocsc()
        scores = np.empty((columns.shape[0], len(self.trees_)), dtype=np.float32)
        for category, tree in enumerate(self.trees_):
            leaves = 0 if tree.nodes is None else tree.nodes.apply(columns[:, tree.words].tocsr())
            scores[:, category] = tree.probabilities[leaves]
        return scores

    @property
    def size(self) -> int:
        """The number of nodes in all trees, including leaves."""
        return sum(len(tree.probabilities) for tree in self.trees_)

    @property
    def features_kept(self) -> int:
        """The number of words that any tree tests."""
        tested = [tree.words[tree.nodes.feature[tree.nodes.feature >= 0]] for tree in self.trees_ if tree.nodes]
        return len(np.unique(np.concatenate(tested))) if tested else 0


def information_gain(rows: Rows, positive: NDArray[np.bool_]) -> Floats:
    """Return the information gain of each word's presence for a document's class, in bits.

    >>> information_gain(Rows(np.array([0, 1, 2]), np.array([0, 1]), np.ones(2), 2), np.array([True, False]))
    array([1., 1.])
    """
    n_documents, inside = len(positive), np.count_nonzero(positive)
    inside_with = count_documents(rows, positive)
    with_word = inside_with + count_documents(rows, ~positive)
    remaining = _count_bits(inside_with, with_word) + _count_bits(inside - inside_with, n_documents - with_word)
    gains = np.asarray((_count_bits(np.array(inside), np.array(n_documents)) - remaining) / max(n_documents, 1))
    # Rounding errors must not look like a gain.
    return np.where(gains > 1e-12, gains, 0.0)


def _count_bits(inside: NDArray[np.integer], documents: NDArray[np.integer]) -> Floats:
    """Return the number of bits that encode the classes of `documents`, of which `inside` are in the category."""
    outside = documents - inside
    logs = [number * logarithm(np.maximum(number, 1)) for number in (documents, inside, outside)]
    return np.asarray((logs[0] - logs[1] - logs[2]) / logarithm(2.0))
