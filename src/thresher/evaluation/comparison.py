"""Test whether two models differ, by paired tests on the same documents."""

from typing import Any

from thresher.errors import DataError
from thresher.evaluation.result import Evaluation
from thresher.metrics import significance
from thresher.metrics.significance import PairedTest


def compare(first: Evaluation, second: Evaluation, *, n_samples: int = 1000, seed: int = 0) -> dict[str, PairedTest]:
    """Test whether two systems differ on the same documents, in pooled break-even and in micro F1.

    `first` and `second` are their evaluations. The tests draw `n_samples` permutations with this `seed`.
    """
    if first.ids != second.ids:
        raise DataError("the two evaluations are not of the same documents", hint="evaluate both on one corpus")
    names = sorted({*first.categories, *second.categories})
    one, other = first.of_categories(names), second.of_categories(names)
    if (one.truth != other.truth).any():
        raise DataError("the two evaluations differ in the documents' categories", hint="evaluate both on one corpus")
    how: dict[str, Any] = {"n_samples": n_samples, "seed": seed}
    return {
        "pooled_break_even": significance.paired_break_even_test(one.truth, one.scores, other.scores, **how),
        "micro_f1": significance.paired_test(one.truth, one.accepted, other.accepted, **how),
    }
