"""The linear support vector machine of scikit-learn (LIBLINEAR), a present-day rival."""

from typing import Any

from thresher_reproduction.rivals.one_by_one import OneByOne


class LinearSVM(OneByOne):
    """A linear support vector machine for each category, on tf-idf vectors of unit length.

    Parameters
    ----------
    C : float
        Cost of a violated margin.
    seed : int
        Seed of the order of the solver's steps.

    Examples
    --------
    >>> from thresher.kernels.csr import Rows
    >>> rows = Rows([0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2], [1.0] * 6, 3)
    >>> LinearSVM().fit(rows, [[0], [0], [1], [1], [], []], n_categories=2).score(rows).argmax(axis=1)[:4]
    array([0, 0, 1, 1])
    """

    def __init__(self, *, C: float = 1.0, seed: int = 0) -> None:
        self.C, self.seed = C, seed

    def _classifier(self) -> Any:
        from sklearn.svm import LinearSVC

        return LinearSVC(C=self.C, dual=True, random_state=self.seed)
