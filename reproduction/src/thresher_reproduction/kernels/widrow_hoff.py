"""One pass of the Widrow-Hoff rule over the documents, for all categories at once.

`rivals.widrow_hoff` calls this module.
"""

import numpy as np
from numpy.typing import NDArray

from thresher.kernels.compiler import kernel
from thresher.kernels.csr import Labels, Rows


@kernel
def compute_errors(
    rows: Rows, labels: Labels, row: int, weights: NDArray[np.float64], errors: NDArray[np.float64]
) -> None:
    """Write each category's error for a row into `errors`: its prediction minus its label, 0 or 1."""
    indices, data = rows.indices, rows.data
    errors[:] = np.float64(0)
    for j in range(rows.indptr[row], rows.indptr[row + 1]):
        weight, strength = weights[indices[j]], np.float64(data[j])
        for category in range(len(errors)):
            errors[category] += strength * weight[category]
    for k in range(labels.indptr[row], labels.indptr[row + 1]):
        errors[labels.categories[k]] -= np.float64(1)


@kernel
def run_widrow_hoff_pass(
    rows: Rows,
    labels: Labels,
    order: NDArray[np.int64],
    double_rate: np.float64,
    time: int,
    weights: NDArray[np.float64],
    moment: NDArray[np.float64],
) -> None:
    """Learn the rows in `order`, where the first is example number `time`; writes `weights` and `moment`.

    `moment` is the sum of each change times the number of its example. The mean of all weight vectors from the first to
    the last is the last one minus moment / their number.
    """
    indptr, indices, data, _ = rows
    steps = np.empty(weights.shape[1])
    for i in range(len(order)):
        row, now = order[i], np.float64(time + i)
        compute_errors(rows, labels, row, weights, steps)
        for category in range(len(steps)):
            steps[category] *= -double_rate
        for j in range(indptr[row], indptr[row + 1]):
            weight, late, strength = weights[indices[j]], moment[indices[j]], np.float64(data[j])
            for category in range(len(steps)):
                change = steps[category] * strength
                weight[category] += change
                late[category] += now * change
