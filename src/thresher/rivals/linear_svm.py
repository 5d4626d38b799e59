"""The linear support vector machine of scikit-learn (LIBLINEAR): a rival of today."""

from typing import Any

from thresher.rivals.one_by_one import OneByOne


class LinearSVM(OneByOne):
    """A linear support vector machine for each category, on tf-idf vectors of unit length.

    Parameters
    ----------
    C : float
        What a violated margin costs.
    seed : int
        Where the order of its steps comes from.

    Examples
    --------
    >>> from thresher.kernels.rows import Rows
    >>> rows = Rows([0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 2, 2], [1.0] * 6, 3)
    >>> LinearSVM().fit(rows, [[0], [0], [1], [1], [], []], n_categories=2).score(rows).argmax(axis=1)[:4]
    array([0, 0, 1, 1])
    """

    def __init__(self, *, C: float = 1.0, seed: int = 0) -> None:
        self.C, self.seed = C, seed

    def _classifier(self) -> Any:
        from sklearn.svm import LinearSVC

        return LinearSVC(C=self.C, dual=True, random_state=self.seed)
