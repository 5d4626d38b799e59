"""The project's own logarithm and exponential are as good as the C library's, and fixed to the bit."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thresher.kernels.reproducible_math import exponential, logarithm, sigmoid


@given(st.floats(1e-300, 1e300))
def test_logarithm_is_accurate(value: float) -> None:
    assert math.isclose(logarithm(value), math.log(value), rel_tol=5e-16, abs_tol=1e-16)


@given(st.floats(-690, 690))
def test_exponential_is_accurate(value: float) -> None:
    assert math.isclose(exponential(value), math.exp(value), rel_tol=1e-14)


def test_extremes_stay_finite() -> None:
    assert np.isfinite(exponential([-1e308, -1e4, 1e4, 1e308])).all()
    assert sigmoid([-1e9, 1e9]).tolist() == [1 / (1 + exponential(700.0)), 1.0]


def test_bits_are_fixed() -> None:
    found = [value.hex() for value in (*logarithm([3.0, 1e-5]), *exponential([0.3, -7.7]))]
    assert found == ["0x1.193ea7aad030bp+0", "-0x1.7069e2aa2aa5bp+3", "0x1.599058c8c1a96p+0", "0x1.dad2df0f5035dp-12"]


def test_whole_arrays_equal_single_values() -> None:
    values = np.linspace(0.01, 50, 1001)
    assert logarithm(values).tolist() == [float(logarithm(value)) for value in values]
    assert exponential(values).tolist() == [float(exponential(value)) for value in values]
