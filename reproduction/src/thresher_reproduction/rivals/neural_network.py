"""A small network for each topic on latent semantic features (Wiener, Pedersen and Weigend, 1995), for Table 2."""

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher.errors import MissingPackageError
from thresher.kernels.csr import Rows
from thresher.kernels.reproducible_math import logarithm
from thresher.rows.validation import as_rows
from thresher.support.settings import Rule, check_values
from thresher_reproduction.rivals.tables import (
    Progress,
    as_matrix,
    check_rows,
    count_documents,
    make_truth_table,
    prior_log_odds,
)

Floats = NDArray[np.float32]

_NOT_NEGATIVE = Rule("a whole number from 0", lambda value: isinstance(value, int) and value >= 0)
RANGES = {
    "dimensions": _NOT_NEGATIVE,
    "terms": _NOT_NEGATIVE,
    "hidden": _NOT_NEGATIVE,
    "decay": Rule("from 0", lambda value: isinstance(value, int | float) and 0 <= value < np.inf),
    "steps": Rule("a whole number from 1", lambda value: isinstance(value, int) and value >= 1),
    "seed": _NOT_NEGATIVE,
}
# Keeps the relevancy near 0 for a term that few documents have, inside and outside the category.
_DAMPING = 1 / 6


class Latent(NamedTuple):
    """The latent semantic dimensions, one row of word weights each, and their spread.

    The spread is the standard deviation of the documents along each dimension.
    """

    axes: Floats
    spread: Floats


class Network(NamedTuple):
    """A category's own terms and their spread, the layers, and the score if there are no layers."""

    terms: NDArray[np.int64]
    spread: Floats
    weights: list[Floats]
    biases: list[Floats]
    prior: float


class NeuralNetwork:
    """A network with one hidden layer for each category, on latent dimensions and the category's best terms.

    Parameters
    ----------
    dimensions : int
        Number of latent semantic dimensions, computed from all training documents. 0: none.
    terms : int
        Number of the category's own terms as additional inputs: those with the highest relevancy score. 0: none.
    hidden : int
        Number of hidden units with tanh. 0: none, which makes the network a logistic regression.
    decay : float
        Weight decay: the weight of the L2 penalty, relative to the cross-entropy of all documents.
    steps : int
        Maximum number of L-BFGS steps.
    seed : int
        Seed of the initial weights and of the randomized singular value decomposition.

    Notes
    -----
    A word's strength in a document is the square root of its count times the logarithm of its inverse document
    frequency, divided by the document's length. Inputs are divided by their standard deviation. The relevancy of a term
    is ln((a + 1/6) / (b + 1/6)), where a and b are the shares of documents with the term inside and outside the
    category. The score is the network's output before its sigmoid, the log-odds, so scores of different categories are
    comparable.

    Examples
    --------
    >>> rows = Rows([0, 1, 2, 3, 4], [0, 1, 0, 2], [1, 1, 2, 1], n_features=3)
    >>> network = NeuralNetwork(dimensions=1, terms=1, hidden=2, decay=0.01)
    >>> network = network.fit(rows, [[0], [], [0], []], n_categories=1)
    >>> (network.score(rows) > 0).ravel().tolist()
    [True, False, True, False]
    """

    def __init__(
        self,
        *,
        dimensions: int = 200,
        terms: int = 20,
        hidden: int = 6,
        decay: float = 10.0,
        steps: int = 60,
        seed: int = 0,
    ) -> None:
        settings = {"dimensions": dimensions, "terms": terms, "hidden": hidden}
        check_values(settings | {"decay": decay, "steps": steps, "seed": seed}, RANGES)
        self.dimensions, self.terms, self.hidden = dimensions, terms, hidden
        self.decay, self.steps, self.seed = decay, steps, seed
        self.n_features_: int | None = None
        self.inverse_frequencies_: Floats = np.zeros(0, dtype=np.float32)
        self.latent_ = _empty_latent(0)
        self.networks_: list[Network] = []

    def fit(self, rows: Rows, labels: Any, *, n_categories: int, progress: Progress | None = None) -> Self:
        """Train the networks of all categories; `progress` receives the number of finished categories and the total."""
        checked = as_rows(rows)
        truth = make_truth_table(labels, len(checked.indptr) - 1, n_categories)
        inverse = _compute_idf(checked)
        networks = []
        with _limit_threads():
            matrix = _weight_documents(checked, inverse)
            latent = _find_latent(matrix, self.dimensions, self.seed)
            dense, columns = _project(matrix, latent), matrix.tocsc()
            for category in range(n_categories):
                relevancy = _compute_relevancy(checked, truth[:, category])
                networks.append(self._fit_category(dense, columns, relevancy, truth[:, category]))
                if progress is not None:
                    progress(category + 1, n_categories)
        self.n_features_, self.inverse_frequencies_ = checked.n_features, inverse
        self.latent_, self.networks_ = latent, networks
        return self

    def _fit_category(
        self, dense: Floats, columns: Any, relevancy: NDArray[np.float64], positive: NDArray[np.bool_]
    ) -> Network:
        positives = int(np.count_nonzero(positive))
        prior = prior_log_odds(positives, len(positive))
        chosen = np.sort(np.argsort(-relevancy, kind="stable")[: self.terms])
        terms = columns[:, chosen].toarray()
        spread = _compute_spread(terms)
        if positives in (0, len(positive)) or dense.shape[1] + len(chosen) == 0:
            return Network(chosen, spread, [], [], prior)
        return Network(chosen, spread, *self._train(np.hstack((dense, terms / spread)), positive), prior)

    def _train(self, inputs: Floats, positive: NDArray[np.bool_]) -> tuple[list[Floats], list[Floats]]:
        """Return the weights and biases of the layers."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier

        layers = (self.hidden,) if self.hidden else ()
        network = MLPClassifier(
            layers, activation="tanh", solver="lbfgs", alpha=self.decay, max_iter=self.steps, random_state=self.seed
        )
        with warnings.catch_warnings():
            # Stopping before the minimum is intended: it helps to prevent overfitting.
            warnings.simplefilter("ignore", ConvergenceWarning)
            network.fit(inputs, positive)
        return list(network.coefs_), list(network.intercepts_)

    def score(self, rows: Rows) -> NDArray[np.float32]:
        """Return the log-odds, documents x categories; a category without a network gets its prior log-odds."""
        checked = check_rows(rows, self.n_features_)
        scores = np.empty((len(checked.indptr) - 1, len(self.networks_)), dtype=np.float32)
        with _limit_threads():
            matrix = _weight_documents(checked, self.inverse_frequencies_)
            dense, columns = _project(matrix, self.latent_), matrix.tocsc()
            for category, network in enumerate(self.networks_):
                terms = columns[:, network.terms].toarray() / network.spread
                scores[:, category] = _compute_output(network, np.hstack((dense, terms)))
        return scores

    @property
    def size(self) -> int:
        """The number of values in the latent dimensions and in all networks."""
        layers = sum(array.size for network in self.networks_ for array in (*network.weights, *network.biases))
        return int(self.latent_.axes.size + layers)

    @property
    def features_kept(self) -> int:
        """The number of words with a weight in a latent dimension or among a category's own terms."""
        used = np.zeros(self.n_features_ or 0, dtype=np.bool_)
        used[:] = (self.latent_.axes != 0).any(axis=0)
        for network in self.networks_:
            used[network.terms if network.weights else []] = True
        return int(np.count_nonzero(used))


def _limit_threads() -> Any:
    """Limit linear algebra to one thread.

    The order of its sums, and so their bits, depend on the number of threads.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise MissingPackageError("networks need scikit-learn", hint="pip install thresher-reproduction") from None
    return threadpool_limits(1)


def _compute_idf(rows: Rows) -> Floats:
    n_rows = len(rows.indptr) - 1
    counts = np.bincount(rows.indices, minlength=rows.n_features)
    return logarithm(max(n_rows, 1) / np.maximum(counts, 1)).astype(np.float32)


def _weight_documents(rows: Rows, compute_idf: Floats) -> Any:
    """Return the documents as rows of unit length: square roots of counts times inverse document frequencies."""
    from sklearn.preprocessing import normalize

    return normalize(as_matrix(rows, np.sqrt(np.maximum(rows.data, 0)) * compute_idf[rows.indices]))


def _find_latent(matrix: Any, dimensions: int, seed: int) -> Latent:
    """Return the latent semantic dimensions and the standard deviation of the documents along each."""
    from sklearn.decomposition import TruncatedSVD

    n_dimensions = min(dimensions, matrix.shape[0] - 1, matrix.shape[1] - 1)
    if n_dimensions < 1 or matrix.count_nonzero() == 0:
        return _empty_latent(matrix.shape[1])
    # scikit-learn also computes shares of the variance, which is 0 if all documents are equal.
    with np.errstate(invalid="ignore", divide="ignore"):
        axes = TruncatedSVD(n_dimensions, random_state=seed).fit(matrix).components_.astype(np.float32)
    return Latent(axes, _compute_spread(np.asarray(matrix @ axes.T)))


def _empty_latent(n_features: int) -> Latent:
    return Latent(np.zeros((0, n_features), dtype=np.float32), np.zeros(0, dtype=np.float32))


def _project(matrix: Any, latent: Latent) -> Floats:
    return np.asarray(matrix @ latent.axes.T / latent.spread, dtype=np.float32)


def _compute_spread(inputs: Floats) -> Floats:
    """Return the standard deviation of each column, or 1 where it is close to 0."""
    spread = inputs.std(axis=0).astype(np.float32)
    return np.where(spread > 1e-6, spread, np.float32(1)).astype(np.float32)


def _compute_relevancy(rows: Rows, positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the log ratio of each term's share of documents inside the category to that outside, damped."""
    inside, outside = int(np.count_nonzero(positive)), int(np.count_nonzero(~positive))
    shares = count_documents(rows, positive) / max(inside, 1), count_documents(rows, ~positive) / max(outside, 1)
    return logarithm((shares[0] + _DAMPING) / (shares[1] + _DAMPING))


def _compute_output(network: Network, inputs: Floats) -> Floats:
    """Return the outputs before the sigmoid."""
    if not network.weights:
        return np.full(len(inputs), network.prior, dtype=np.float32)
    for weights, biases in zip(network.weights[:-1], network.biases[:-1], strict=True):
        inputs = np.tanh(inputs @ weights + biases)
    return np.asarray(inputs @ network.weights[-1] + network.biases[-1])[:, 0]
