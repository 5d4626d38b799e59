"""The vector-space model with the cosine, from the paper's related work.

A category is represented by the mean of its documents.
"""

from thresher_reproduction.rivals.rocchio import Rocchio


class Cosine(Rocchio):
    """The cosine between a document and the mean of a category's documents, both as tf-idf vectors.

    Notes
    -----
    This is Rocchio's algorithm without the documents outside the category (gamma = 0), with the same thresholds.

    Examples
    --------
    >>> from thresher.kernels.csr import Rows
    >>> rows = Rows([0, 1, 2, 3], [0, 1, 2], [1.0] * 3, 3)
    >>> Cosine().fit(rows, [[0], [1], []], n_categories=2).weights_.tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """

    def __init__(self) -> None:
        super().__init__(beta=1.0, gamma=0.0)
