"""Evaluate models on labelled documents: held-out, cross-validated or prequential."""

from thresher.evaluation.comparison import compare
from thresher.evaluation.cross_validation import cross_validate
from thresher.evaluation.held_out import assemble, evaluate
from thresher.evaluation.prequential_evaluation import Prequential, prequential
from thresher.evaluation.result import Evaluation

__all__ = ["Evaluation", "Prequential", "assemble", "compare", "cross_validate", "evaluate", "prequential"]
