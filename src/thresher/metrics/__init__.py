"""Metrics of decisions and rankings: counts, precision, recall, F1, break-even and curves; `evaluation` uses them.

Arrays have the shape (documents, categories). `truth` and `accepted` hold bool. `scores` holds the reported scores,
where a higher score means more certainty. If equal scores leave an order open, break-even points and ranking metrics
are the mean over the possible orders, so that none depends on chance. Curves and average precision have one point per
distinct score. The precision of nothing accepted and the recall of no positives are 0, as in scikit-learn. A
break-even, an average precision or a mean over nothing is NaN.
"""

from thresher.metrics.arguments import (
    Floats,
    Ints,
    Truth,
    as_decisions,
    as_ranking,
    as_scores,
    as_truth,
    check_shapes,
    check_whole,
)
from thresher.metrics.break_even_points import (
    break_even,
    break_evens,
    macro_break_even,
    micro_break_even,
    pooled_break_even,
)
from thresher.metrics.counts import Counts, Rates, f1_of, share
from thresher.metrics.curves import Curve, average_precision, precision_recall_curve
from thresher.metrics.ranking import ndcg, precision_at, r_precision

__all__ = [
    "Counts",
    "Curve",
    "Floats",
    "Ints",
    "Rates",
    "Truth",
    "as_decisions",
    "as_ranking",
    "as_scores",
    "as_truth",
    "average_precision",
    "break_even",
    "break_evens",
    "check_shapes",
    "check_whole",
    "f1_of",
    "macro_break_even",
    "micro_break_even",
    "ndcg",
    "pooled_break_even",
    "precision_at",
    "precision_recall_curve",
    "r_precision",
    "share",
]
