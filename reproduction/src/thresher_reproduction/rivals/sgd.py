"""Stochastic gradient descent on the hinge loss, by scikit-learn: a present-day rival."""

from typing import Any

from thresher_reproduction.rivals.one_by_one import OneByOne


class SGD(OneByOne):
    """A linear separator for each category, learned one document at a time, on tf-idf vectors of unit length.

    Parameters
    ----------
    alpha : float
        Strength of the regularization.
    seed : int
        Seed of the order of the documents.

    Examples
    --------
    >>> from thresher.kernels.csr import Rows
    >>> rows = Rows([0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2], [1.0] * 6, 3)
    >>> SGD().fit(rows, [[0], [0], [1], [1], [], []], n_categories=2).score(rows).argmax(axis=1)[:4]
    array([0, 0, 1, 1])
    """

    def __init__(self, *, alpha: float = 1e-4, seed: int = 0) -> None:
        self.alpha, self.seed = alpha, seed

    def _classifier(self) -> Any:
        from sklearn.linear_model import SGDClassifier

        return SGDClassifier(loss="hinge", alpha=self.alpha, random_state=self.seed)
