"""scikit-learn estimators: classifiers for sparse rows, a classifier for texts and a vectorizer."""

from thresher.sklearn.linear import (
    BalancedWinnowClassifier,
    MistakeDrivenClassifier,
    PerceptronClassifier,
    PositiveWinnowClassifier,
    RegularizedWinnowClassifier,
)
from thresher.sklearn.text import TextClassifier, TextVectorizer

__all__ = [
    "BalancedWinnowClassifier",
    "MistakeDrivenClassifier",
    "PerceptronClassifier",
    "PositiveWinnowClassifier",
    "RegularizedWinnowClassifier",
    "TextClassifier",
    "TextVectorizer",
]
