"""scikit-learn estimators for texts: a vectorizer, and a classifier based on `Categorizer`."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.categorizer import Categorizer
from thresher.errors import MissingPackageError
from thresher.kernels.csr import Rows
from thresher.text.limits import MAX_FEATURES
from thresher.text.vectorizer import TextFeatures

try:
    from scipy import sparse
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
    from sklearn.utils import Tags
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise MissingPackageError(f"{error.name} is missing", hint="pip install 'thresher-text[sklearn]'") from None


class TextVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Convert texts to a csr matrix of feature counts, with Thresher's tokenizer and analysers.

    Parameters
    ----------
    analyser : str, function or list of them
        See `thresher.text.analysers`.
    min_count : int
        Keep the features that occur at least this often in the texts of `fit`.
    max_features : int
        Keep at most this number of features, the most frequent ones.

    Examples
    --------
    >>> vectorizer = TextVectorizer(min_count=1)
    >>> vectorizer.fit_transform(["oil and gas", "oil, oil!"]).toarray()
    array([[1., 1., 1.],
           [2., 0., 0.]], dtype=float32)
    >>> vectorizer.get_feature_names_out()
    array(['oil', 'and', 'gas'], dtype=object)
    """

    def __init__(self, analyser: Any = "words", min_count: int = 1, max_features: int = MAX_FEATURES) -> None:
        self.analyser = analyser
        self.min_count = min_count
        self.max_features = max_features

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the features of the texts `X`; `y` is ignored."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the features of the texts `X`, and return their counts; `y` is ignored."""
        features = TextFeatures(self.analyser, self.min_count, self.max_features)
        matrix = _matrix(features.fit(X))
        self.features_ = features
        return matrix

    def transform(self, X: Any) -> Any:
        """Return the counts of the learned features in the texts `X`."""
        check_is_fitted(self, "features_")
        return _matrix(self.features_.rows(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the feature names in column order; `input_features` is ignored."""
        check_is_fitted(self, "features_")
        return np.array(self.features_.names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags


def _matrix(rows: Rows) -> Any:
    shape = (len(rows.indptr) - 1, rows.n_features)
    return sparse.csr_matrix((rows.data, rows.indices, rows.indptr), shape=shape)


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A `Categorizer` as a scikit-learn classifier: texts in, classes or a label indicator out.

    Parameters
    ----------
    preset : str
        See `thresher.Categorizer`.
    settings : dict or None
        Its settings by name.

    Examples
    --------
    >>> model = TextClassifier(settings={"min_count": 1})
    >>> model.fit(["crude oil", "oil, gas", "wheat", "corn and wheat"] * 3, ["energy", "energy", "grain", "grain"] * 3)
    TextClassifier(settings={'min_count': 1})
    >>> model.predict(["oil", "a field of wheat"])
    array(['energy', 'grain'], dtype='<U6')
    """

    def __init__(self, preset: str = "default", settings: dict[str, Any] | None = None) -> None:
        self.preset = preset
        self.settings = settings

    def fit(self, X: Any, y: Any) -> Self:
        """Train from scratch on the texts `X`, with a class for each in `y`, or a label indicator."""
        target = np.asarray(y)
        multilabel = target.ndim == 2
        classes = np.arange(target.shape[1]) if multilabel else np.unique(target)
        if not multilabel and len(classes) < 2:
            raise ValueError("y has one class, but a text classifier needs at least two")
        names = [str(number) for number in range(len(classes))]
        if multilabel:
            labels: list[Any] = [[names[c] for c in np.flatnonzero(row)] for row in target]
        else:
            labels = [names[c] for c in np.searchsorted(classes, target)]
        model = Categorizer(preset=self.preset, **(self.settings or {}))
        self.categorizer_, self._multilabel = model.fit(X, labels), multilabel
        self.classes_, self._columns = classes, [names.index(name) for name in model.categories]
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the reported scores of the texts `X` minus 1, as an array (texts, classes).

        For two classes, return the score of the second minus that of the first.
        """
        check_is_fitted(self, "categorizer_")
        scores = self._by_class(self.categorizer_.decision_function(X) - 1, -np.inf)
        return scores if self._multilabel or len(self.classes_) > 2 else scores[:, 1] - scores[:, 0]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the calibrated probabilities of the texts `X`, as an array (texts, classes).

        For exclusive classes, they are normalized to a sum of 1.
        """
        check_is_fitted(self, "categorizer_")
        chances = self._by_class(self.categorizer_.predict_proba(X), 0.0)
        return chances if self._multilabel else chances / chances.sum(axis=1, keepdims=True)

    def _by_class(self, values: NDArray[np.float64], missing: float) -> NDArray[np.float64]:
        """Return the columns of the categories in the order of the classes."""
        columns = np.full((len(values), len(self.classes_)), missing)
        columns[:, self._columns] = values
        return columns

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score for each of the texts `X`, or an indicator of categories."""
        check_is_fitted(self, "categorizer_")
        if not self._multilabel:
            scores = self._by_class(self.categorizer_.decision_function(X), -np.inf)
            return np.asarray(self.classes_[scores.argmax(axis=1)])
        predicted = self.categorizer_.predict(X)
        indicator = np.zeros((len(predicted), len(self.classes_)), dtype=np.int64)
        for row, names in zip(indicator, predicted, strict=True):
            row[[int(name) for name in names]] = 1
        return indicator

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.classifier_tags.multi_label = True
        return tags
