"""scikit-learn estimators for the learners: binary, multi-class and multi-label, dense and sparse.

They follow scikit-learn's conventions: `decision_function` is centred at 0, and the number of columns is fixed. By
default, feature values are used as strengths unchanged (strength="linear"), so that any X works. No feature is
discarded (discard=False): in a small collection, informative features may have been promoted only once.
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thresher.errors import MissingPackageError, ParameterError
from thresher.kernels.csr import Labels
from thresher.learners import BalancedWinnow, Perceptron, PositiveWinnow, RegularizedWinnow
from thresher.learners.base import MistakeDrivenLearner
from thresher.learners.settings import (
    PerceptronSettings,
    PositiveWinnowSettings,
    RegularizedSettings,
    WinnowSettings,
)
from thresher.rows.labels import as_labels
from thresher.rows.validation import check_structure
from thresher.support.settings import document_settings

try:
    from scipy import sparse
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import Tags, compute_class_weight
    from sklearn.utils.multiclass import check_classification_targets, type_of_target, unique_labels
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise MissingPackageError(f"{error.name} is missing", hint="pip install 'thresher-text[sklearn]'") from None

_DTYPES = [np.float64, np.float32]


@dataclass(kw_only=True, eq=False, repr=False)
class MistakeDrivenClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the estimators.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Balanced Winnow and the Perceptron: a mistake on a row of a class with weight k takes k steps at once,
        alpha ** k and beta ** k or k * alpha. Not for multi-label targets, where a row does not have a single class.
    strength, discard : str, bool
        Like the learner's, with other defaults: feature values are used as strengths, and none is dropped.

    Attributes
    ----------
    classes_ : array
        The classes, or the numbers of the columns of a multi-label target.
    coef_ : array of shape (1 or categories, features)
        The weights used for scores.
    intercept_ : array of shape (1 or categories,)
        Minus theta.
    learner_ : BalancedWinnow, PositiveWinnow or Perceptron
        The underlying learner, with its mistakes, passes and discarded features.

    Notes
    -----
    The tag `poor_score` is set because the paper's update does not depend on strengths. In dense data, where all
    features are active in every row, a step changes all weights alike and teaches nothing. Use these estimators on
    sparse counts.
    """

    learner_class: ClassVar[type[MistakeDrivenLearner]]
    class_weight: ClassVar[Any] = None  # a parameter of the estimators that declare it

    strength: str = "linear"
    discard: bool = False

    def fit(self, X: Any, y: Any) -> Self:
        """Train from scratch on the rows `X`, with a class for each in `y`, or a label indicator."""
        before = self.__dict__.copy()
        try:
            matrix, target = self._validate(X, y, reset=True)
            self._set_classes(target, None)
            learner = self._new_learner()
            self.learner_ = self._learn(learner.fit, matrix, target)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Continue training with one pass over the rows `X` and their `y`. The first call must name all `classes`."""
        before = self.__dict__.copy()
        try:
            self._partial_fit(X, y, classes)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any) -> None:
        first = not hasattr(self, "learner_")
        matrix, target = self._validate(X, y, reset=first)
        if first:
            self._set_classes(target, classes)
        elif classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
            raise ValueError(f"classes={classes!r} is not the same as on the first call, which was {self.classes_}")
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all labels at once: use fit, or give the weights")
        learner = self._new_learner()
        if not first:
            learner.resume(self.learner_)
        self.learner_ = self._learn(learner.partial_fit, matrix, target)

    def _learn(self, verb: Any, matrix: Any, target: Any) -> Any:
        weight = self._row_weight(target)
        return verb(matrix, self._labels(target), n_categories=self._n_categories, row_weight=weight)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of the rows `X` minus theta: (rows,) for two classes, otherwise (rows, categories)."""
        check_is_fitted(self, "learner_")
        _refuse_malformed(X, "X")
        X = _canonical(validate_data(self, X, accept_sparse="csr", dtype=_DTYPES, reset=False))
        scores = self.learner_.score(X).astype(np.float64) - float(np.float32(self.learner_.theta))
        return np.asarray(scores if self._multilabel or len(self.classes_) > 2 else scores[:, 0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score for each row of `X`; multi-label: an indicator of scores above 0."""
        decision = self.decision_function(X)
        if self._multilabel:
            return (decision > 0).astype(np.int64)
        if decision.ndim == 1:
            return np.asarray(self.classes_[(decision > 0).astype(np.intp)])
        return np.asarray(self.classes_[decision.argmax(axis=1)])

    @property
    def coef_(self) -> NDArray[np.float32]:
        """The weights used for scores."""
        check_is_fitted(self, "learner_")
        return np.asarray(self.learner_.weights_)

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """Minus theta, for each row of `coef_`."""
        check_is_fitted(self, "learner_")
        return np.full(self.learner_.n_categories_, -np.float32(self.learner_.theta))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        tags.classifier_tags.multi_label = True
        return tags

    def _new_learner(self) -> MistakeDrivenLearner:
        names = [field.name for field in fields(self.learner_class)]
        return self.learner_class(**{name: getattr(self, name) for name in names})

    @property
    def _n_categories(self) -> int:
        return 1 if not self._multilabel and len(self.classes_) == 2 else len(self.classes_)

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        """Return X as a checked csr matrix and y as an array of classes or a csr indicator."""
        _refuse_malformed(X, "X")
        _refuse_malformed(y, "y")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_DTYPES, multi_output=True, reset=reset)
        if sparse.issparse(y):
            return _canonical(X), _indicator(y)
        check_classification_targets(y)
        if type_of_target(y) == "multilabel-indicator":
            return _canonical(X), _indicator(y)
        return _canonical(X), column_or_1d(y, warn=True)

    def _set_classes(self, target: Any, classes: Any) -> None:
        multilabel = sparse.issparse(target)
        named = target if classes is None else classes
        classes_ = np.arange(target.shape[1]) if multilabel else unique_labels(named)
        if not multilabel and len(classes_) < 2:
            raise ValueError(f"y has one class, {classes_[0]!r}, but at least two classes are needed")
        self._multilabel, self.classes_ = multilabel, classes_

    def _labels(self, target: Any) -> Labels:
        if self._multilabel:
            if not sparse.issparse(target) or target.shape[1] != len(self.classes_):
                raise ValueError(f"y must be a label indicator with {len(self.classes_)} columns, as at the first call")
            return as_labels(
                [target.indices[a:b] for a, b in zip(target.indptr, target.indptr[1:], strict=False)], target.shape[0]
            )
        numbers = self._numbers(target)
        if self._n_categories == 1:
            return as_labels([[0] if number == 1 else [] for number in numbers], len(numbers))
        return as_labels([[number] for number in numbers], len(numbers))

    def _numbers(self, target: Any) -> NDArray[np.intp]:
        """Return the index of each label among the classes."""
        if sparse.issparse(target):
            raise ValueError("y is a label indicator, but at the first call it was not")
        unknown = np.setdiff1d(target, self.classes_)
        if len(unknown):
            raise ValueError(f"y contains classes not named at the first call: {unknown}")
        return np.asarray(np.searchsorted(self.classes_, target))

    def _row_weight(self, target: Any) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return None
        if self._multilabel:
            raise ParameterError(
                f"class_weight={self.class_weight!r}: a multi-label row has no single class",
                hint="allowed: None",
            )
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=target)
        if not np.all(weights > 0):
            raise ParameterError.of("class_weight", self.class_weight, allowed="numbers above 0")
        return np.asarray(weights[self._numbers(target)])


def _refuse_malformed(matrix: Any, name: str) -> None:
    """Check a sparse matrix before compiled code of scipy or scikit-learn reads it."""
    form = getattr(matrix, "format", None)
    if form in ("csr", "csc"):
        n_major, n_minor = matrix.shape if form == "csr" else matrix.shape[::-1]
        if len(matrix.indptr) != n_major + 1:
            raise ValueError(f"{name}: indptr has {len(matrix.indptr)} entries and needs {n_major + 1}")
        if n_minor > 0 or len(matrix.indices) > 0:
            check_structure(matrix.indptr, matrix.indices, n_minor)
        if matrix.data.dtype.kind not in "biufc" or len(matrix.data) < matrix.indptr[-1]:
            raise ValueError(f"{name}: data has {len(matrix.data)} entries of {matrix.data.dtype}")
    elif form == "coo":
        for places, size in zip((matrix.row, matrix.col), matrix.shape, strict=True):
            if len(places) != len(matrix.data) or (len(places) and not 0 <= places.min() <= places.max() < size):
                raise ValueError(f"{name}: the coordinates do not fit the shape {matrix.shape}")
    elif form is not None and hasattr(matrix, "tocsr"):
        raise ValueError(f"{name}: sparse input must be in csr, csc or coo form, not {form}")


def _indicator(y: Any) -> Any:
    """Return a multi-label target as a csr matrix of ones."""
    indicator = sparse.csr_array(y).astype(np.float64)
    indicator.sum_duplicates()
    indicator.eliminate_zeros()
    if not np.all(indicator.data == 1):
        raise ValueError("y: a label indicator must hold only 0 and 1")
    return indicator


def _canonical(X: Any) -> Any:
    """Return X in csr form with sorted indices and no duplicates; the caller's matrix is not changed."""
    matrix = sparse.csr_array(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


@document_settings
@dataclass(kw_only=True, eq=False, repr=False)
class BalancedWinnowClassifier(MistakeDrivenClassifier, WinnowSettings):
    """Balanced Winnow (section 3 of the paper) as a scikit-learn classifier; see `thresher.BalancedWinnow`.

    Its attributes and `class_weight` are those of `MistakeDrivenClassifier`.

    Its parameters are those of `WinnowSettings`.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(CountVectorizer(), BalancedWinnowClassifier())
    >>> model.fit(["wheat and corn", "corn crop", "oil prices", "crude oil"], ["grain", "grain", "crude", "crude"])[1]
    BalancedWinnowClassifier()
    >>> model.predict(["corn and wheat crop", "oil"])
    array(['grain', 'crude'], dtype='<U5')
    """

    learner_class: ClassVar[type[MistakeDrivenLearner]] = BalancedWinnow

    class_weight: Any = None  # type: ignore[misc]


@document_settings
@dataclass(kw_only=True, eq=False, repr=False)
class PositiveWinnowClassifier(MistakeDrivenClassifier, PositiveWinnowSettings):
    """Positive Winnow (section 3 of the paper) as a scikit-learn classifier; see `thresher.PositiveWinnow`.

    The tag `positive_only` is set because all weights are positive: with negative strengths, every promotion would
    lower the score. `class_weight` is missing, because scikit-learn's check of that parameter uses negative values,
    which this learner must refuse. Its attributes are those of `MistakeDrivenClassifier`.

    Its parameters are those of `PositiveWinnowSettings`.

    Examples
    --------
    >>> model = PositiveWinnowClassifier().fit([[1, 1, 0], [0, 1, 1], [2, 0, 0]], [1, 0, 1])
    >>> model.predict([[1, 0, 0], [0, 0, 1]])
    array([1, 0])
    """

    learner_class: ClassVar[type[MistakeDrivenLearner]] = PositiveWinnow

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


@document_settings
@dataclass(kw_only=True, eq=False, repr=False)
class PerceptronClassifier(MistakeDrivenClassifier, PerceptronSettings):
    """The paper's Perceptron (section 3) as a scikit-learn classifier; see `thresher.Perceptron`.

    Unlike in scikit-learn's Perceptron, the step does not depend on the strengths. Its attributes and `class_weight`
    are those of `MistakeDrivenClassifier`.

    Its parameters are those of `PerceptronSettings`.

    Examples
    --------
    >>> model = PerceptronClassifier().fit([[1, 1, 0], [0, 1, 1], [2, 0, 0]], [[1, 0], [0, 1], [1, 0]])
    >>> model.predict([[1, 0, 0], [0, 0, 1]])
    array([[1, 0],
           [0, 1]])
    """

    learner_class: ClassVar[type[MistakeDrivenLearner]] = Perceptron

    class_weight: Any = None  # type: ignore[misc]


@document_settings
@dataclass(kw_only=True, eq=False, repr=False)
class RegularizedWinnowClassifier(MistakeDrivenClassifier, RegularizedSettings):
    """Regularized Winnow (Zhang, 2000) as a scikit-learn classifier; see `thresher.RegularizedWinnow`.

    It suits rows of unit length, as from scikit-learn's TfidfVectorizer. Its attributes and `class_weight` are those of
    `MistakeDrivenClassifier`.

    Its parameters are those of `RegularizedSettings`.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(TfidfVectorizer(), RegularizedWinnowClassifier())
    >>> _ = model.fit(["wheat and corn", "corn crop", "oil prices", "crude oil"], ["grain", "grain", "crude", "crude"])
    >>> model.predict(["corn and wheat crop", "oil"])
    array(['grain', 'crude'], dtype='<U5')
    """

    learner_class: ClassVar[type[MistakeDrivenLearner]] = RegularizedWinnow

    class_weight: Any = None  # type: ignore[misc]
